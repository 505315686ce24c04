#include "shim/timing/reconstruct.h"

#include "base/minmax.h"
#include "base/root.h"
#include "shim/timing/arrival.h"
#include "shim/timing/device_clock.h"
#include "shim/timing/dispatch.h"
#include "shim/timing/durations.h"
#include "shim/timing/instant.h"
#include "shim/timing/order.h"
#include "shim/timing/runs.h"

/* The variance of a begin event's time, ns². It is larger than that of an end event, because the program's own events
 * may precede the begin event in the stream, and take time. */
static const double BEGIN_EVENT = 600.0 * 600;
enum {
    /* ns; an event shows an operation's end only if it completes at least this long after it arrived at the
     * device. */
    LATE_BY = 1000,
    HELD_UP_NS = 20000, /* ns; a kernel in an idle stream that ends this much later than computed has begun late */
    OPENING_NS = 4000,  /* ns; a stream resumes at most this long after the gate (gates.h) that held it was opened */
};

/* Lets the line (the stream's computed times) go on after this event. directly: the event was put in directly before
 * the next operation, by the same thread. Then that operation begins when the event has passed, however well the
 * event shows the end of the operation before it. */
static void line_pass_event(struct line *line, const struct pool_event *event, bool directly)
{
    if (event->time > line->free || (directly && event->time == line->free))
        line_begin(line, event->time, event_noise);
    line->behind_event = event->time >= line->free;
}

static struct instant arrives(const struct shim_context *context, int64_t host_ns)
{
    struct instant instant;
    if (arrival_known(&context->arrival)) {
        instant.time = arrival_of(&context->arrival, host_ns, &instant.var);
    } else {
        int64_t error;
        instant.time = device_clock_from_host(context, host_ns, &error) + context->shortest_submit / 2;
        instant.var = ws_square((double)error / 2);
    }
    return instant;
}

static const struct pool_event *event_read(const struct shim_context *context, uint32_t event)
{
    const struct pool_event *read = event ? event_at(&context->pool, event) : NULL;
    return read && read->state == EVENT_READ ? read : NULL;
}

/* Did the event complete well after it had arrived at the device? If it did, it waited for the operation before it in
 * the stream, and this operation ended at the event's time. */
static bool event_tells(const struct pool_event *event, struct instant arrived)
{
    return (double)(event->time - arrived.time) > STATED * ws_root(arrived.var + event_noise) + LATE_BY;
}

/* --- forward: what the device would have done --------------------------------------------------- */

/* A launch whose call took unusually long may have arrived at the device long before the call returned. In this case
 * the operation began earlier than computed, and so did the operations that were queued behind it, but no operation
 * began before its own launch had arrived. Returns the variance that this case adds to the operation's times. This
 * variance enlarges the errors in the trace. Corrections by events do not use it as a weight. */
static double long_call_var(const struct pending *pending, struct instant came, struct line *line)
{
    double took = (double)(pending->op.host_end - pending->op.host_begin);
    double excess = duration_call_excess(pending->duration, took);
    if (!pending->queued)
        line->early = excess;
    else
        line->early = ws_min(line->early, (double)(line->free - came.time) + excess);
    return ws_square(line->early / STATED);
}

/* By the computed times, the stream is free when the launch arrives at `begin`. But the previous operation may have
 * taken longer than expected, which delays the start. Returns the variance that covers such a delay. This variance
 * matters if a few launches of a kernel take much longer than most. */
static double late_var(struct instant free, struct instant begin)
{
    double late = (double)(free.time - begin.time) + STATED * ws_root(free.var);
    return late > 0 ? ws_square(late / STATED) : 0;
}

/* Copies of other streams may use the copy engine first, and so delay this operation. Returns the variance that
 * covers such a delay. */
static double engine_var(const struct shim_stream *stream, const struct pending *pending)
{
    enum { MOST = 8 }; /* copies that may use the engine first */
    uint32_t others = ws_min(times_copies_beside(stream, pending), (uint32_t)MOST);
    return ws_square(others * duration_expected(pending->duration) / STATED);
}

