#include "shim/calls/measure.h"

#include "base/minmax.h"
#include "shim/state/phase.h"
#include "shim/timing/activity.h"
#include "shim/timing/durations.h"
#include "shim/timing/ticks.h"

/* --overhead allows each thread to spend a share of its working time on measuring: the thread's budget. measure.h
 * explains samples and anchors. */
enum {
    ANCHOR_NS = 1000000,   /* longest time between two anchors of a stream that has launches, if may_delay allows
                              them */
    WINDOW_NS = 100000000, /* a thread that measures nothing saves its budget for later, but at most the budget of
                              this many ns */
    FIRST_GAP = 1,         /* launches from the first sample of a shape to the second; each sample doubles the gap */
    LONGEST_GAP = 256,     /* largest number of launches from one sample of a shape to the next */
    INEXACT_GAP = 8,       /* the same limit for a shape whose mean duration is not exact yet */
    CHAINS_A_SAMPLE = 4,   /* one in so many chains begins with a sample */
    CHAIN = 12,            /* number of measured ends in a chain, after its first measurement */
    /* A shape's first sample may overdraw the budget if paid_until (the time until which the budget is used up) is at
     * most this far in the future. The shape's further early samples (MEASURE_EARLY_GAP) may overdraw it less and
     * less. So shapes of which nothing is known come first. */
    ADVANCE_NS = 20000000,
    /* one part in EARLY_SHARE of the budget is kept for early samples. Calls that wait, and operations that waited
     * for other work, are always measured, and may use up the rest of the budget */
    EARLY_SHARE = 4,
    OWN_MOST = 3, /* a measurement is also charged with the time for writing all records since the last
                     measurement, but with at most this multiple of the measurement's own cost */
    /* A measurement is charged with 5/4 of its cost, because it also slows down the work after it: caches are cold,
     * and the drain thread is busy with the events. */
    AFTER_EFFECTS = 5,
    /* a measurement that took longer is charged with this time only, because its thread was preempted */
    MEASURE_MOST_NS = 100000,
    FELT_ONE_IN = 400, /* in this many waits for the device, the thread may make one measurement that delays it too
                          much (may_delay) */
    OFTEN_IDLE = 3 * ACTIVITY_ONE / 2, /* a thread works at most two thirds of the time */
    FELT_POSTPONES = 32,               /* when may_delay refuses a sample: launches until the next try */
    /* The queue is full if launches usually take FULL_TIMES times as long as the shortest one, and FULL_NS more. */
    FULL_TIMES = 4,
    FULL_NS = 5000,
    COSTS_MEANT = 8,  /* number of measurements that the usual cost covers */
    DEBT_WINDOWS = 4, /* paid_until is at most this many times WINDOW_NS in the future */
    WHOLE = 1000000,  /* shim_options.overhead is in millionths of the time */
};

/* Would a measurement that takes `cost` ticks delay a request by a larger share than --overhead allows? */
static bool is_felt(const struct shim_thread *thread, uint64_t cost)
{
    uint64_t between = activity_between_waits(thread);
    bool is_busy = thread->activity.stretch < OFTEN_IDLE;
    return between && !is_busy && cost > between * shim_options.overhead / WHOLE;
}

/* May the thread make a measurement now that takes `cost` ticks? A thread that is often idle answers requests, and
 * the measurement delays one of them. If this delay is longer than --overhead allows for the time from one wait for
 * the device to the next, the thread makes only one such measurement in FELT_ONE_IN waits. So measurements delay at
 * most one in a hundred requests, even if each request waits four times. In a thread that works more than two thirds
 * of the time, only the sum of all delays counts. is_turn: samples and anchors take turns, and it is this kind's
 * turn. The other kind must wait twice as long. */
static bool may_delay(struct shim_thread *thread, uint64_t cost, bool is_turn)
{
    struct thread_measuring *measuring = &thread->measuring;
    uint32_t waits = thread->activity.waits;
    if (!is_felt(thread, cost))
        return true;
    if (waits - measuring->waits_at_felt < (is_turn ? FELT_ONE_IN : 2 * FELT_ONE_IN))
        return false;
    measuring->waits_at_felt = waits;
    return true;
}

