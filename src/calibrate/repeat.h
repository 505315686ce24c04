/* Times an operation on the device by repeating it between CUDA events. */
#ifndef WALLSHIM_CALIBRATE_REPEAT_H
#define WALLSHIM_CALIBRATE_REPEAT_H

#include <stddef.h>
#include <stdint.h>

#include "calibrate/driver.h"
#include "calibrate/rate.h"

/* Launches one operation on the driver's stream. Returns 0, or -errno if it failed. */
typedef int (*ws_operation)(void *user);

/* Results for an operation that moves `amount` bytes or does `amount` FLOPs. Rates are amount per ns: GB/s or
 * GFLOP/s. */
struct ws_repeated {
    struct ws_rate rate;
    double once_ns; /* time of one operation on the device or on the host, whichever is longer */
};

/* Runs the operation a few times to warm up and to time it, then repeatedly for about budget_ns. A sample is one
 * operation, or several operations if one operation is short compared with the resolution of events. There is no wait
 * between samples, so the device does not become idle. Returns 0; the operation's error; -ERANGE if the events
 * show no time; or -EIO if the driver failed. After -EIO, *failed is the driver's result. */
int ws_repeat(const struct ws_driver *driver, ws_operation run, void *user, double amount, double budget_ns,
              struct ws_repeated *repeated, ws_CUresult *failed);

#endif
