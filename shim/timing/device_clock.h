/* Each context's clock: the time of an event, and the offset of that clock to the host's.
 *
 * cuEventElapsedTime measures from one event to another, so there is a base: an event whose time is known. It is
 * taken anew every second, since the result is a float32. The clock's origin is ours to choose. Bases are recorded on
 * a non-blocking stream of our own, which also serves to compare the clocks: an event in an idle stream passes
 * between its recording and its being seen.
 *
 * With CUDA_DEVICE_MAX_CONNECTIONS=1 all streams share one hardware queue: an event of ours would wait for the
 * program's work and delay it. Then nothing is recorded for the clock. Events of the program's own streams are the
 * bases, and every event bounds the offset: it passed between its launch and its being seen.
 *
 * Everything here is the drain thread's. */
#ifndef WALLSHIM_SHIM_TIMING_DEVICE_CLOCK_H
#define WALLSHIM_SHIM_TIMING_DEVICE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"
#include "shim/objects/streams.h"

/* cuda.h gives events a resolution of "around 0.5 microseconds". */
enum { RESOLUTION = 500 };

/* Makes the context current on this thread and keeps its clock. Fills *row and returns true when there
 * is a new comparison to be recorded. */
bool device_clock_keep(struct shim_context *context, int64_t now, struct ws_clock *row);

/* With one queue: an event that may serve as the first base; and one that was read, which bounds the offset.
 * launched: host time at which the operation before it had been launched. */
void device_clock_begin(struct shim_context *context, uint32_t event, int64_t launched);
void device_clock_learn(struct shim_context *context, uint32_t event, int64_t launched);

/* Is there a base to measure from? */
bool device_clock_known(const struct shim_context *context);

/* An event's time and its error from resolution and arithmetic; the driver's answer. */
ws_CUresult device_clock_read(struct shim_context *context, ws_CUevent event, int64_t *time, uint32_t *error);

/* Where a host time lies on the context's clock, and how sure that is (±). */
int64_t device_clock_from_host(const struct shim_context *context, int64_t host_ns, int64_t *error);

#endif
