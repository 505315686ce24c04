/* Which operations are measured by events, with --event-placement sampled.
 *
 * There are two kinds of measurements. Samples time a launch of each shape (objects/shapes.h) now and then: they tell
 * the drain how long its kernel takes. Anchors time the end of an operation of each stream once a millisecond: they
 * correct the computed times. Samples and anchors need driver calls. Each thread spends at most the share of its time
 * on these driver calls that --overhead allows. */
#ifndef WALLSHIM_SHIM_CALLS_MEASURE_H
#define WALLSHIM_SHIM_CALLS_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/objects/streams.h"
#include "shim/objects/thread.h"

enum measure {
    MEASURE_UNDECIDED,
    MEASURE_NOTHING,
    MEASURE_END,  /* an event after the operation */
    MEASURE_PAIR, /* an event before the operation and an event after it; also a gate (timing/gates.h), if possible */
};

/* Decides what is measured of a launch. This function also counts the launch, so call it at most once per launch.
 * now: in ticks. */
enum measure measure_of_launch(struct shim_thread *thread, struct shim_stream *stream, struct shape_entry *shape,
                               uint64_t now);

/* True for most launches: they get no event and skip all other steps of op_begin_slowly. The drain will compute their
 * times. */
bool measure_leaves_out(struct shim_thread *thread, struct ws_ring_op *record, struct shape_entry *shape);

/* What is measured of an operation that measure_leaves_out did not leave out. Copies are always measured, because
 * only times of kernels can be computed. Every operation that may have waited for other work (`fresh`) is measured
 * too. */
enum measure measure_of_op(struct shim_thread *thread, const struct ws_ring_op *record, struct shape_entry *shape,
                           bool fresh);

/* Charges the thread for the measurement of an operation. took: the ticks that it took. now: the ticks at its end. */
void measure_was_paid(struct shim_thread *thread, struct shim_stream *stream, uint64_t now, uint64_t took);

/* Adds the ticks that an operation's events took to the thread's total. */
void measure_took(struct shim_thread *thread, uint64_t took);

#endif
