/* The verdict on a device: what its steps consist of, which wall limits it, and what to do first.
 *
 * A step's time is cut into the parts of advice.h. The wall is the first of these that applies:
 * - overhead or communication, if it is above its limit; if both are, the larger one. Overhead is exposed copies, and
 * idle time other than waits for other ranks. Its limit is 15 % of the step (TraceLens' limit for idle time). Waits
 * for input have a limit of their own, 5 % (that of PyTorch's TensorBoard plugin). Communication is exposed
 * collectives and waits for other ranks. Its limit is 10 % (the same plugin's limit);
 * - what busy time is spent on: compute if matrix work (gemm, conv, attention; not matrix times vector) takes at
 * least as long as other kernels, else bandwidth. There is no verdict if CUDA graphs that were timed as a whole take
 * longer than either. Whether a kernel actually reaches a roof is shown by the roofline.
 *
 * Time that was not recorded (gaps.h) is no evidence for any wall, so all limits are shares of the rest of the step.
 * If it is longer than the wall, it could change the verdict, and there is none. There is none, either, if the trace
 * holds only a sample of the operations. Both are our choice.
 *
 * If waiting for input is the wall, the rest of the step has a wall of its own: `behind`. In training this is the
 * wall that remains once input is loaded ahead. In a server, which waits for requests, it is the wall of the time
 * in which there are requests.
 */
#ifndef WALLSHIM_ANALYSIS_VERDICT_WALL_H
#define WALLSHIM_ANALYSIS_VERDICT_WALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/analysis.h"

/* Percent of the step. A wall above its limit is named (see above). */
enum { WS_REASON_TEXT = 480 };
enum { WS_WALL_OVERHEAD_LIMIT = 15, WS_WALL_INPUT_LIMIT = 5, WS_WALL_COMMUNICATION_LIMIT = 10 };

struct ws_track_wall {
    enum ws_wall wall;
    const char *why_none;         /* a sentence, if there is no verdict */
    bool is_measured;             /* the figures below hold; there may be no verdict all the same */
    char reason[WS_REASON_TEXT];  /* the text of why_none, where it has figures */
    enum ws_part cause;           /* the largest part of the wall */
    bool per_step;                /* figures are per steady step, else for the whole recording */
    size_t steps;                 /* number of steady steps; 1 if there are none */
    int64_t length;               /* ns: mean steady step, or the recorded time */
    int64_t parts[WS_PART_COUNT]; /* ns; they add up to length, except for rounding */
    int64_t by_wall[WS_WALL_COUNT];
    int64_t comm_waiting;      /* ns of WS_PART_EXPOSED_COMM before the last rank arrived; -1: not known */
    bool trains;               /* the device runs what only training runs; else waits for input may be for requests */
    enum ws_wall behind;       /* the wall of the rest of the step, if waiting for input is the wall */
    enum ws_part behind_cause; /* the largest part of the wall `behind`, without waits for input */
    struct ws_advice_list advice; /* largest saving first; savings from a part never exceed the part */
    int64_t saving;               /* sum over all advice, ns */
};

extern const struct ws_analysis ws_analysis_wall;

/* The device of a job that a report is about. It is the straggler for which the others wait longest
 * (analysis/comm/comm_waits.c), since the others are its victims. Without a straggler it is the slowest device:
 * devices with steps are compared by the length of a step; if no device has steps, all are compared by the length of
 * their recordings. */
struct ws_slowest {
    bool is_late;  /* `shown` is a straggler; the fields below it are not set */
    size_t shown;  /* the device: one that has a verdict; if there is none, one that has figures; WS_NOWHERE: none */
    size_t slower; /* the slowest of the devices without a verdict that are slower than `shown`; WS_NOWHERE: none */
    size_t not_compared; /* devices with operations that cannot be compared with `shown`: `shown` has steps and they
                            have none, or the reverse */
};

struct ws_slowest ws_report_slowest(const struct ws_report *report);

/* The first section of a report: the whole job in a few lines. */
extern const struct ws_analysis ws_analysis_verdict;

/* defined in wall_report.c */
int ws_wall_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
