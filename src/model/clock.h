/* From the clock of a context to CLOCK_MONOTONIC, through the comparisons in the trace.
 *
 * Between comparisons the two clocks are taken to differ by a straight line. A comparison is right
 * only within its error, so two of them close together say nothing about the clocks' rates: the line
 * goes through those far enough apart that their errors bend it by 50 millionths at most.
 */
#ifndef WALLSHIM_MODEL_CLOCK_H
#define WALLSHIM_MODEL_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "record/record.h"

/* Sorts points by device time and chooses those the mapping goes through. Writes at most count knots
 * and returns how many. */
size_t ws_clock_choose_knots(struct ws_clock *points, size_t count, struct ws_clock *knots);

struct ws_clock_cursor {
    const struct ws_clock *knots;
    size_t count;
    size_t at;          /* of the piece used last */
    double skew;        /* of that piece: host ns gained in a device ns */
    int64_t begin, end; /* of it on the device, where nothing is to note and nothing overflows; else 0 */
    int64_t host;       /* of its begin */
    int64_t error_ns;   /* largest over all the times mapped so far */
};

/* knots outlive the cursor; none of them means that times stay as they are. */
void ws_clock_cursor_init(struct ws_clock_cursor *cursor, const struct ws_clock *knots, size_t count);

/* Of a time in another piece than the last one, or outside all. */
int64_t ws_clock_seek(struct ws_clock_cursor *cursor, int64_t device_ns);

/* To the nearest whole number of one below 10^15, without a call into the library. */
static inline int64_t ws_clock_nearest(double value)
{
    const double magic = 0x1.8p52;
    return (int64_t)(value + magic - magic);
}

/* Never turns the order of two times round. */
static inline int64_t ws_clock_to_host(struct ws_clock_cursor *cursor, int64_t device_ns)
{
    if (device_ns < cursor->begin || device_ns >= cursor->end)
        return ws_clock_seek(cursor, device_ns);
    int64_t since = device_ns - cursor->begin;
    return cursor->host + since + ws_clock_nearest((double)since * cursor->skew);
}

#endif
