#include "shim/calls/measure.h"

#include "base/minmax.h"
#include "shim/state/phase.h"
#include "shim/timing/ticks.h"

enum {
    ANCHOR_NS = 1000000,   /* longest time between two anchors of a stream that has launches (see measure.h) */
    WINDOW_NS = 100000000, /* unspent budget that is older than this is lost */
    FIRST_GAP = 1,         /* launches from the first sample of a shape to the next; each sample doubles the gap */
    LONGEST_GAP = 256,
    EARLY_GAP = 128,       /* samples of a shape with a shorter gap than this may overdraw the budget */
    ADVANCE_NS = 20000000, /* such a sample is taken only if paid_until is at most this far ahead of the present */
    OWN_MOST = 3, /* the cost of records since the last measurement is charged too, up to this multiple of the
                     measurement's cost */
    AFTER_EFFECTS =
        5, /* quarters; measurements also slow down what follows them: caches are cold, and the drain runs */
    MEASURE_MOST_NS = 40000, /* most that is charged for one measurement: the thread may have been preempted */
    WHOLE = 1000000,         /* --overhead is in millionths */
};

static bool sample_is_due(struct shape_entry *shape)
{
    return shape->until_sample && !--shape->until_sample;
}

enum measure measure_of_launch(struct shim_thread *thread, struct shim_stream *stream, struct shape_entry *shape,
                               uint64_t now)
{
    struct thread_measuring *measuring = &thread->measuring;
    bool sample = sample_is_due(shape);
    bool anchor = now >= atomic_load_explicit(&stream->anchor_due, memory_order_relaxed);
    measuring->unmeasured++;
    if (!sample && !anchor)
        return MEASURE_NOTHING;
    uint64_t advance = sample && shape->sample_gap < EARLY_GAP ? ticks_in(ADVANCE_NS) : 0;
    if (now + advance < measuring->paid_until || (sample && anchor && measuring->anchor_next)) {
        shape->until_sample += sample; /* the next launch becomes the sample */
        sample = false;
        if (now < measuring->paid_until)
            return MEASURE_NOTHING;
    }
    measuring->anchor_next = sample;
    if (!sample)
        return MEASURE_END;
    shape->sample_gap = ws_clamp(2 * shape->sample_gap, (uint32_t)FIRST_GAP, (uint32_t)LONGEST_GAP);
    shape->until_sample = shape->sample_gap;
    return MEASURE_PAIR;
}

/* The part of `took` that is charged. Times beyond MEASURE_MOST_NS are cut off, because the thread was then
 * preempted. */
static uint64_t own_cost(uint64_t took)
{
    return ws_min(took, ticks_in(MEASURE_MOST_NS));
}

void measure_took(struct shim_thread *thread, uint64_t took)
{
    __atomic_store_n(&thread->measuring.spent, thread->measuring.spent + own_cost(took), __ATOMIC_RELAXED);
}

/* Ticks until the stream's next anchor. The more of the last window's budget is unspent, the shorter this interval
 * is. A program that launches in bursts gets many anchors. A program that launches all the time gets at least one
 * anchor every ANCHOR_NS. */
static uint64_t anchor_interval(uint64_t now, uint64_t paid_until, uint64_t window)
{
    uint64_t unspent = now > paid_until ? ws_min(now - paid_until, window) : 0;
    uint64_t spent = (window - unspent) * 256 / window;
    return ticks_in(ANCHOR_NS) * spent * spent >> 16;
}

void measure_was_paid(struct shim_thread *thread, struct shim_stream *stream, uint64_t now, uint64_t took)
{
    struct thread_measuring *measuring = &thread->measuring;
    uint64_t cost = own_cost(took) * AFTER_EFFECTS / 4;
    uint64_t own = ws_min(ticks_in((uint64_t)measuring->unmeasured * RECORD_NS), OWN_MOST * cost);
    uint64_t window = ticks_in(WINDOW_NS), window_began = now > window ? now - window : 0;
    if (!measuring->paid_until) /* a new thread starts with ADVANCE_NS of unspent time */
        measuring->paid_until = now - ws_min(now, ticks_in(ADVANCE_NS));
    uint64_t paid = ws_max(measuring->paid_until, window_began) + (cost + own) * WHOLE / shim_options.overhead;
    /* Copies are measured even beyond the budget. With this limit, many copies do not stop all other measurements for
     * long. */
    measuring->paid_until = ws_min(paid, now + window);
    measuring->unmeasured = 0;
    uint64_t interval = anchor_interval(now, measuring->paid_until, window);
    atomic_store_explicit(&stream->anchor_due, now + interval, memory_order_relaxed);
}

/* Is the thread the only one that ever launched into the stream? */
static bool is_only_user(struct shim_stream *stream, const struct shim_thread *thread)
{
    uint32_t user = atomic_load_explicit(&stream->user, memory_order_relaxed);
    if (user == thread->number || (!user && atomic_compare_exchange_strong(&stream->user, &user, thread->number)))
        return true;
    if (user != STREAM_SHARED)
        atomic_store_explicit(&stream->user, STREAM_SHARED, memory_order_relaxed);
    return false;
}

bool measure_leaves_out(struct shim_thread *thread, struct ws_ring_op *record, struct shape_entry *shape)
{
    enum { MEASURED = WS_OP_BLOCKING | WS_OP_DEPENDENT | WS_OP_IN_COLLECTIVE };
    struct shim_stream *stream = shape->stream;
    if (!shape->function || record->header.detail & MEASURED || !stream->context->timed ||
        atomic_load_explicit(&stream->context->life, memory_order_relaxed) != CONTEXT_ALIVE ||
        !is_only_user(stream, thread) || atomic_load_explicit(&stream->fresh, memory_order_relaxed))
        return false;
    if (stream_other_side_moved(stream)) {
        atomic_store_explicit(&stream->fresh, 1, memory_order_release);
        return false;
    }
    thread->measure = (uint8_t)measure_of_launch(thread, stream, shape, record->ticks_begin);
    if (thread->measure != MEASURE_NOTHING)
        return false;
    record->header.detail |= WS_RING_OP_COMPUTED;
    return true;
}

enum measure measure_of_op(struct shim_thread *thread, const struct ws_ring_op *record, struct shape_entry *shape,
                           bool fresh)
{
    if (!shape->function || fresh || record->header.detail & (WS_OP_BLOCKING | WS_OP_IN_COLLECTIVE))
        return MEASURE_PAIR;
    if (record->header.detail & WS_OP_DEPENDENT)
        return MEASURE_NOTHING;
    if (thread->measure != MEASURE_UNDECIDED)
        return (enum measure)thread->measure;
    return measure_of_launch(thread, shape->stream, shape, ticks_now());
}
