/* With --event-placement sampled, decides which operations (launches, copies, memsets …) are measured by events.
 *
 * There are three kinds of measurements. A sample times one launch of a shape (objects/shapes.h), from time to time.
 * The drain thread computes the times of launches without events: samples tell it how long the shape's kernel takes.
 * An anchor times the end of one operation of a stream, every millisecond or more often; in a thread that answers
 * short requests, only in few of them. Anchors correct the computed times. A chain is a sample or an anchor, and the
 * measured ends of the next launches: each of them begins when the one before it has ended, or when its own launch
 * arrives. So one event tells how long a launch took, but less exactly than a sample. Chains serve kernels whose
 * launches take very different times, of which many must be measured. Measurements need driver calls. The time that
 * these calls may take is the thread's budget: --overhead limits it to a share of the thread's working time
 * (timing/activity.h). */
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

/* A sample is early while its shape's sample_gap (objects/caches.h) is smaller than this. Early samples may overdraw
 * the budget. */
enum { MEASURE_EARLY_GAP = 128 };

/* Like measure_of_launch, for a launch for which a sample (sample) or an anchor is due. */
enum measure measure_of_due_launch(struct shim_thread *thread, struct shim_stream *stream, struct shape_entry *shape,
                                   uint64_t now, bool sample);

/* Notes the thread as a user of the stream. Is it the only thread that ever launched into the stream? If not, the
 * drain thread sorts the operations of several threads (drain/pending.c). */
bool measure_is_only_user(struct shim_stream *stream, const struct shim_thread *thread);

/* Decides which events measure a launch. This function also counts the launch, so call it at most once per launch.
 * now: the tick counter now. */
static inline enum measure measure_of_launch(struct shim_thread *thread, struct shim_stream *stream,
                                             struct shape_entry *shape, uint64_t now)
{
    bool sample = shape->until_sample && !--shape->until_sample;
    thread->measuring.unmeasured++;
    if (__builtin_expect(!sample && now < atomic_load_explicit(&stream->anchor_due, memory_order_relaxed), 1))
        return MEASURE_NOTHING;
    if (now < thread->measuring.paid_until && shape->sample_gap >= MEASURE_EARLY_GAP &&
        !atomic_load_explicit(&stream->chain, memory_order_relaxed)) {
        shape->until_sample += sample; /* postpones the sample to the shape's next launch */
        return MEASURE_NOTHING;
    }
    return measure_of_due_launch(thread, stream, shape, now, sample);
}

/* Does the launch get no event? True for most launches. For such a launch the shim skips all other steps of
 * op_begin_slowly, and the drain thread later computes the launch's times. */
static inline bool measure_leaves_out(struct shim_thread *thread, struct ws_ring_op *record,
                                      struct shape_entry *shape)
{
    enum { MEASURED = WS_OP_BLOCKING | WS_OP_DEPENDENT | WS_OP_IN_COLLECTIVE };
    struct shim_stream *stream = shape->stream;
    bool is_only_user = atomic_load_explicit(&stream->user, memory_order_relaxed) == thread->number ||
                        measure_is_only_user(stream, thread);
    if (!shape->function || record->header.detail & MEASURED || !stream->context->timed ||
        atomic_load_explicit(&stream->context->life, memory_order_relaxed) != CONTEXT_ALIVE || !is_only_user ||
        atomic_load_explicit(&stream->fresh, memory_order_relaxed))
        return false;
    if (stream_other_side_moved(stream)) {
        atomic_store_explicit(&stream->fresh, 1, memory_order_release);
        return false;
    }
    enum measure measure = measure_of_launch(thread, stream, shape, record->ticks_begin);
    if (__builtin_expect(measure != MEASURE_NOTHING, 0)) {
        thread->measure = (uint8_t)measure;
        return false;
    }
    record->header.detail |= WS_RING_OP_COMPUTED;
    return true;
}

/* Decides which events measure an operation, unless measure_leaves_out has returned true for it. While the budget
 * lasts, graph launches are all measured, and so are most copies and memsets (measure_of_other in measure.c says
 * which are not). The drain thread computes the times of the operations that are not measured.
 *
 * fresh: the operation may have waited for other work than its stream's earlier operations. Such an operation is
 * always measured, because its begin cannot be computed. A call that waits for its operation is always measured, too.
 */
enum measure measure_of_op(struct shim_thread *thread, const struct ws_ring_op *record, struct shape_entry *shape,
                           bool fresh);

/* Returns how a launch is measured that measure_of_op wants to measure by two events, but that can have none before
 * it. A sample is postponed to the shape's next launch. */
enum measure measure_without_begin(struct shim_thread *thread, struct shape_entry *shape);

/* Did the driver accept a kernel launch and its events? Only launches are computed although they are measured. */
static inline bool measure_is_of_launch(const struct ws_ring_op *record)
{
    return (record->header.detail & (WS_RING_OP_COMPUTED | WS_OP_POOL_DRY)) == WS_RING_OP_COMPUTED &&
           record->result == WS_CUDA_SUCCESS && record->end_event;
}

/* Is the queue of the stream full into which the thread launches, as far as its last launches tell? What the thread
 * puts in then stands in the queue together long before the device comes to it. */
bool measure_queue_is_full(const struct shim_thread *thread);

/* Returns the ticks that the measurement of a launch has cost the program, at most `took`, the ticks that it took.
 * launch: the ticks that the program's own call took. */
uint64_t measure_cost(struct shim_thread *thread, uint64_t took, uint64_t launch);

/* Charges the measurement of an operation to the thread's budget (--overhead). took: the ticks that the measurement
 * cost. now: the tick counter at the measurement's end. */
void measure_was_paid(struct shim_thread *thread, struct shim_stream *stream, uint64_t now, uint64_t took);

/* Adds `took`, the ticks that an operation's events cost, to the thread's total. */
void measure_took(struct shim_thread *thread, uint64_t took);

#endif
