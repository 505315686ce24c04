/* What the times of one operation, repeated, say of its rate. */
#ifndef WALLSHIM_CALIBRATE_RATE_H
#define WALLSHIM_CALIBRATE_RATE_H

#include <stddef.h>
#include <stdint.h>

enum { WS_MOST_SAMPLES = 60 };

struct ws_rate {
    double median; /* amount per ns: GB/s or GFLOP/s */
    double spread; /* of the times, from the 10th to the 90th percentile, as a share of their median */
    double drift;  /* the median rate of the last third over that of the first, less 1: below 0 it fell */
    uint32_t samples;
};

/* times: of an operation that does `amount` (bytes, FLOPs), in ns, in the order in which they were taken; count from
 * 1 to WS_MOST_SAMPLES. */
struct ws_rate ws_rate_of(const double *times, size_t count, double amount);

#endif
