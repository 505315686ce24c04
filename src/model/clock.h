/* Maps times from a context's clock to CLOCK_MONOTONIC through the clock comparisons in the trace.
 *
 * The map is piecewise linear. Its knots are clock comparisons: readings of both clocks at one moment. Each
 * comparison has an error, so two comparisons that are close together say nothing about the rates of the clocks.
 * Therefore knots are chosen far enough apart that their errors change the rate between them by at most 50
 * millionths. */
#ifndef WALLSHIM_MODEL_CLOCK_H
#define WALLSHIM_MODEL_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record.h"

/* Sorts clock comparisons (`points`) by device time, and chooses some of them as the knots of the map. Writes at most
 * count knots and returns their number. */
size_t ws_clock_choose_knots(struct ws_clock *points, size_t count, struct ws_clock *knots);

struct ws_clock_cursor {
    const struct ws_clock *knots;
    size_t count;
    size_t at;          /* index of the current piece: the linear piece that was used last */
    double skew;        /* ns that the host's clock gains per device ns in the current piece */
    int64_t begin, end; /* device times between which the current piece lies; both 0: the fast path cannot map it */
    int64_t host;       /* host time of `begin` */
    int64_t error_ns;   /* largest error of all times mapped so far */
};

/* The knots must outlive the cursor. Without knots, times stay unchanged. */
void ws_clock_cursor_init(struct ws_clock_cursor *cursor, const struct ws_clock *knots, size_t count);

/* The slow path: maps a time outside the current piece. */
int64_t ws_clock_seek(struct ws_clock_cursor *cursor, int64_t device_ns);

/* Rounds a value below 10^15 to the nearest integer without a library call. */
static inline int64_t ws_clock_nearest(double value)
{
    const double magic = 0x1.8p52;
    return (int64_t)(value + magic - magic);
}

/* Maps a device time to the host's clock. The map is monotonic: it keeps the order of any two times. */
static inline int64_t ws_clock_to_host(struct ws_clock_cursor *cursor, int64_t device_ns)
{
    if (device_ns < cursor->begin || device_ns >= cursor->end)
        return ws_clock_seek(cursor, device_ns);
    int64_t since = device_ns - cursor->begin;
    return cursor->host + since + ws_clock_nearest((double)since * cursor->skew);
}

/* An operation cannot begin before its launch. Returns the time of the launch if the mapped start is earlier than the
 * launch, by at most error_ns plus the error of the clock map. Otherwise returns the mapped start. If there are no
 * knots, always returns the mapped start. Imported traces have no such errors, so their starts are returned as
 * mapped, too. */
static inline int64_t ws_clock_launched(const struct ws_clock_cursor *cursor, int64_t begin, int64_t launched,
                                        int64_t error_ns)
{
    int64_t early; /* times in a damaged file may overflow */
    bool within = cursor->count && begin < launched && !__builtin_sub_overflow(launched, begin, &early) &&
                  early <= error_ns + cursor->error_ns;
    return within ? launched : begin;
}

#endif
