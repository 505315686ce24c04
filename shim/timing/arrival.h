/* Estimates when a launch reaches its device.
 *
 * An idle stream starts an operation when the launch arrives at the device, some time after the call has returned.
 * Probes measure this delay. A probe is an event in an idle stream of the shim. The host time at which the call for
 * this event returned is known. A Kalman filter follows the difference between device and host time, and the drift of
 * this difference. So the estimate's error is far below the error of a single event's time. Device times are on the
 * clock of the CUDA context (device_clock.h). */
#ifndef WALLSHIM_SHIM_TIMING_ARRIVAL_H
#define WALLSHIM_SHIM_TIMING_ARRIVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/objects/contexts.h"

/* Updates the estimate by a probe: the call that recorded the probe's event returned at host_ns, and the event has
 * the time device_ns. `late`: the longest time by which the probe may have been delayed, ns. A single probe that is
 * far from the estimate is ignored. After several such probes in succession, the estimate begins anew with the last
 * one. */
void arrival_learn(struct arrival *arrival, int64_t host_ns, int64_t device_ns, int64_t late);

static inline bool arrival_known(const struct arrival *arrival)
{
    return arrival->probes != 0;
}

/* Returns the device time at which a launch arrives, if its call returned at host_ns. *variance: the variance of this
 * device time, ns². */
int64_t arrival_of(const struct arrival *arrival, int64_t host_ns, double *variance);

#endif
