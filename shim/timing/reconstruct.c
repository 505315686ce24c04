#include "shim/timing/reconstruct.h"

#include "base/minmax.h"
#include "base/root.h"
#include "shim/timing/arrival.h"
#include "shim/timing/device_clock.h"
#include "shim/timing/durations.h"

/* Variances in ns². An event's time is rounded to half a microsecond. */
static const double EVENT = 150.0 * 150;
static const double BEGIN_EVENT =
    600.0 * 600; /* the program's own events may come before this event, and take time */
static const double DISPATCH_NS = 1000, DISPATCH_VARIANCE = 500.0 * 500; /* until the dispatch time is measured */
static const double FAR_OFF = 4;                                         /* standard deviations */
static const double SCALE_MARGIN = 3, SCALE_LEAST = 1, SCALE_MOST = 9, RUNS_MEANT = 8;
static const double STATED = 2.6; /* standard deviations: 99 % of a normal distribution */
enum {
    APART_MOST = 3,    /* this many successive runs far from their expected length are not chance */
    SYSTEMATIC = 250,  /* ns added to every error, for effects that the model leaves out */
    LATE_BY = 1000,    /* ns; an event that completed sooner after its own arrival tells nothing */
    OPENING_NS = 4000, /* ns; a stream goes on at most this long after its gate was opened */
};

static double dispatch_ns(const struct shim_context *context)
{
    return context->dispatch.count ? context->dispatch.mean : DISPATCH_NS;
}

/* A time and its variance. */
struct instant {
    int64_t time;
    double var;
};

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

static bool is_computed(const struct pending *pending)
{
    return pending->detail & WS_RING_OP_COMPUTED;
}

static const struct pool_event *event_read(const struct shim_context *context, uint32_t event)
{
    const struct pool_event *read = event ? event_at(&context->pool, event) : NULL;
    return read && read->state == EVENT_READ ? read : NULL;
}

/* Did the event complete well after it had arrived at the device? In that case it waited for the operation before it,
 * which ended at the event's time. */
static bool event_tells(const struct pool_event *event, struct instant arrived)
{
    return (double)(event->time - arrived.time) > STATED * ws_root(arrived.var + EVENT) + LATE_BY;
}

/* --- forward: what the device would have done --------------------------------------------------- */

/* The line of a stream (reconstruct.h), up to the last computed operation. `bias` is the variance of `free` that
 * comes from the kernels' means: the error of a mean is the same in each launch of the kernel, so n launches add n²
 * times the variance of the mean. `var` is all other variance. */
struct line {
    int64_t free; /* computed end of the last operation */
    double var, bias;
    bool guessed;    /* some of its kernels were never sampled, so `free` is hardly known */
    uint32_t number; /* tells its counts of launches (struct duration) from those of other lines */
    int apart;       /* number of successive runs much longer (> 0) or much shorter (< 0) than expected */
    double seen;     /* mean squared deviation of runs, relative to their variance */
    double scale;    /* factor for the variances of runs */
};

static uint32_t line_count;

static double line_var(const struct line *line)
{
    return line->var + line->bias;
}

/* May the line's last operation still run at this time, given the uncertainty of its end? */
static bool line_may_reach(const struct line *line, int64_t time)
{
    return (double)(time - line->free) <= FAR_OFF * ws_root(line_var(line));
}

static void line_begin(struct line *line, int64_t free, double var)
{
    line->free = free;
    line->var = var;
    line->bias = 0;
    line->guessed = false;
    line->number = ++line_count;
}

/* Counts a launch of the kernel in this line. Returns the launches before it. */
static uint32_t count_launch(struct duration *duration, uint32_t line)
{
    if (duration->line != line)
        duration->launches = 0;
    duration->line = line;
    return duration->launches++;
}

/* The later of two uncertain times, both normal: its mean and variance, by C. E. Clark, "The greatest of a finite set
 * of random variables", Operations Research 9 (1961). The tables hold the normal distribution and its density. */
