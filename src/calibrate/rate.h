/* The rate of a repeated operation, from its times. */
#ifndef WALLSHIM_CALIBRATE_RATE_H
#define WALLSHIM_CALIBRATE_RATE_H

#include <stddef.h>
#include <stdint.h>

enum { WS_MOST_SAMPLES = 60 };

struct ws_rate {
    double median; /* median rate in bytes or FLOPs per ns, which is GB/s or GFLOP/s */
    double spread; /* (90th − 10th percentile of the times) / median of the times */
    double drift;  /* median rate of the last third / median rate of the first third − 1; below 0: the rate fell */
    uint32_t samples;
};

/* times are in ns, in the order of measurement; each operation moves `amount` bytes or does `amount` FLOPs. count is
 * from 1 to WS_MOST_SAMPLES. */
struct ws_rate ws_rate_of(const double *times, size_t count, double amount);

#endif