/* Computes the next operation's start and end, and continues the line (the stream's computed times) to the
 * operation's end. */
static void advance(const struct shim_stream *stream, struct pending *pending, struct line *line)
{
    const struct shim_context *context = stream->context;
    struct duration *duration = pending->duration = pending_duration(pending);
    struct instant came = arrives(context, pending->op.host_end);
    double least = 0;
    if (line->behind_event)
        line->free += (int64_t)(dispatch_after_event(context) - dispatch_after_operation(context));
    line->behind_event = false;
    pending->queued = line->free >= came.time;
    pending->held_up = (float)long_call_var(pending, came, line);
    if (!pending->queued) {
        struct instant free = { line->free, line_var(line) };
        bool may_wait = !line->guessed && line_may_reach(line, came.time);
        struct instant begin = may_wait ? later_of(came, free) : came;
        least = may_wait ? late_var(free, begin) : 0;
        double early = line->early;
        line_begin(line, begin.time, begin.var);
        line->early = early;
    } else if ((double)(line->free - came.time) <
               ws_root(came.var)) /* either the stream or the launch may have delayed the operation */
        line->var = ws_max(line->var, came.var);
    line->var += engine_var(stream, pending);
    pending->op.begin = line->free + (int64_t)dispatch_after_operation(context);
    pending->begin_var = (float)ws_max(line_var(line), least);
    line->free = pending->op.begin;
    line_add(line, duration);
    pending->op.end = line->free;
    pending->end_var = (float)line_var(line);
}

/* --- back: what an event says ------------------------------------------------------------------- */

/* What an event shows about the operation before it. */
enum told {
    TOLD_NOTHING, /* the operation ended at some time before the event */
    TOLD_END,     /* the operation ended when the event completed */
    TOLD_SURELY,  /* like TOLD_END; before the event was read, it was certain that the event would show the end */
};

/* Do the computed times make it certain that an event which arrives at the device at `arrived` will show the end of
 * `last`? */
static bool end_is_foreseen(const struct pending *last, struct instant arrived)
{
    double sure = FAR_OFF * ws_root((double)last->end_var + arrived.var);
    return (double)(last->op.end - arrived.time) > sure + LATE_BY;
}

static enum told event_says(const struct pool_event *event, const struct pending *last, struct instant arrived)
{
    if (!event_tells(event, arrived))
        return TOLD_NOTHING;
    return end_is_foreseen(last, arrived) ? TOLD_SURELY : TOLD_END;
}

/* Multiplies the errors of the computed times from `first` to before `behind` by `tail` (struct line). */
static void widen(struct pending *first, const struct pending *behind, double tail)
{
    for (struct pending *at = first; tail > 1 && at != behind; at = at->next) {
        if (!at->begin_event)
            at->begin_var *= (float)ws_square(tail);
        at->end_var *= (float)ws_square(tail);
    }
}

/* Called if a run (operations without a pause between them) ended far from its computed end. The durations of its
 * kernels may have changed, perhaps already before the run. So each operation from `first` (the first one after the
 * previous event) up to the run may have taken `by` ns longer, too. Enlarges the variances of these operations' times
 * accordingly. */
static void doubt_before(struct pending *first, struct run run, double by)
{
    unsigned count = 0; /* number of operations before `at` that ran without a pause up to it */
    for (struct pending *at = first; at != run.first; at = at->next) {
        count = at->queued ? count : 0;
        at->begin_var += (float)ws_square(by * count / STATED);
        at->end_var += (float)ws_square(by * ++count / STATED);
    }
}

/* Called if an event shows only that the run ended before the event, but the run's computed end is after the event.
 * Moves the run's end to a likely time before the event. The later the computed end was, the closer the new end is to
 * the event. If the run is a single operation whose computed start is also after the event, the operation is first
 * moved: to the arrival of its launch, or, if another one was before it in the queue, to end at the event. */
