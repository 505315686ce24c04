/* What a device did for the ranges that a program sets (NVTX, record_function).
 *
 * Ranges of kind WS_RANGE_ANNOTATION count, grouped by name. Steps have their own section. Operators and Python
 * functions are not the program's own names for its phases, so they do not count. An operation belongs to the
 * ranges that its thread was in when the launch call began. The innermost range has it as its own work. Ranges
 * around it count it too, a name only once. If ranges overlap without nesting, both count it. An operation
 * launched by another thread (autograd's backward pass) belongs to no range of this thread, even if this thread
 * waits for it.
 *
 * busy is the length of the union of the operations' intervals, exact in ns; sum is the sum of their lengths.
 * idle is the time in which the device ran nothing before one of them began. It shows which range the device
 * waited for; gaps.h tells why. Host time is the time of threads in the range, a union per thread.
 *
 * Operations and gaps belong to the steady step in which they begin, with their full length. Host time counts
 * within the steady steps as the host ran them (ws_step.host_begin). A range belongs to the step in which it
 * ended.
 */
#ifndef WALLSHIM_ANALYSIS_STEPS_RANGES_H
#define WALLSHIM_ANALYSIS_STEPS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "report/analysis.h"

struct ws_range_amount {
    uint64_t operations; /* operations with device times */
    int64_t busy, sum, idle;
};

struct ws_range_work {
    struct ws_range_amount all, steady; /* whole recording; steady steps only */
    int64_t until;                      /* end of the time counted in busy */
};

struct ws_range_stay {
    uint64_t count;
    int64_t host; /* ns from begin to end */
};

/* All ranges of one name, on all threads. */
struct ws_range_row {
    uint32_t label;                   /* index in ws_process.labels; UINT32_MAX: the name was lost */
    struct ws_range_stay all, steady; /* whole recording; steady steps only */
    struct ws_range_work work;        /* operations launched inside */
    struct ws_range_work own;         /* the part of `work` outside nested ranges */
};

/* Work that a thread launched outside all ranges. */
struct ws_range_outside {
    uint32_t thread; /* id in the trace; 0: the trace does not hold the launch */
    bool has_ranges;
    struct ws_range_work work;
};

struct ws_track_ranges {
    struct ws_vector rows;    /* struct ws_range_row, largest device or host time first; empty: no such ranges */
    struct ws_vector outside; /* struct ws_range_outside, largest busy first */
};

extern const struct ws_analysis ws_analysis_ranges;

/* defined in ranges_report.c */
void ws_ranges_text(const struct ws_report *report, size_t subject, const void *result, struct ws_page *page);
int ws_ranges_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);

#endif
