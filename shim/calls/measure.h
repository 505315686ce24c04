/* Which operations are measured by events, with --event-placement sampled.
 *
 * Two things are measured. Samples: a launch of each shape now and then, so that the drain knows how long its kernel
 * takes. Anchors: the end of some operation of each stream once a millisecond, so that the computed times stay right.
 * Both need driver calls. Each thread spends at most the share of its time on them that --overhead allows. */
#ifndef WALLSHIM_SHIM_CALLS_MEASURE_H
#define WALLSHIM_SHIM_CALLS_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/objects/streams.h"
#include "shim/objects/thread.h"

enum measure {
    MEASURE_UNDECIDED,
    MEASURE_NOTHING,
    MEASURE_END,  /* an event behind the operation */
    MEASURE_PAIR, /* one event before and one behind it; also a gate (timing/gates.h), if possible */
};

/* Decides what is measured of a launch. It counts the launch too, so call it at most once for each. now: in ticks. */
enum measure measure_of_launch(struct shim_thread *thread, struct shim_stream *stream, struct shape_entry *shape,
                               uint64_t now);

/* True for most launches: they get no event and skip all other steps of op_begin_slowly. The drain will compute their
 * times. */
bool measure_leaves_out(struct shim_thread *thread, struct ws_ring_op *record, struct shape_entry *shape);

/* What is measured of an operation that measure_leaves_out did not leave out. Only times of kernels can be computed:
 * copies are always measured, and so is every operation that may have waited for other work (`fresh`). */
enum measure measure_of_op(struct shim_thread *thread, const struct ws_ring_op *record, struct shape_entry *shape,
                           bool fresh);

/* An operation was measured, which took so many ticks and ended at `now`: charges the thread for it. */
void measure_was_paid(struct shim_thread *thread, struct shim_stream *stream, uint64_t now, uint64_t took);

/* Adds the time (ticks) that an operation's events took to what its thread has spent. */
void measure_took(struct shim_thread *thread, uint64_t took);

#endif
