#include "shim/calls/measure.h"

#include "base/minmax.h"
#include "shim/state/phase.h"
#include "shim/timing/ticks.h"

enum {
    ANCHOR_NS = 1000000, /* between anchors of a stream */
    FIRST_GAP = 1,       /* launches from the first sample of a shape to the next; then twice as many each time */
    LONGEST_GAP = 256,
    EARLY_GAP = 128, /* up to there samples may be taken in advance of what they cost */
    ADVANCE_NS = 20000000,
    OWN_NS = 40,             /* what the shim does for each other operation, about */
    OWN_MOST = 3,            /* times what the measurement cost, at most: the rest is not charged */
    MEASURE_MOST_NS = 40000, /* a thread that is held up meanwhile does not pay for that */
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
        shape->until_sample += sample; /* at the next launch */
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

void measure_was_paid(struct shim_thread *thread, struct shim_stream *stream, uint64_t now, uint64_t took)
{
    struct thread_measuring *measuring = &thread->measuring;
    uint64_t cost = ws_min(took, ticks_in(MEASURE_MOST_NS));
    uint64_t own = ws_min(ticks_in(measuring->unmeasured * OWN_NS), OWN_MOST * cost);
    measuring->paid_until = ws_max(measuring->paid_until, now) + (cost + own) * WHOLE / shim_options.overhead;
    measuring->unmeasured = 0;
    atomic_store_explicit(&stream->anchor_due, now + ticks_in(ANCHOR_NS), memory_order_relaxed);
}