static void end_before(const struct shim_context *context, struct run run, struct walk walk,
                       const struct pool_event *event, double event_var, struct line *line)
{
    if (run.count == 1 && event->time < run.first->op.begin) {
        struct pending *only = run.first;
        struct instant came = arrives(context, only->op.host_end);
        int64_t least = ws_min(came.time + (int64_t)dispatch_after_operation(context), event->time);
        int64_t begin = only->queued ? ws_max(event->time - (only->op.end - only->op.begin), least) : least;
        only->begin_var = only->queued ? only->begin_var : (float)came.var;
        only->op.end -= only->op.begin - begin;
        only->op.begin = begin;
        walk = run_walk(run);
    }
    double off = (double)(event->time - run.last->op.end);
    double room = (double)(event->time - run.first->op.begin) / (run.count + 1);
    double before = ws_min(walk.end / (ws_root(walk.end) - off), ws_max(room, 0.0));
    run_bridge(run, walk, event->time - (int64_t)before, event_var + ws_square(before), line);
}

/* Changes the start of an operation in an idle stream, so that the operation has its expected length again. Called if
 * the operation ended so late that a late start is more probable than an unusual length: a gate or another program
 * held the stream, or something delayed the launching thread. */
static void begin_late(struct pending *pending, int64_t length, double by)
{
    pending->op.begin = pending->op.end - length;
    pending->begin_var = (float)ws_square(by / STATED);
}

/* The run's end was measured `off` ns from its computed end. If the run ended much earlier than computed, and its
 * first launch's call took long, then this launch arrived at the device early in the call. In this case, moves the
 * whole run earlier, at most by STATED times the root of `held_up` (struct pending). Returns the change of the times,
 * ns: 0 or less. */
static double arrive_early(struct run run, const struct walk *walk, double off, double event_var)
{
    double most = STATED * ws_root((double)run.first->held_up);
    if (off >= 0 || run.first->queued || !(most > 0) || !run_is_far(walk, off, event_var))
        return 0;
    double by = ws_max(off, -most);
    for (struct pending *at = run.first, *behind = run.last->next; at != behind; at = at->next) {
        at->op.begin += (int64_t)by;
        at->op.end += (int64_t)by;
    }
    return by;
}

/* Corrects the times of the operations from `first` to `last` by the event after `last`. `event_var`: variance of the
 * time between the end of `last` and the event. told: what the event shows about the end of `last`. */
static void anchor(const struct shim_context *context, struct pending *first, struct pending *last,
                   const struct pool_event *event, double event_var, enum told told, struct line *line)
{
    struct run run = run_until(first, last);
    double off = (double)(event->time - last->op.end);
    bool agrees = told == TOLD_NOTHING && off >= 0;
    /* An operation of a chain (calls/measure.h) says little of those that are further away from a measured end. */
    if (first != last || !duration_varies_widely(last->duration))
        line_learn_tail(line, agrees ? 0 : off, (double)last->end_var + (double)last->held_up + event_var);
    widen(first, agrees ? last->next : run.first, line->tail);
    if (agrees)
        return;
    struct walk walk = run_walk(run);
    if (told != TOLD_NOTHING) {
        int64_t length = last->op.end - last->op.begin;
        double early = arrive_early(run, &walk, off, event_var);
        off -= early;
        run_bridge(run, walk, event->time, event_var, line);
        if (run.count == 1 && off > HELD_UP_NS && run_is_far(&walk, off, event_var))
            begin_late(last, length, off);
        if (run.count > 1 && early >= 0)
            run_learn(run, walk, off, event_var, told == TOLD_SURELY, line);
        if (run_is_far(&walk, off, event_var))
            doubt_before(first, run, off / run.count);
    } else {
        end_before(context, run, walk, event, event_var, line);
    }
}

/* --- measured operations ------------------------------------------------------------------------ */

/* Sets the times of a launch behind a gate. The gate held the stream until the launch and both its events were
 * queued. So the difference of the events' times is the kernel's time plus a constant (dispatch_after_event). */
