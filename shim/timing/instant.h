/* Uncertain times. */
#ifndef WALLSHIM_SHIM_TIMING_INSTANT_H
#define WALLSHIM_SHIM_TIMING_INSTANT_H

#include <stdint.h>

#include "base/minmax.h"
#include "base/root.h"

/* A time, ns, and its variance, ns². */
struct instant {
    int64_t time;
    double var;
};

/* Returns the mean and the variance of the later of two uncertain times, which are normally distributed. The formulas
 * are from C. E. Clark, "The greatest of a finite set of random variables", Operations Research 9 (1961). The tables
 * hold the normal distribution and its density, at A_UNIT points for each standard deviation. */
static inline struct instant later_of(struct instant a, struct instant b)
{
    enum { STEPS = 16, A_UNIT = 4 };
    static const double below[] = { .5,    .5987, .6915, .7734, .8413, .8944, .9332, .9599, .9772,
                                    .9878, .9938, .9970, .9987, .9994, .9998, .9999, 1,     1 };
    static const double density[] = { .3989, .3867, .3521, .3011, .2420, .1826, .1295, .0863, .0540,
                                      .0317, .0175, .0091, .0044, .0020, .0009, .0004, .0001, 0 };
    if (a.time < b.time)
        return later_of(b, a);
    double apart = ws_root(a.var + b.var), ahead = (double)(a.time - b.time), at = ahead / apart * A_UNIT;
    if (!(at < STEPS))
        return a;
    unsigned step = (unsigned)at;
    double part = at - step, is_a = below[step] + part * (below[step + 1] - below[step]);
    double lift = apart * (density[step] + part * (density[step + 1] - density[step]));
    double mean = ahead * is_a + lift; /* mean of the later time, relative to b.time */
    double square = (ws_square(ahead) + a.var) * is_a + b.var * (1 - is_a) + ahead * lift;
    return (struct instant){ b.time + (int64_t)mean, ws_max(square - ws_square(mean), 0.0) };
}

#endif
