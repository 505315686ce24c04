/* How long an operation of the device takes: repeated, timed by events. */
#ifndef WALLSHIM_CALIBRATE_REPEAT_H
#define WALLSHIM_CALIBRATE_REPEAT_H

#include <stddef.h>
#include <stdint.h>

#include "calibrate/driver.h"
#include "calibrate/rate.h"

/* One operation, put on the driver's stream. Returns 0, or -errno where it was refused. */
typedef int (*ws_operation)(void *user);

/* Of an operation that does `amount` (bytes, FLOPs): rates are amount per ns, GB/s or GFLOP/s. */
struct ws_repeated {
    struct ws_rate rate;
    double once_ns; /* what one cost: device or host time, whichever was more */
};

/* Runs it once to warm up and once to see how long it takes, then again and again for about budget_ns. Samples are of
 * one operation or, where those are short beside the resolution of events, of several. There are events between
 * samples and no wait, so that the device does not stand idle in between. Returns 0, -EIO where the driver failed,
 * with its answer in *failed, or what the operation returned. */
int ws_repeat(const struct ws_driver *driver, ws_operation run, void *user, double amount, double budget_ns,
              struct ws_repeated *repeated, ws_CUresult *failed);

#endif
