/* The verdict on a device: what its steps are made of, which wall that is, and what to do first.
 *
 * A step's time is cut into the parts of advice.h. The wall is found in the order in which one would look:
 * - overhead or communication, whichever is larger, where it holds more than its limit: the device is idle, or
 *   copies alone, for more than 15 % of the step (TraceLens' limit for idle time), or for more than 5 % of it
 *   waits for input (the limit of PyTorch's TensorBoard plugin); collectives that hide behind nothing take more
 *   than 10 % (the same);
 * - else what the busy time is spent on: compute where matrix work (gemm, conv, attention; not a matrix by a
 *   vector) takes at least half of it, bandwidth where it does not. Whether a kernel really reaches a roof is for
 *   the roofline to say.
 * Where waiting for input is the wall, the rest of the step has one behind it: the next wall once input is loaded
 * ahead, and of a server, which waits for requests, the wall of the time in which it has any.
 */
#ifndef WALLSHIM_ANALYSIS_WALL_H
#define WALLSHIM_ANALYSIS_WALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/registry.h"

/* Percent of the step from which on it is named, in the order above. */
enum { WS_WALL_OVERHEAD_LIMIT = 15, WS_WALL_INPUT_LIMIT = 5, WS_WALL_COMMUNICATION_LIMIT = 10 };

struct ws_track_wall {
    enum ws_wall wall;
    const char *why_none;         /* a sentence, where there is no verdict */
    enum ws_part cause;           /* the largest part of the wall */
    bool per_step;                /* figures are of a steady step, else of the whole recording */
    size_t steps;                 /* steady ones; 1 where there are none */
    int64_t length;               /* of a steady step on average, or of the time that was recorded */
    int64_t parts[WS_PART_COUNT]; /* of length; they add up to it but for rounding */
    int64_t by_wall[WS_WALL_COUNT];
    bool trains;                  /* the device runs what only training has; else input may be requests */
    enum ws_wall behind;          /* the wall of the rest of a step, where waiting for input is what holds it up */
    enum ws_part behind_cause;    /* the largest part of that, waits for input left out */
    struct ws_advice_list advice; /* largest saving first; together no more of a part than there is */
    int64_t saving;               /* of all advice */
};

extern const struct ws_analysis ws_analysis_wall;

/* The device that a job waits for, as far as it can be told: steps are compared with steps, and where there are none
 * recordings with recordings. */
struct ws_slowest {
    size_t shown;        /* of those with a verdict the one that takes longest; WS_NOWHERE: no device has one */
    size_t slower;       /* one without a verdict that takes longer still; WS_NOWHERE: none */
    size_t not_compared; /* devices with operations, but without steps where the one shown has them, or the reverse */
};

struct ws_slowest ws_report_slowest(const struct ws_report *report);

/* The whole job in a few lines: the first section of a report. */
extern const struct ws_analysis ws_analysis_verdict;

#endif