static struct instant later_of(struct instant a, struct instant b)
{
    enum { STEPS = 16, A_UNIT = 4 };
    static const double below[] = { .5,    .5987, .6915, .7734, .8413, .8944, .9332, .9599, .9772,
                                    .9878, .9938, .9970, .9987, .9994, .9998, .9999, 1,     1 };
    static const double density[] = { .3989, .3867, .3521, .3011, .2420, .1826, .1295, .0863, .0540,
                                      .0317, .0175, .0091, .0044, .0020, .0009, .0004, .0001, 0 };
    if (a.time < b.time)
        return later_of(b, a);
    double apart = ws_root(a.var + b.var), ahead = (double)(a.time - b.time), at = ahead / apart * A_UNIT;
    if (!(at < STEPS))
        return a;
    unsigned step = (unsigned)at;
    double part = at - step, is_a = below[step] + part * (below[step + 1] - below[step]);
    double lift = apart * (density[step] + part * (density[step + 1] - density[step]));
    double mean = ahead * is_a + lift; /* after b.time */
    double square = (ws_square(ahead) + a.var) * is_a + b.var * (1 - is_a) + ahead * lift;
    return (struct instant){ b.time + (int64_t)mean, ws_max(square - ws_square(mean), 0.0) };
}

/* Computes the next operation's begin and end, and moves the line to its end. */
static void advance(const struct shim_context *context, struct pending *pending, struct line *line)
{
    struct duration *duration = pending->duration = duration_of(pending->op.shape);
    struct instant came = arrives(context, pending->op.host_end);
    pending->queued = line->free >= came.time;
    if (!pending->queued) {
        struct instant free = { line->free, line_var(line) };
        bool may_wait = !line->guessed && line_may_reach(line, came.time);
        struct instant begin = may_wait ? later_of(came, free) : came;
        line_begin(line, begin.time, begin.var);
    } else if ((double)(line->free - came.time) <
               ws_root(came.var)) /* either the stream or the launch may have delayed the operation */
        line->var = ws_max(line->var, came.var);
    pending->op.begin = line->free + (int64_t)dispatch_ns(context);
    pending->begin_var = (float)line_var(line);
    pending->op.end = pending->op.begin + (int64_t)duration_expected(duration);
    line->free = pending->op.end;
    line->guessed |= !duration->samples;
    line->var += (double)duration->spread;
    line->bias += duration_unsure(duration) * (2 * count_launch(duration, line->number) + 1);
    pending->end_var = (float)line_var(line);
}

/* --- back: what an event says ------------------------------------------------------------------- */

/* A run: operations that ran one after the other without a pause, up to `last`. */
struct run {
    struct pending *first, *last;
    unsigned count;
};

static struct run run_until(struct pending *first, struct pending *last)
{
    struct run run = { first, last, 0 };
    for (struct pending *at = first;; at = at->next) {
        if (!at->queued) {
            run.first = at;
            run.count = 0;
        }
        run.count++;
        if (at == last)
            return run;
    }
}

/* Are durations to be learned from the run? A single run that is far from its expected length was delayed by
 * something. Several such runs in succession mean that durations have changed. */
static bool is_usual(struct line *line, double off, double all)
{
    if (ws_square(off) <= ws_square(FAR_OFF) * all) {
        line->apart = 0;
        return true;
    }
    bool same_side = (off > 0) == (line->apart > 0);
    line->apart = (same_side ? line->apart : 0) + (off > 0 ? 1 : -1);
    return line->apart >= APART_MOST || line->apart <= -APART_MOST;
}

/* Corrects the durations of a run's kernels: the run was longer than expected by `off` ns, with the variance `all`.
 * Each kernel's mean takes the share of `off` that a Kalman filter would give it. `foreseen`: it was certain before
 * that the end of the run would be measured. If not, long runs are measured more often than short ones. Then kernels
 * whose launches differ much are not corrected. The run's launches are counted (count_run). */
static void learn_from(struct run run, double off, double all, bool foreseen, struct line *line)
{
    struct pending *behind = run.last->next, *at;
    bool known = true;
    for (at = run.first; at != behind; at = at->next)
        known &= at->duration->samples > 0; /* a kernel that was never sampled may be the cause */
    bool usual = is_usual(line, off, all);
    if (line->apart && !foreseen) /* another operation before the run may have taken long */
        usual = false;
    for (at = run.first; at != behind && known && usual; at = at->next) {
        struct duration *duration = at->duration;
        double share = duration->launches * (double)duration->var / all;
        if (!duration->launches) /* this kernel is done */
            continue;
        if (line->apart)
            duration_changed(duration, off / run.count);
        if (foreseen || duration_is_steady(duration)) {
            duration->mean = (float)ws_max((double)duration->mean + share * off, 0.0);
            duration->var *= (float)(1 - duration->launches * share);
        }
        duration->launches = 0;
    }
}

