/* Converts a context's device times to the host's clock, while records come in.
 *
 * The conversion is a linear function ("the line"). It goes through the last good comparison of both clocks. Its
 * slope comes from two comparisons that are at least a second apart. A comparison is good if its error is at most the
 * line's error at that time. The line's error grows by 50 ns per ms after a comparison, because device clocks drift
 * by up to 50 ppm. Before the first comparison, the first operation is assumed to begin when its launch call
 * begins. */
#ifndef WALLSHIM_COLLECTOR_FIGURES_CLOCK_H
#define WALLSHIM_COLLECTOR_FIGURES_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/minmax.h"
#include "record/record.h"

struct figures_clock {
    bool begun;
    int64_t device_ns, host_ns; /* times of both clocks in the last good comparison, where the conversion is exact */
    int64_t error_ns;
    /* Times of both clocks in the first comparison. The slope is measured from this comparison on. */
    int64_t first_device_ns, first_host_ns;
    double skew; /* the conversion's slope minus 1: ns that the host's clock gains per device ns */
};

/* Clamps a time, so that two clamped times can be subtracted without overflow. Clients may send any number. */
static inline int64_t figures_clock_limit(int64_t time)
{
    const int64_t most = (int64_t)1 << 60;
    return ws_clamp(time, -most, most);
}

static inline void figures_clock_add(struct figures_clock *clock, const struct ws_clock *row)
{
    const int64_t apart = 1000000000;
    const double most = 1e-3; /* the rates of two clocks never differ by more than this */
    int64_t device_ns = figures_clock_limit(row->device_ns), host_ns = figures_clock_limit(row->host_ns);
    int64_t age = device_ns - clock->device_ns;
    if (clock->begun && (age < 0 || row->error_ns > clock->error_ns + age / 20000))
        return;
    bool first = !clock->begun || clock->error_ns == INT64_MAX / 4;
    *clock = (struct figures_clock){ .begun = true,
                                     .device_ns = device_ns,
                                     .host_ns = host_ns,
                                     .error_ns = row->error_ns,
                                     .first_device_ns = first ? device_ns : clock->first_device_ns,
                                     .first_host_ns = first ? host_ns : clock->first_host_ns,
                                     .skew = clock->skew };
    int64_t length = device_ns - clock->first_device_ns;
    if (length >= apart) {
        double skew = (double)(host_ns - clock->first_host_ns - length) / (double)length;
        clock->skew = ws_clamp(skew, -most, most);
    }
}

/* Assumes that the operation began when its launch call did. The first comparison replaces this guess. */
static inline void figures_clock_guess(struct figures_clock *clock, int64_t begin, int64_t launch)
{
    *clock =
        (struct figures_clock){ .begun = true, .device_ns = begin, .host_ns = launch, .error_ns = INT64_MAX / 4 };
}

static inline int64_t figures_clock_to_host(const struct figures_clock *clock, int64_t device_ns)
{
    int64_t since = device_ns - clock->device_ns;
    return clock->host_ns + since + (int64_t)((double)since * clock->skew);
}

#endif
