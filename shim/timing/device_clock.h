/* Each context's clock: the times of events on it, and its offset from the host's clock.
 *
 * cuEventElapsedTime measures from one event to another. So times are measured from a base: an event whose time is
 * known. The result is a float32 and loses precision with time, so a new base is taken every second. The origin of
 * the clock is arbitrary. Bases are recorded into a non-blocking stream of the shim. They also serve to compare the
 * clocks of device and host: an event in an idle stream completes between the call that records it and the query that
 * finds it complete.
 *
 * With CUDA_DEVICE_MAX_CONNECTIONS=1 all streams share one hardware queue: an event in the shim's stream would wait
 * for the program's work and delay it. In this case no event is recorded for the clock. Instead, events that time the
 * program's operations serve as bases. Each of these events bounds the offset, because it completes between its
 * launch and the query that finds it complete.
 *
 * Only the drain thread uses these functions. */
#ifndef WALLSHIM_SHIM_TIMING_DEVICE_CLOCK_H
#define WALLSHIM_SHIM_TIMING_DEVICE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"
#include "shim/objects/streams.h"

/* cuda.h gives events a resolution of "around 0.5 microseconds". */
enum { RESOLUTION = 500 };

/* Makes the context current on this thread; compares the clocks and takes a new base when it is time.
 * Fills *row and returns true when there is a new comparison to be recorded. */
bool device_clock_keep(struct shim_context *context, int64_t now, struct ws_clock *row);

/* Only for contexts with one hardware queue. device_clock_begin: the event may serve as the first base.
 * device_clock_learn: the event was read, and bounds the offset. launched: host time by which the operation before
 * the event had been launched; INT64_MIN: not known. */
void device_clock_begin(struct shim_context *context, uint32_t event, int64_t launched);
void device_clock_learn(struct shim_context *context, uint32_t event, int64_t launched);

/* Can events be read? This needs a base, and a good enough comparison of the clocks. */
bool device_clock_known(const struct shim_context *context);

/* An event's time, and its error from resolution and arithmetic. Returns the driver's answer. */
ws_CUresult device_clock_read(struct shim_context *context, ws_CUevent event, int64_t *time, uint32_t *error);

/* Converts a host time to the context's clock; *error: ± ns. */
int64_t device_clock_from_host(const struct shim_context *context, int64_t host_ns, int64_t *error);

#endif