static void settle_gated(struct shim_context *context, struct pending *pending, const struct pool_event *begin,
                         const struct pool_event *end, struct line *line)
{
    int64_t around = (int64_t)dispatch_after_event(context);
    double took = (double)(end->time - begin->time - around);
    context->dispatch.wanted = true;
    pending->duration = duration_of(pending->op.shape);
    pending->duration->gated = true;
    duration_sample(pending->duration, took, 2 * event_noise + dispatch_after_event_var(context), SAMPLE_EXACT);
    pending->op.begin = ws_min(begin->time + around, end->time);
    pending->op.end = end->time;
    pending->begin_var = (float)(event_noise + dispatch_after_event_var(context));
    pending->end_var = (float)event_noise;
    pending->op.flags |= WS_TIME_MEASURED | WS_TIME_MEASURED << 2;
    line_begin(line, end->time, event_noise);
}

/* The longest time that the operation can have taken: from its earliest likely start to its end event. */
static double longest(const struct pending *pending, const struct pool_event *end)
{
    return (double)(end->time - pending->op.begin) +
           STATED * ws_root((double)pending->begin_var + (double)pending->held_up);
}

/* Learns a kernel's duration from an operation with an end event of its own. begin: it has a begin event, too. alone:
 * it needs none (duration_needs_no_begin). The event shows the end only if the operation was still running when the
 * event arrived: a short operation's end is not shown. A mean of only the long operations, or only the short ones,
 * would be wrong. If `always` is set, both long and short operations are learned from. `always` depends only on what
 * was known before the measurement, so it favours neither long nor short operations. For steady kernels, every end
 * that an event shows is used. Without a begin event, the computed start is used: the arrival of the launch in an
 * idle stream. If the launching call took long, the arrival is known too badly, and only an upper bound of the
 * duration is learned. */
static void learn_one(const struct pending *pending, bool begin, bool alone, const struct pool_event *end,
                      enum told told, bool foreseen)
{
    struct duration *duration = pending->duration;
    double took = (double)(end->time - pending->op.begin), noise = event_noise + (double)pending->begin_var;
    bool always = foreseen || alone || (duration->samples && !duration->gated);
    enum sample shown = begin || alone ? SAMPLE_EXACT : SAMPLE_ROUGH;
    enum sample hidden = alone ? SAMPLE_EXACT : begin ? SAMPLE_LIKELY : SAMPLE_ROUGH;
    bool known = !(pending->held_up > 0);
    if (!known)
        duration_at_most(duration, longest(pending, end));
    else if (told == TOLD_NOTHING && always && took < duration_expected(duration))
        duration_sample(duration, took / 2, noise + ws_square(took) / 12, hidden);
    else if (told != TOLD_NOTHING && (always || !duration->samples || duration_is_steady(duration)))
        duration_sample(duration, took, noise, shown);
    else
        duration_at_most(duration, longest(pending, end));
}

/* Sets the times of the last operation, which has an end event of its own and perhaps a begin event. Returns what the
 * end event shows (enum told). */
static enum told settle_last(struct shim_stream *stream, struct pending *pending, const struct pool_event *begin,
                             const struct pool_event *end, struct line *line)
{
    struct shim_context *context = stream->context;
    if (pending->detail & WS_RING_OP_GATED && begin) {
        settle_gated(context, pending, begin, end, line);
        return TOLD_SURELY;
    }
    if (begin)
        line_pass_event(line, begin, !(pending->op.flags & WS_OP_CONTENDED));
    bool behind_event = line->behind_event;
    advance(stream, pending, line);
    if (begin) { /* however early the launch arrived, the operation began after its begin event */
        line->early = ws_min(line->early, ws_max((double)(pending->op.begin - begin->time), 0.0));
        pending->held_up = (float)ws_square(line->early / STATED);
        pending->begin_var += behind_event && pending->queued ? (float)dispatch_after_event_var(context) : 0;
    }
    enum told told = TOLD_NOTHING;
    bool foreseen = false, alone = false;
    if (pending->late != UINT32_MAX) {
        struct instant arrived = arrives(context, pending->op.host_end + pending->late);
        told = event_says(end, pending, arrived);
        foreseen = end_is_foreseen(pending, arrived);
        alone = !begin && duration_needs_no_begin(pending->duration, (double)pending->begin_var,
                                                  (double)(arrived.time - pending->op.begin));
    }
    if ((begin || alone || !pending->queued) && !(pending->op.flags & WS_OP_CONTENDED))
        learn_one(pending, begin, alone, end, told, foreseen);
    else
        duration_at_most(pending->duration, longest(pending, end));
    return told;
}

