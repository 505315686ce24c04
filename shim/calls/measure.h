/* Which operations are measured by events, when few are to be (--event-placement sampled).
 *
 * A launch of a shape is measured now and then, so that the drain knows what its kernel takes; and the end of some
 * operation of each stream every millisecond, so that the computed line stays right. Both cost calls of the driver. A
 * thread pays for them out of the share of its time that --overhead allows. */
#ifndef WALLSHIM_SHIM_CALLS_MEASURE_H
#define WALLSHIM_SHIM_CALLS_MEASURE_H

#include <stdint.h>

#include "shim/objects/streams.h"
#include "shim/objects/thread.h"

enum measure {
    MEASURE_UNDECIDED,
    MEASURE_NOTHING,
    MEASURE_END,  /* an event behind it */
    MEASURE_PAIR, /* an event before it as well, and a gate where one is to be had */
};

/* What is to be measured of a launch at this time (ticks). Called once for each launch. */
enum measure measure_of_launch(struct shim_thread *thread, struct shim_stream *stream, struct shape_entry *shape,
                               uint64_t now);

/* Measuring took so long (ticks), until now. */
void measure_was_paid(struct shim_thread *thread, struct shim_stream *stream, uint64_t now, uint64_t took);

#endif