/* Ticks by which an early sample of the shape may overdraw the budget. */
static uint64_t advance_of(const struct shape_entry *shape)
{
    return ticks_in(ADVANCE_NS) / (shape->sample_gap + 1);
}

/* May an early sample be charged to the part of the budget that is kept for early samples? */
static bool reserve_allows(const struct thread_measuring *measuring, const struct shape_entry *shape, uint64_t now)
{
    return now + advance_of(shape) >= measuring->early_paid_until;
}

/* Is this launch the next one of a chain in the stream? It is, whatever the budget is: the chain's first launch had
 * to wait for the budget. A sample that is due of a kernel without chains goes before. */
static bool goes_on_in_chain(struct shim_stream *stream, struct shape_entry *shape, bool sample)
{
    uint32_t left = atomic_load_explicit(&stream->chain, memory_order_relaxed);
    if (left && atomic_load_explicit(&stream->user, memory_order_relaxed) == STREAM_SHARED)
        atomic_store_explicit(&stream->chain, left = 0, memory_order_relaxed);
    if (!left || (sample && duration_wanted(shape->shape) != WANT_ENDS))
        return false;
    atomic_store_explicit(&stream->chain, left - 1, memory_order_relaxed);
    shape->until_sample += sample;
    return true;
}

/* Begins a chain, if the kernel of a launch that is to be measured wants that. Some chains begin with a sample,
 * because samples tell more surely how long the kernel takes. There are no chains in streams that several threads
 * use, nor in threads whose requests would be delayed too much by so many measurements. */
static enum measure begin_chain(struct shim_thread *thread, struct shim_stream *stream, enum samples_wanted wanted)
{
    struct thread_measuring *measuring = &thread->measuring;
    bool is_shared = atomic_load_explicit(&stream->user, memory_order_relaxed) == STREAM_SHARED;
    if (wanted != WANT_ENDS || is_shared || is_felt(thread, measuring->sample_cost + CHAIN * measuring->anchor_cost))
        return MEASURE_PAIR;
    atomic_store_explicit(&stream->chain, CHAIN, memory_order_relaxed);
    return measuring->chains++ % CHAINS_A_SAMPLE ? MEASURE_END : MEASURE_PAIR;
}

enum measure measure_of_due_launch(struct shim_thread *thread, struct shim_stream *stream, struct shape_entry *shape,
                                   uint64_t now, bool sample)
{
    struct thread_measuring *measuring = &thread->measuring;
    if (goes_on_in_chain(stream, shape, sample))
        return MEASURE_END;
    bool anchor = now >= atomic_load_explicit(&stream->anchor_due, memory_order_relaxed);
    bool early = sample && shape->sample_gap < MEASURE_EARLY_GAP, paid = now >= measuring->paid_until;
    bool ahead = early && !paid && now + advance_of(shape) >= measuring->paid_until;
    bool reserved = early && !paid && !ahead && reserve_allows(measuring, shape, now);
    if (early && (paid || ahead || reserved) && duration_wanted(shape->shape) != WANT_FIRST_SAMPLES) {
        shape->sample_gap = MEASURE_EARLY_GAP; /* the kernel was measured often enough, perhaps in other streams */
        early = ahead = reserved = false;
    }
    measuring->early = reserved;
    bool allowed = paid || ahead || reserved;
    /* if an anchor is due, too, sample and anchor take turns */
    bool is_turn_of_anchor = sample && !early && anchor && measuring->anchor_next;
    allowed &= !is_turn_of_anchor;
    bool felt = allowed && sample && !early && !may_delay(thread, measuring->sample_cost, !measuring->anchor_next);
    allowed &= !felt;
    if (!allowed) {
        shape->until_sample += felt ? FELT_POSTPONES : sample; /* the sample is postponed */
        sample = false;
        if (now < measuring->paid_until || !anchor)
            return MEASURE_NOTHING;
    }
    if (!sample && !may_delay(thread, measuring->anchor_cost, measuring->anchor_next)) {
        atomic_store_explicit(&stream->anchor_due, now + ticks_in(ANCHOR_NS), memory_order_relaxed);
        return MEASURE_NOTHING;
    }
    measuring->anchor_next = measuring->is_sample = sample;
    if (!sample)
        return MEASURE_END;
    shape->sample_gap = ws_clamp(2 * shape->sample_gap, (uint32_t)FIRST_GAP, (uint32_t)LONGEST_GAP);
    enum samples_wanted wanted = duration_wanted(shape->shape);
    bool many = wanted == WANT_MANY_SAMPLES || wanted == WANT_ENDS;
    shape->until_sample = many ? ws_min(shape->sample_gap, (uint32_t)INEXACT_GAP) : shape->sample_gap;
    return begin_chain(thread, stream, wanted);
}

