/* When work that the host launched reaches its device.
 *
 * An idle stream starts its work when the launch arrives there: some time after the call has returned. Probes say
 * when: events in an idle stream of our own, whose call returned at a known time. A Kalman filter follows the
 * difference and its drift, so the error is far below that of one event. Device times are on the context's clock. */
#ifndef WALLSHIM_SHIM_TIMING_ARRIVAL_H
#define WALLSHIM_SHIM_TIMING_ARRIVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/objects/contexts.h"

/* A probe: the call returned at this host time, and its event has this device time. `late`: by how much the probe may
 * have been delayed, ns. One far off is ignored, unless many in a row are. */
void arrival_learn(struct arrival *arrival, int64_t host_ns, int64_t device_ns, int64_t late);

static inline bool arrival_known(const struct arrival *arrival)
{
    return arrival->probes != 0;
}

/* When a launch arrives whose call returned at this host time, and the variance of that, ns². */
int64_t arrival_of(const struct arrival *arrival, int64_t host_ns, double *variance);

#endif
