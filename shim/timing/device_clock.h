/* Each context's clock: the times of events on this clock, and the clock's offset from the host's clock.
 *
 * cuEventElapsedTime measures from one event to another. So times are measured from a base: an event whose time is
 * known. cuEventElapsedTime returns a float32, which loses precision as the elapsed time grows, so a new base is
 * taken every second. The origin of the clock is arbitrary. Bases are recorded into a non-blocking stream of the
 * shim. Bases also serve to compare the clocks of device and host: an event in an idle stream completes between the
 * call that records it and the query that finds it complete.
 *
 * With CUDA_DEVICE_MAX_CONNECTIONS=1 all streams share one hardware queue: an event in the shim's stream would wait
 * for the program's earlier work, and would delay the program's later work. In this case no event is recorded for the
 * clock. Instead, events that time the program's operations serve as bases. Each of these events bounds the offset of
 * the clocks, because it completes after the launch of the operation before it, and before the query that finds it
 * complete.
 *
 * Only the drain (the shim's thread that writes the trace) uses these functions. */
#ifndef WALLSHIM_SHIM_TIMING_DEVICE_CLOCK_H
#define WALLSHIM_SHIM_TIMING_DEVICE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"
#include "shim/objects/streams.h"

/* cuda.h gives events a resolution of "around 0.5 microseconds". */
enum { RESOLUTION = 500 };

/* Makes the context current on this thread. Compares the clocks of device and host if a comparison is due, and takes
 * a new base (an event from which times are measured) if one is due. Returns true and sets *row if there is a new
 * comparison for the trace. */
bool device_clock_keep(struct shim_context *context, int64_t now, struct ws_clock *row);

/* Called before a trace begins. Forgets all comparisons of the clocks, because the latest may be hours old. The
 * caller makes sure that no operation in the context has unread events. */
void device_clock_restart(struct shim_context *context);

/* device_clock_begin and device_clock_learn act only in contexts with one hardware queue. device_clock_begin: takes
 * the event as the first base, if the event has completed and there is no base. device_clock_learn: called when the
 * event's time was read; bounds the offset between device and host clock by this time, and takes the event as a new
 * base if one is due. launched: host time by which the operation before the event had been launched; INT64_MIN: not
 * known. */
void device_clock_begin(struct shim_context *context, uint32_t event, int64_t launched);
void device_clock_learn(struct shim_context *context, uint32_t event, int64_t launched);

/* Can the times of events be read? Reading needs a base (an event whose time is known). If the context has several
 * hardware queues (one_queue is false), reading also needs a good comparison of the clocks, or a long enough wait for
 * a good comparison. */
bool device_clock_known(const struct shim_context *context);

/* Reads an event's time on the context's clock, ns, and the error that resolution and rounding add to this time, ns.
 * Returns the driver's result. */
ws_CUresult device_clock_read(struct shim_context *context, ws_CUevent event, int64_t *time, uint32_t *error);

/* Converts a host time to the context's clock; *error: ± ns. */
int64_t device_clock_from_host(const struct shim_context *context, int64_t host_ns, int64_t *error);

#endif