enum measure measure_without_begin(struct shim_thread *thread, struct shape_entry *shape)
{
    if (!thread->measuring.is_sample)
        return MEASURE_END;
    thread->measuring.is_sample = thread->measuring.early = false;
    shape->sample_gap /= 2;
    shape->until_sample = 1;
    return MEASURE_NOTHING;
}

/* Decides whether a copy, memset or graph launch is measured. While the budget lasts, all such operations are
 * measured, with one exception: a copy or memset that is no early sample is not measured if may_delay refuses. Graph
 * launches are not subject to may_delay, because a program that uses graphs does most of its work in them. An
 * operation whose times the drain thread cannot compute yet is always measured. */
static enum measure measure_of_other(struct shim_thread *thread, struct shape_entry *shape, uint64_t now)
{
    struct thread_measuring *measuring = &thread->measuring;
    bool early = shape->sample_gap < MEASURE_EARLY_GAP;
    bool paid = now + (early ? advance_of(shape) : 0) >= measuring->paid_until;
    measuring->unmeasured++;
    measuring->early = early && !paid && reserve_allows(measuring, shape, now);
    bool allowed =
        paid ? early || shape->is_graph || may_delay(thread, measuring->sample_cost, true) : measuring->early;
    if (!allowed && duration_is_known(shape->shape, shape->key.grid_x))
        return MEASURE_NOTHING;
    measuring->is_sample = true;
    shape->sample_gap = ws_clamp(2 * shape->sample_gap, (uint32_t)FIRST_GAP, (uint32_t)LONGEST_GAP);
    return MEASURE_PAIR;
}

/* Returns the part of the time `took` that is charged to the thread's budget: at most MEASURE_MOST_NS, because a
 * measurement takes longer only if the thread is preempted. */
static uint64_t own_cost(uint64_t took)
{
    return ws_min(took, ticks_in(MEASURE_MOST_NS));
}

static void keep_least(uint64_t *least, uint64_t ticks)
{
    if (!*least || ticks < *least)
        *least = ticks;
}

/* The queue is full if launches usually take much longer than the shortest one: each call waits until the device has
 * made room. If other threads launch, too, launches may also be long because several threads use the driver. After a
 * wait for the device, the queue is perhaps empty, until a launch was measured. */
bool measure_queue_is_full(const struct shim_thread *thread)
{
    const struct thread_measuring *measuring = &thread->measuring;
    return measuring->usual_launch > FULL_TIMES * measuring->least_launch + ticks_in(FULL_NS) &&
           measuring->waits_at_launch == thread->activity.waits && thread_is_alone();
}

/* If the queue is full, the program loses little by a measurement: without it, the thread would wait as long in its
 * next launch. */
uint64_t measure_cost(struct shim_thread *thread, uint64_t took, uint64_t launch)
{
    struct thread_measuring *measuring = &thread->measuring;
    uint64_t *least = &measuring->least_cost[thread->measure == MEASURE_PAIR];
    keep_least(least, took);
    keep_least(&measuring->least_launch, launch);
    measuring->usual_launch += own_cost(launch) / COSTS_MEANT - measuring->usual_launch / COSTS_MEANT;
    measuring->waits_at_launch = thread->activity.waits;
    return measure_queue_is_full(thread) ? ws_min(took, 2 * *least) : took;
}