/* The variances may be too large or too small for this program. Scales them by the real deviations of runs. */
static void learn_scale(struct line *line, double seen)
{
    line->seen += (ws_min(seen, SCALE_MOST) - line->seen) / RUNS_MEANT;
    line->scale = ws_clamp(SCALE_MARGIN * line->seen, SCALE_LEAST, SCALE_MOST);
}

/* Moves each operation of the run by its share of `off`. Returns false and moves nothing if an operation would get a
 * negative length. */
static bool move_by_share(struct run run, double off)
{
    struct pending *behind = run.last->next, *at;
    for (at = run.first; at != behind; at = at->next)
        if ((double)(at->op.end - at->op.begin) + ((double)at->end_share - (double)at->begin_share) * off < 0)
            return false;
    for (at = run.first; at != behind; at = at->next) {
        at->op.begin += (int64_t)((double)at->begin_share * off);
        at->op.end += (int64_t)((double)at->end_share * off);
    }
    return true;
}

/* Shortens all operations of the run by one factor, so that the run ends at `end`. */
static void press(struct run run, int64_t end)
{
    struct pending *behind = run.last->next, *at;
    int64_t from = run.first->op.begin, to = ws_min(from, end);
    double ratio = from < end ? (double)(end - from) / (double)(run.last->op.end - from) : 0;
    for (at = run.first; at != behind; at = at->next) {
        at->op.begin = to + (int64_t)(ratio * (double)(at->op.begin - from));
        at->op.end = to + (int64_t)(ratio * (double)(at->op.end - from));
    }
}

/* The variances of a run's times at one of its operations, and of the run's end. */
struct walk {
    double begun;  /* variance of the run's begin */
    double random; /* sum of the spreads up to the operation */
    double bias;   /* variance from the kernels' means, up to the operation */
    double common; /* covariance of the times here and at the run's end, from the kernels' means */
    double end;    /* variance of the run's end */
};

/* Counts the run's launches by kernel, and returns the walk at the run's begin. */
static struct walk count_run(struct run run)
{
    struct walk walk = { .begun = (double)run.first->begin_var };
    uint32_t number = ++line_count;
    struct pending *behind = run.last->next;
    walk.end = walk.begun;
    for (struct pending *at = run.first; at != behind; at = at->next) {
        struct duration *duration = at->duration;
        walk.end += (double)duration->spread + duration_unsure(duration) * (2 * count_launch(duration, number) + 1);
        duration->walked = 0;
    }
    walk.end = ws_max(walk.end, 1.0);
    return walk;
}

/* The share of the run's correction that a time gets here: its covariance with the run's end. */
static float walk_share(const struct walk *walk)
{
    return (float)((walk->begun + walk->random + walk->common) / walk->end);
}

/* The variance of a time here after the run's end was measured, `off` ns from the computed end. Durations may have
 * changed within the run. Then the correction does not grow evenly along the run. */
static float walk_var(const struct walk *walk, double share, double off, double scale, double end_var)
{
    double before = walk->begun + walk->random + walk->bias;
    double uneven = ws_square(off * share * (1 - share));
    return (float)(scale * ws_max(before - ws_square(share) * walk->end, 0.0) + uneven + ws_square(share) * end_var);
}

/* Sets the shares and variances of the run's operations. */
static void walk_run(struct run run, struct walk walk, double off, double scale, double end_var)
{
    struct pending *behind = run.last->next;
    for (struct pending *at = run.first; at != behind; at = at->next) {
        struct duration *duration = at->duration;
        double unsure = duration_unsure(duration);
        at->begin_share = walk_share(&walk);
        at->begin_var = walk_var(&walk, (double)at->begin_share, off, scale, end_var);
        walk.random += (double)duration->spread;
        walk.bias += unsure * (2 * duration->walked++ + 1);
        walk.common += unsure * duration->launches;
        at->end_share = walk_share(&walk);
        at->end_var = walk_var(&walk, (double)at->end_share, off, scale, end_var);
    }
}