/* --- a window ----------------------------------------------------------------------------------- */

/* Corrections may have moved an operation's start to before its launch, which is impossible. Moves such a start to
 * the time of the launch. The last comparison of the clocks may be wrong by many microseconds, but no launch was made
 * later than it arrived. */
static void keep_after_launch(const struct shim_context *context, struct ws_op *op)
{
    int64_t error, launched = device_clock_from_host(context, op->host_begin, &error);
    launched = ws_min(launched, arrives(context, op->host_begin).time);
    op->begin = ws_max(op->begin, launched);
    op->end = ws_max(op->end, op->begin);
}

/* before: how long the operations before `first` take (longest in struct stream_line). Adds those up to `last`. */
static void state_times(const struct shim_context *context, float *before, struct pending *first,
                        struct pending *last)
{
    for (struct pending *at = first;; at = at->next) {
        bool measured = at->op.flags & WS_OP_END_QUALITY;
        if (at->op.flags & WS_OP_CONTENDED) {
            double var = order_var(context, at, *before);
            at->begin_var += (float)var;
            at->end_var += (float)(measured ? order_before_var(context, first, at) : var);
        }
        *before = order_longest(*before, pending_is_computed(at) ? duration_expected(at->duration) : 0);
        keep_after_launch(context, &at->op);
        double begin_error = STATED * ws_root((double)at->begin_var + (double)at->held_up);
        double end_error = STATED * ws_root((double)at->end_var + (measured ? 0 : (double)at->held_up));
        at->op.begin_error = (uint32_t)ws_min(begin_error, 4e9) + SYSTEMATIC;
        at->op.end_error = (uint32_t)ws_min(end_error, 4e9) + SYSTEMATIC;
        if (!(at->op.flags & WS_OP_BEGIN_QUALITY))
            at->op.flags |= WS_TIME_INFERRED;
        if (!(at->op.flags & WS_OP_END_QUALITY))
            at->op.flags |= WS_TIME_INFERRED << 2;
        if (at == last)
            return;
    }
}

/* Learns how long a copy, memset or graph launch takes, from a measured one. begin: the event before the
 * operation. */
static void learn_other(const struct shim_stream *stream, const struct pending *pending,
                        const struct pool_event *begin)
{
    bool is_other = pending->kind == WS_OP_COPY || pending->kind == WS_OP_MEMSET || pending->kind == WS_OP_GRAPH;
    bool known = is_other && (pending->op.flags & WS_OP_END_QUALITY) == WS_TIME_MEASURED << 2 && begin &&
                 !pending->staged && !times_copies_beside(stream, pending);
    if (!known)
        return;
    double begin_error = (double)pending->op.begin_error / STATED, end_error = (double)pending->op.end_error / STATED;
    duration_sample_other(pending->op.shape, pending->op.bytes, (double)(pending->op.end - pending->op.begin),
                          event_noise + ws_square(begin_error) + ws_square(end_error),
                          (pending->op.flags & WS_OP_BEGIN_QUALITY) == WS_TIME_MEASURED ? SAMPLE_EXACT
                                                                                        : SAMPLE_LIKELY);
}

/* Sets the times of `last`, which has the end event, and corrects the times of the operations from `first` to
 * `before`. `last` is a kernel, or an operation that is timed by its events alone. */
