#include "shim/timing/arrival.h"

#include "base/root.h"

/* PROBE: the variance of an event's time, ns². The driver rounds the time to half a microsecond.
 * WANDER_A_SECOND: the variance that each second adds to the estimate, ns². Device times are measured from a base
 * event, which is replaced every second (device_clock.h), and each base's time is rounded, too. DRIFT_A_SECOND: the
 * variance that each second adds to the drift, because the drift of a clock's crystal changes by about 1e-8 per
 * second. */
static const double PROBE = 200.0 * 200, WANDER_A_SECOND = 150.0 * 150, DRIFT_A_SECOND = 1e-16;
static const double FIRST_DRIFT =
    5e-5; /* ns per ns; drift assumed before it is measured; every crystal drifts less */
static const double SECOND = 1e9, FAR_OFF = 4, FAR_OFF_NS = 300;
enum { APART_MOST = 6 };

static void begin(struct arrival *arrival, int64_t host_ns, int64_t device_ns, double variance)
{
    *arrival = (struct arrival){
        .base = device_ns - host_ns, .at = host_ns, .var = variance, .dvar = ws_square(FIRST_DRIFT), .probes = 1
    };
}

/* The variance of the difference between device and host time, `since` ns after the last probe. */
static double variance_after(const struct arrival *arrival, double since)
{
    double aside = since < 0 ? -since : since;
    return arrival->var + 2 * since * arrival->cov + ws_square(since) * arrival->dvar +
           aside / SECOND * WANDER_A_SECOND;
}

void arrival_learn(struct arrival *arrival, int64_t host_ns, int64_t device_ns, int64_t late)
{
    double noise = PROBE + ws_square((double)late / 2);
    if (!arrival->probes) {
        begin(arrival, host_ns, device_ns, noise);
        return;
    }
    double since = (double)(host_ns - arrival->at);
    double var = variance_after(arrival, since);
    double cov = arrival->cov + since * arrival->dvar;
    double off = (double)(device_ns - host_ns - arrival->base) - (arrival->delay + since * arrival->drift);
    double all = var + noise;
    if ((off < 0 ? -off : off) > FAR_OFF * ws_root(all) + FAR_OFF_NS) {
        if (++arrival->apart >= APART_MOST)
            begin(arrival, host_ns, device_ns, noise);
        return;
    }
    arrival->delay += since * arrival->drift + var / all * off;
    arrival->drift += cov / all * off;
    arrival->dvar += (since < 0 ? -since : since) / SECOND * DRIFT_A_SECOND - ws_square(cov) / all;
    arrival->cov = cov - var * cov / all;
    arrival->var = var - ws_square(var) / all;
    arrival->at = host_ns;
    arrival->probes++;
    arrival->apart = 0;
}

int64_t arrival_of(const struct arrival *arrival, int64_t host_ns, double *variance)
{
    double since = (double)(host_ns - arrival->at);
    *variance = variance_after(arrival, since);
    return host_ns + arrival->base + (int64_t)(arrival->delay + since * arrival->drift);
}