void measure_took(struct shim_thread *thread, uint64_t took)
{
    __atomic_store_n(&thread->measuring.spent, thread->measuring.spent + own_cost(took), __ATOMIC_RELAXED);
}

/* Learns what a measurement usually costs. A single one may cost much more, because its thread was preempted. */
static void learn_cost(uint64_t *usual, uint64_t cost)
{
    *usual = *usual ? *usual - *usual / COSTS_MEANT + ws_min(cost, 2 * *usual) / COSTS_MEANT : cost;
}

/* Ticks until the stream's next anchor. The more of the budget of the last WINDOW_NS is unspent, the shorter this
 * interval is. A program that launches in bursts gets many anchors. A program that launches all the time gets at
 * least one anchor every ANCHOR_NS. */
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
    if (!measuring->paid_until) /* a new thread starts with the budget that it would save in ADVANCE_NS */
        measuring->paid_until = now - ws_min(now, ticks_in(ADVANCE_NS));
    /* The time, in ticks, in which the thread's budget grows by the cost of this measurement. */
    uint64_t earns = activity_stretch(thread, now, (cost + own) * WHOLE / shim_options.overhead);
    uint64_t most = ws_min(activity_stretch(thread, now, window), DEBT_WINDOWS * window);
    /* Some operations are measured even when the budget is used up (measure_of_op). The limit `now + most` keeps
     * them from stopping all other measurements for long. */
    measuring->paid_until = ws_min(ws_max(measuring->paid_until, window_began) + earns, now + most);
    if (measuring->early)
        measuring->early_paid_until = ws_max(measuring->early_paid_until, now) + EARLY_SHARE * ws_min(earns, most);
    if (measuring->is_sample && thread->measure == MEASURE_PAIR)
        learn_cost(&measuring->sample_cost, cost);
    else if (thread->measure == MEASURE_END)
        learn_cost(&measuring->anchor_cost, cost);
    measuring->is_sample = false;
    measuring->early = false;
    measuring->unmeasured = 0;
    bool in_chain = atomic_load_explicit(&stream->chain, memory_order_relaxed);
    uint64_t interval = anchor_interval(now, measuring->paid_until, window);
    atomic_store_explicit(&stream->anchor_due, in_chain ? now : now + interval, memory_order_relaxed);
}

bool measure_is_only_user(struct shim_stream *stream, const struct shim_thread *thread)
{
    uint32_t user = atomic_load_explicit(&stream->user, memory_order_relaxed);
    if (user == thread->number || (!user && atomic_compare_exchange_strong(&stream->user, &user, thread->number)))
        return true;
    if (user != STREAM_SHARED)
        atomic_store_explicit(&stream->user, STREAM_SHARED, memory_order_relaxed);
    return false;
}

enum measure measure_of_op(struct shim_thread *thread, const struct ws_ring_op *record, struct shape_entry *shape,
                           bool fresh)
{
    /* if false, copies in other streams may delay this copy */
    bool alone = !(record->inner & WS_RING_OP_ENGINE_BUSY);
    thread->measuring.is_sample &= thread->measure != MEASURE_UNDECIDED; /* if decided, this operation may be one */
    if (shape->computable)
        measure_is_only_user(shape->stream, thread);
    if (!(shape->function || (shape->computable && alone)) || fresh ||
        record->header.detail & (WS_OP_BLOCKING | WS_OP_IN_COLLECTIVE))
        return MEASURE_PAIR;
    if (shape->computable)
        return measure_of_other(thread, shape, ticks_now());
    if (record->header.detail & WS_OP_DEPENDENT)
        return MEASURE_NOTHING;
    if (thread->measure != MEASURE_UNDECIDED)
        return (enum measure)thread->measure;
    return measure_of_launch(thread, shape->stream, shape, ticks_now());
}