static void settle(struct shim_stream *stream, struct pending *first, struct pending *before, struct pending *last,
                   uint32_t end_event, struct line *line)
{
    struct shim_context *context = stream->context;
    const struct pool_event *end = event_read(context, end_event), *begin = event_read(context, last->begin_event);
    bool gated = last->detail & WS_RING_OP_GATED && begin;
    int64_t put_in = gated ? last->op.host_end + last->late + OPENING_NS : last->op.host_begin;
    if (begin && before) {
        /* The begin event shows the end of the previous operation only if the stream waited for nothing else. A gate
         * counts as another wait, unless the stream was surely busy until the gate was open. */
        struct instant came = arrives(context, put_in);
        enum told told = TOLD_NOTHING;
        if (!(last->detail & WS_RING_OP_WAITED) && (!gated || line_surely_reaches(line, came.time)))
            told = event_says(begin, before, came);
        double tail = line->tail;
        struct host_span put = { last->op.host_begin, last->op.host_begin };
        double begin_var = order_behind_var(context, first, before, put, BEGIN_EVENT);
        anchor(context, first, before, begin, begin_var, told, line);
        /* The gate may have opened long after the end. So the event does not show that the stated errors are wide
         * enough. */
        if (gated && told == TOLD_NOTHING)
            line->tail = ws_max(line->tail, tail);
    }
    if (!pending_is_computed(last)) {
        times_resolve(stream, last, end_event);
        learn_other(stream, last, begin);
        bool at_event = last->op.end == end->time; /* the event waited for the operation's end */
        line_begin(line, last->op.end, at_event ? event_noise : ws_square((double)last->op.end_error / STATED));
        return;
    }
    enum told told = settle_last(stream, last, begin, end, line);
    if (begin)
        duration_want_more(last->op.shape);
    if (gated)
        return;
    struct host_span put = { last->op.host_end - last->moved,
                             last->late == UINT32_MAX ? INT64_MAX : last->op.host_end + last->late };
    double end_var = order_behind_var(context, first, last, put, event_noise);
    anchor(context, begin ? last : first, last, end, end_var, told, line);
    last->op.flags |= told != TOLD_NOTHING ? WS_TIME_MEASURED << 2 : 0;
}

/* Clears the marks that say how the operations' times were found. The marks may be left from an earlier computation
 * that compute_ended (drain/pending.c) has discarded. */
static void forget_qualities(struct pending *first, const struct pending *last)
{
    for (struct pending *at = first;; at = at->next) {
        at->op.flags &= ~(uint32_t)(WS_OP_BEGIN_QUALITY | WS_OP_END_QUALITY);
        if (at == last)
            return;
    }
}

void reconstruct(struct shim_stream *stream, struct pending *first, struct pending *last, uint32_t end_event)
{
    const struct shim_context *context = stream->context;
    event_noise = dispatch_event_var(context);
    forget_qualities(first, last);
    bool known = stream->line.known;
    struct line line =
        line_of(stream->line.apart, known ? (double)stream->line.seen : 1, known ? (double)stream->line.tail : 1);
    if (known) {
        line.free = stream->line.free;
        line.var = (double)stream->line.var;
        line.early = (double)stream->line.early;
        line.behind_event = stream->line.behind_event;
    }
    struct pending *before = NULL;
    for (struct pending *at = first; at != last; at = at->next) {
        advance(stream, at, &line);
        before = at;
    }
    const struct pool_event *end = event_read(context, end_event);
    if (end) {
        settle(stream, first, before, last, end_event, &line);
        line_pass_event(&line, end, false);
    } else {
        advance(stream, last, &line);
        widen(first, last->next, line.tail);
    }
    if (pending_is_computed(last) || before)
        state_times(context, &stream->line.longest, first, pending_is_computed(last) ? last : before);
    stream->line.free = line.free;
    stream->line.var = (float)line_var(&line);
    stream->line.early = (float)line.early;
    stream->line.behind_event = line.behind_event;
    stream->line.apart = (int8_t)ws_clamp(line.apart, -100, 100);
    stream->line.seen = (float)line.seen;
    stream->line.tail = (float)line.tail;
    stream->line.known = true;
}