/* Corrects the run's operations so that the run ends at `end`. Each time moves by what the run's end says of it: this
 * is a Kalman smoother. Afterwards the times are most certain at both ends of the run. */
static void bridge(struct run run, struct walk walk, int64_t end, double end_var, struct line *line)
{
    double off = (double)(end - run.last->op.end);
    double scale = ws_max(ws_square(off) / (walk.end + end_var), line->scale);
    walk_run(run, walk, off, scale, end_var);
    if (!move_by_share(run, off))
        press(run, end);
    line_begin(line, end, end_var);
}

/* The variance of the time between the end of `last` and the event behind it. If several threads launch into the
 * stream at the same time, the operations are in the order in which their calls returned. That order may be wrong,
 * so the event may be a few operations off. */
static double behind_var(const struct shim_context *context, const struct pending *last, double event_var)
{
    if (!(last->op.flags & WS_OP_CONTENDED))
        return event_var;
    double other = duration_expected(last->duration) + dispatch_ns(context);
    return event_var + ws_square(other);
}

/* What an event says of the operation before it. */
enum told {
    TOLD_NOTHING, /* the operation ended at some time before the event */
    TOLD_END,     /* the operation ended when the event completed */
    TOLD_SURELY,  /* the same, and by the computed times this was certain before */
};

static enum told event_says(const struct pool_event *event, const struct pending *last, struct instant arrived)
{
    if (!event_tells(event, arrived))
        return TOLD_NOTHING;
    double sure = FAR_OFF * ws_root((double)last->end_var + arrived.var);
    return (double)(last->op.end - arrived.time) > sure + LATE_BY ? TOLD_SURELY : TOLD_END;
}

/* Corrects the operations from `first` to `last` by the event after `last`. `event_var`: variance of the time between
 * the end of `last` and the event. */
static void anchor(struct pending *first, struct pending *last, const struct pool_event *event, double event_var,
                   enum told told, struct line *line)
{
    struct run run = run_until(first, last);
    double off = (double)(event->time - last->op.end);
    if (told == TOLD_NOTHING && off >= 0)
        return;
    struct walk walk = count_run(run);
    if (told != TOLD_NOTHING) {
        bridge(run, walk, event->time, event_var, line);
        if (run.count > 1) {
            learn_scale(line, ws_square(off) / (walk.end + EVENT));
            learn_from(run, off, walk.end + EVENT, told == TOLD_SURELY, line);
        }
    } else { /* the computed end is after the event: moves it to a likely time before the event */
        double before = walk.end / (ws_root(walk.end) - off);
        bridge(run, walk, event->time - (int64_t)before, event_var + ws_square(before), line);
    }
}

/* --- measured operations ------------------------------------------------------------------------ */

/* Sets the times of a launch behind a gate. Both events were in the queue together, so their difference is the
 * kernel's time plus one dispatch time (dispatch.h). */
static void settle_gated(struct shim_context *context, struct pending *pending, const struct pool_event *begin,
                         const struct pool_event *end, struct line *line)
{
    double took = (double)(end->time - begin->time) - dispatch_ns(context);
    context->dispatch.wanted = true;
    pending->duration = duration_of(pending->op.shape);
    pending->duration->gated = true;
    duration_sample(pending->duration, took,
                    2 * EVENT + (context->dispatch.count ? context->dispatch.var : DISPATCH_VARIANCE));
    pending->op.begin = ws_min(begin->time + (int64_t)dispatch_ns(context), end->time);
    pending->op.end = end->time;
    pending->begin_var = pending->end_var = (float)EVENT;
    pending->op.flags |= WS_TIME_MEASURED | WS_TIME_MEASURED << 2;
    line_begin(line, end->time, EVENT);
}

/* Learns from an operation between two events. If it was not certain before that its end would be measured, long
 * launches are measured more often than short ones. Then only steady kernels are learned from, and kernels that have
 * no better samples. */
static void learn_one(const struct pending *pending, const struct pool_event *end, bool certain)
{
    struct duration *duration = pending->duration;
    if (certain || !duration->gated || duration_is_steady(duration))
        duration_sample(duration, (double)(end->time - pending->op.begin), EVENT + (double)pending->begin_var);
}

