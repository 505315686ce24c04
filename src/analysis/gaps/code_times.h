/* The time that each place in a program took, computed from the stacks of a recording. A stack was recorded only at
 * some calls, and in some pauses between calls, so all figures are estimates:
 * - device: the time of all operations of a shape (a kernel and its grid, a copy of one kind …) is divided evenly
 *   among the stacks of this shape. If a launch has no stack, its time therefore counts for the places that launched
 *   operations of the same shape with a stack;
 * - idle: the idle periods of the device (gaps) count for the places in the program that caused them (gaps.h);
 * - host: each stack gets a part of its thread's time. The part begins where the part of the previous stack ended,
 *   and ends with the call at which the stack was recorded. A stack recorded in a pause gets the time up to the
 *   thread's next stack. */
#ifndef WALLSHIM_ANALYSIS_GAPS_CODE_TIMES_H
#define WALLSHIM_ANALYSIS_GAPS_CODE_TIMES_H

#include <stdint.h>

#include "analysis/gaps/gaps.h"

struct ws_code_time {
    int64_t host, device, idle; /* host, device and idle time of the place, ns */
    uint64_t stacks;
};

/* Each function adds to `times`. Entry i is for the frame at index i in ws_stacks.frames.rows. The last entry, after
 * those of all frames, is for time without a stack. ws_code_host_times and ws_code_device_times return 0 or
 * -ENOMEM. */
int ws_code_host_times(const struct ws_process *process, struct ws_code_time *times);
int ws_code_device_times(const struct ws_process *process, const struct ws_track *track, struct ws_code_time *times);
void ws_code_idle_times(const struct ws_process *process, const struct ws_track_causes *causes,
                        struct ws_code_time *times);

#endif
