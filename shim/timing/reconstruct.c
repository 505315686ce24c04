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
static const double SCALE_MARGIN = 3, SCALE_LEAST = 0.03, SCALE_MOST = 9, RUNS_MEANT = 8;
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

/* The line of a stream (reconstruct.h), up to the last computed operation. */
struct line {
    int64_t free;     /* computed end of the last operation */
    double var, bias; /* uncertainty of `free`: random (a variance), and systematic (a standard deviation) */
    int apart;        /* number of successive runs much longer (> 0) or much shorter (< 0) than expected */
    double seen;      /* mean squared deviation of runs, relative to their variance */
    double scale;     /* factor for the variances of runs */
};

static double line_var(const struct line *line)
{
    return line->var + ws_square(line->bias);
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
}

/* Computes the next operation's begin and end, and moves the line to its end. */
static void advance(const struct shim_context *context, struct pending *pending, struct line *line)
{
    const struct duration *duration = duration_of(pending->op.shape);
    struct instant came = arrives(context, pending->op.host_end);
    double unsure = ws_root(duration_unsure(duration));
    pending->queued = line->free >= came.time;
    if (!pending->queued)
        line_begin(line, came.time, came.var);
    else if ((double)(line->free - came.time) <
             ws_root(came.var)) /* either the stream or the launch may have delayed the operation */
        line->var = ws_max(line->var, came.var);
    pending->op.begin = line->free + (int64_t)dispatch_ns(context);
    pending->begin_var = (float)line_var(line);
    pending->op.end = pending->op.begin + (int64_t)duration_expected(duration);
    line->free = pending->op.end;
    line->var += (double)duration->spread;
    line->bias += unsure;
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

/* Corrects the durations of a run's kernels: the run was longer than expected by `off` ns. Each kernel's mean takes
 * the share of `off` that a Kalman filter would give it. */
static void learn_from(struct run run, double off, struct line *line)
{
    double all = (double)run.first->begin_var + EVENT;
    struct pending *behind = run.last->next, *at;
    bool known = true;
    for (at = run.first; at != behind; at = at->next) {
        struct duration *duration = duration_of(at->op.shape);
        duration->in_run++;
        known &= duration->samples > 0; /* a kernel that was never sampled may be the cause */
        all += (double)duration->spread;
    }
    for (at = run.first; at != behind; at = at->next) { /* n launches add n² times the variance of their mean */
        struct duration *duration = duration_of(at->op.shape);
        all += duration->in_run * (double)duration->var;
    }
    bool usual = is_usual(line, off, all);
    for (at = run.first; at != behind; at = at->next) {
        struct duration *duration = duration_of(at->op.shape);
        double share = duration->in_run * (double)duration->var / all;
        if (duration->in_run && known && usual) {
            duration->mean = (float)ws_max((double)duration->mean + share * off, 0.0);
            duration->var *= (float)(1 - duration->in_run * share);
        }
        duration->in_run = 0;
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
static bool move_by_share(struct run run, double off, double whole)
{
    struct pending *behind = run.last->next, *at;
    for (at = run.first; at != behind; at = at->next) {
        double longer = ((double)at->end_var - (double)at->begin_var) / whole * off;
        if ((double)(at->op.end - at->op.begin) + longer < 0)
            return false;
    }
    for (at = run.first; at != behind; at = at->next) {
        at->op.begin += (int64_t)((double)at->begin_var / whole * off);
        at->op.end += (int64_t)((double)at->end_var / whole * off);
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

/* Corrects the run's operations so that the run ends at `end`. The correction grows along the run, as the uncertainty
 * does. Afterwards the times are most certain at both ends of the run and least certain in its middle. */
static void bridge(struct run run, int64_t end, double end_var, struct line *line)
{
    struct pending *behind = run.last->next, *at;
    double off = (double)(end - run.last->op.end);
    double scale = ws_max(ws_square(off) / ((double)run.last->end_var + end_var), line->scale);
    double whole = ws_max((double)run.last->end_var, 1.0);
    if (!move_by_share(run, off, whole))
        press(run, end);
    for (at = run.first; at != behind; at = at->next) {
        double begin_share = (double)at->begin_var / whole, end_share = (double)at->end_var / whole;
        at->begin_var = (float)(scale * (double)at->begin_var * (1 - begin_share) + ws_square(begin_share) * end_var);
        at->end_var = (float)(scale * (double)at->end_var * (1 - end_share) + ws_square(end_share) * end_var);
    }
    line_begin(line, end, end_var);
}

/* Corrects the operations from `first` to `last` by the event after `last`. `tells`: `last` ended when the event
 * completed; otherwise it ended at some time before. `event_var`: variance of the time between the end of `last` and
 * the event. */
static void anchor(struct pending *first, struct pending *last, const struct pool_event *event, double event_var,
                   bool tells, struct line *line)
{
    double off = (double)(event->time - last->op.end);
    struct run run = run_until(first, last);
    if (tells && run.count > 1) {
        learn_from(run, off, line);
        learn_scale(line, ws_square(off) / ((double)last->end_var + EVENT));
    }
    if (tells) {
        bridge(run, event->time, event_var, line);
    } else if (off < 0) { /* the computed end is after the event: moves it to a likely time before the event */
        double var = (double)last->end_var, before = var / (ws_root(var) - off);
        bridge(run, event->time - (int64_t)before, event_var + ws_square(before), line);
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
    duration_sample(duration_of(pending->op.shape), took,
                    2 * EVENT + (context->dispatch.count ? context->dispatch.var : DISPATCH_VARIANCE));
    pending->op.begin = ws_min(begin->time + (int64_t)dispatch_ns(context), end->time);
    pending->op.end = end->time;
    pending->begin_var = pending->end_var = (float)EVENT;
    pending->op.flags |= WS_TIME_MEASURED | WS_TIME_MEASURED << 2;
    line_begin(line, end->time, EVENT);
}

/* Sets the times of the last operation, which has an end event of its own and perhaps a begin event. Returns whether
 * its end is measured. */
static bool settle_last(struct shim_context *context, struct pending *pending, const struct pool_event *begin,
                        const struct pool_event *end, struct line *line)
{
    struct instant end_came = arrives(context, pending->op.host_end + pending->late);
    bool tells = pending->late != UINT32_MAX && event_tells(end, end_came);
    if (pending->detail & WS_RING_OP_GATED && begin) {
        settle_gated(context, pending, begin, end, line);
        return true;
    }
    if (begin && begin->time > line->free)
        line_begin(line, begin->time, EVENT);
    advance(context, pending, line);
    if (begin && tells && !(pending->op.flags & WS_OP_CONTENDED)) {
        struct duration *duration = duration_of(pending->op.shape);
        duration_sample(duration, (double)(end->time - pending->op.begin), EVENT + (double)pending->begin_var);
    } else {
        duration_at_most(duration_of(pending->op.shape), (double)(end->time - pending->op.begin));
    }
    return tells;
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
        bool tells = !(last->detail & WS_RING_OP_WAITED) && event_tells(begin, came) &&
                     (!gated || line_may_reach(line, came.time));
        anchor(first, before, begin, BEGIN_EVENT, tells, line);
    }
    if (!is_computed(last)) {
        times_resolve(stream, last, end_event);
        line_begin(line, last->op.end, ws_square((double)last->op.end_error / STATED));
        return;
    }
    bool tells = settle_last(context, last, begin, end, line);
    if (gated)
        return;
    anchor(begin ? last : first, last, end, EVENT, tells, line);
    last->op.flags |= tells ? WS_TIME_MEASURED << 2 : 0;
}

void reconstruct(struct shim_stream *stream, struct pending *first, struct pending *last, uint32_t end_event)
{
    const struct shim_context *context = stream->context;
    struct line line = { .free = stream->line_known ? stream->line_free : INT64_MIN / 2,
                         .var = (double)stream->line_var,
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
