/* When a launch reaches its device.
 *
 * An idle stream starts an operation when the launch arrives at the device, some time after the call has returned.
 * Probes measure that time: events in an idle stream of our own, whose call returned at a known host time. A Kalman
 * filter follows the difference between device and host time, and its drift. So the error is far below that of a
 * single event. Device times are on the context's clock. */
#ifndef WALLSHIM_SHIM_TIMING_ARRIVAL_H
#define WALLSHIM_SHIM_TIMING_ARRIVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/objects/contexts.h"

/* Takes in a probe: its call returned at this host time, and its event has this device time. `late`: by how much the
 * probe may have been delayed, ns. A probe that is far off is ignored, unless several in a row are. */
void arrival_learn(struct arrival *arrival, int64_t host_ns, int64_t device_ns, int64_t late);

static inline bool arrival_known(const struct arrival *arrival)
{
    return arrival->probes != 0;
}

/* The device time at which a launch arrives whose call returned at this host time; and its variance, ns². */
int64_t arrival_of(const struct arrival *arrival, int64_t host_ns, double *variance);

#endif
