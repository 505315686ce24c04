/* Which operations are measured by events, when few are to be (--event-placement sampled).
 *
 * A launch of a shape is measured now and then, so that the drain knows what its kernel takes; and the end of some
 * operation of each stream every millisecond, so that the computed line stays right. Both cost calls of the driver. A
 * thread pays for them out of the share of its time that --overhead allows. */
#ifndef WALLSHIM_SHIM_CALLS_MEASURE_H
#define WALLSHIM_SHIM_CALLS_MEASURE_H

#include <stdbool.h>
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

/* Is the operation one of the many for which nothing is recorded? Its times will be computed. */
bool measure_leaves_out(struct shim_thread *thread, struct ws_ring_op *record, struct shape_entry *shape);

/* What is measured of an operation, now that its stream is known to be alive. Only kernels are computed: what a copy
 * takes, or work that something held, is measured. */
enum measure measure_of_op(struct shim_thread *thread, const struct ws_ring_op *record, struct shape_entry *shape,
                           bool fresh);

/* Measuring took so long (ticks), until now. */
void measure_was_paid(struct shim_thread *thread, struct shim_stream *stream, uint64_t now, uint64_t took);

#endif