/* Sets the times of the last operation, which has an end event of its own and perhaps a begin event. Returns what the
 * end event says. */
static enum told settle_last(struct shim_context *context, struct pending *pending, const struct pool_event *begin,
                             const struct pool_event *end, struct line *line)
{
    if (pending->detail & WS_RING_OP_GATED && begin) {
        settle_gated(context, pending, begin, end, line);
        return TOLD_SURELY;
    }
    if (begin && begin->time > line->free)
        line_begin(line, begin->time, EVENT);
    advance(context, pending, line);
    enum told told = TOLD_NOTHING;
    if (pending->late != UINT32_MAX)
        told = event_says(end, pending, arrives(context, pending->op.host_end + pending->late));
    if (begin && told != TOLD_NOTHING && !(pending->op.flags & WS_OP_CONTENDED))
        learn_one(pending, end, told == TOLD_SURELY);
    else
        duration_at_most(pending->duration, (double)(end->time - pending->op.begin));
    return told;
}

/* --- a window ----------------------------------------------------------------------------------- */

static void state_times(struct pending *first, struct pending *last)
{
    for (struct pending *at = first;; at = at->next) {
        double begin_error = STATED * ws_root((double)at->begin_var),
               end_error = STATED * ws_root((double)at->end_var);
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

/* Sets the times of `last`, which has the end event, and corrects the operations before it. `last` is a kernel, or an
 * operation that is timed by its events alone. */
static void settle(struct shim_stream *stream, struct pending *first, struct pending *before, struct pending *last,
                   uint32_t end_event, struct line *line)
{
    struct shim_context *context = stream->context;
    const struct pool_event *end = event_read(context, end_event), *begin = event_read(context, last->begin_event);
    bool gated = last->detail & WS_RING_OP_GATED && begin;
    int64_t put_in = gated ? last->op.host_end + last->late + OPENING_NS : last->op.host_begin;
    if (begin && before) {
        /* If the stream waited for something else, the previous operation may have ended long before the begin event
         * completed. A gate is such a wait, unless the stream was probably busy until the gate was open. */
        struct instant came = arrives(context, put_in);
        enum told told = TOLD_NOTHING;
        if (!(last->detail & WS_RING_OP_WAITED) && (!gated || line_may_reach(line, came.time)))
            told = event_says(begin, before, came);
        anchor(first, before, begin, behind_var(context, before, BEGIN_EVENT), told, line);
    }
    if (!is_computed(last)) {
        times_resolve(stream, last, end_event);
        line_begin(line, last->op.end, ws_square((double)last->op.end_error / STATED));
        return;
    }
    enum told told = settle_last(context, last, begin, end, line);
    if (gated)
        return;
    anchor(begin ? last : first, last, end, behind_var(context, last, EVENT), told, line);
    last->op.flags |= told != TOLD_NOTHING ? WS_TIME_MEASURED << 2 : 0;
}

void reconstruct(struct shim_stream *stream, struct pending *first, struct pending *last, uint32_t end_event)
{
    const struct shim_context *context = stream->context;
    struct line line = { .free = stream->line_known ? stream->line_free : INT64_MIN / 2,
                         .var = (double)stream->line_var,
                         .number = ++line_count,
                         .apart = stream->line_apart,
                         .seen = stream->line_known ? (double)stream->line_seen : 1,
                         .scale = 1 };
    line.scale = ws_clamp(SCALE_MARGIN * line.seen, SCALE_LEAST, SCALE_MOST);
    struct pending *before = NULL;
    for (struct pending *at = first; at != last; at = at->next) {
        advance(context, at, &line);
        before = at;
    }
    if (event_read(context, end_event))
        settle(stream, first, before, last, end_event, &line);
    else
        advance(context, last, &line);
    if (is_computed(last))
        state_times(first, last);
    else if (before)
        state_times(first, before);
    stream->line_free = line.free;
    stream->line_var = (float)line_var(&line);
    stream->line_apart = (int8_t)ws_clamp(line.apart, -100, 100);
    stream->line_seen = (float)line.seen;
    stream->line_known = true;
}
