/* With --event-placement sampled, decides which operations (launches, copies, memsets …) are measured by events.
 *
 * There are two kinds of measurements. A sample times one launch of a shape (objects/shapes.h), from time to time.
 * Samples tell the drain thread how long the shape's kernel takes. An anchor times the end of one operation of a
 * stream, every millisecond or more often. Anchors correct the computed times. Samples and anchors need driver calls,
 * and --overhead limits the share of a thread's working time (timing/activity.h) that these calls may
 * take. */
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
    MEASURE_PAIR, /* an event before the operation and an event after it. If possible also a gate (timing/gates.h),
                     which holds the stream until the operation and both events are in it */
};

/* Decides which events measure a launch. This function also counts the launch, so call it at most once per launch.
 * now: the tick counter now. */
enum measure measure_of_launch(struct shim_thread *thread, struct shim_stream *stream, struct shape_entry *shape,
                               uint64_t now);

/* Does the launch get no event? True for most launches: the shim skips all other steps of op_begin_slowly for them,
 * and the drain thread later computes their times. */
bool measure_leaves_out(struct shim_thread *thread, struct ws_ring_op *record, struct shape_entry *shape);

/* Decides which events measure an operation, unless measure_leaves_out has returned true for it. Copies, memsets and
 * graph launches are all measured while the budget lasts. After that, the drain thread computes their times.
 *
 * fresh: the operation may have waited for other work than its stream's earlier operations. Such an operation is
 * always measured, because its begin cannot be computed. A call that waits for its operation is always measured, too.
 */
enum measure measure_of_op(struct shim_thread *thread, const struct ws_ring_op *record, struct shape_entry *shape,
                           bool fresh);

/* Charges the measurement of an operation to the thread's budget (--overhead). took: the ticks that the measurement
 * took. now: the tick counter at the measurement's end. */
void measure_was_paid(struct shim_thread *thread, struct shim_stream *stream, uint64_t now, uint64_t took);

/* Adds `took`, the ticks that were spent on an operation's events, to the thread's total. */
void measure_took(struct shim_thread *thread, uint64_t took);

#endif
