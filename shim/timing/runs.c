#include "shim/timing/runs.h"

#include "base/minmax.h"
#include "base/root.h"

/* A deviation (per launch) may come from a further change of a kernel's duration, if the deviation's square is at
 * most this many times the square of the kernel's largest recent change. */
static const double MOST_AGAIN = 4;
static const double SCALE_MARGIN = 3, SCALE_LEAST = 1, SCALE_MOST = 9, RUNS_MEANT = 8;
static const double TAIL_STEP = 0.4, TAIL_MOST = 4;
/* A run (runs.h) is a sequence of operations without a pause. After so many successive runs that were all much
 * longer, or all much shorter, than expected, the durations of kernels count as changed. */
enum { APART_MOST = 3 };

/* --- the line ----------------------------------------------------------------------------------- */

static uint32_t line_count;

double event_noise = EVENT;

static double scale_of(double seen)
{
    return ws_clamp(SCALE_MARGIN * seen, SCALE_LEAST, SCALE_MOST);
}

struct line line_of(int apart, double seen, double tail)
{
    return (struct line){ .free = INT64_MIN / 2,
                          .number = ++line_count,
                          .apart = apart,
                          .seen = seen,
                          .scale = scale_of(seen),
                          .tail = tail };
}

double line_var(const struct line *line)
{
    return line->var + line->bias;
}

bool line_may_reach(const struct line *line, int64_t time)
{
    return (double)(time - line->free) <= FAR_OFF * ws_root(line_var(line));
}

bool line_surely_reaches(const struct line *line, int64_t time)
{
    return (double)(line->free - time) > FAR_OFF * ws_root(line_var(line));
}

void line_begin(struct line *line, int64_t free, double var)
{
    line->free = free;
    line->var = var;
    line->bias = line->early = 0;
    line->guessed = line->behind_event = false;
    line->number = ++line_count;
}

void line_learn_tail(struct line *line, double off, double var)
{
    double allowed = STATED * line->tail * ws_root(var) + SYSTEMATIC;
    bool outside = off > allowed || off < -allowed;
    line->tail = ws_clamp(line->tail + (outside ? TAIL_STEP : -TAIL_STEP / 332), 1.0, TAIL_MOST);
}

/* Counts a launch of the kernel in the line (a stream's computed times) or run with the number `line`. Returns how
 * many launches of the kernel were counted in this line or run before. */
static uint32_t count_launch(struct duration *duration, uint32_t line)
{
    if (duration->line != line)
        duration->launches = 0;
    duration->line = line;
    return duration->launches++;
}

void line_add(struct line *line, struct duration *duration)
{
    line->free += (int64_t)duration_expected(duration);
    line->guessed |= !duration->samples;
    line->var += (double)duration->spread;
    line->bias += duration_unsure(duration) * (2 * count_launch(duration, line->number) + 1);
}

/* The computed variances may be too small for the traced program. So the shim multiplies them by a factor that
 * depends on how far the measured ends of runs lie from the computed ends. seen: the square of this deviation for one
 * run, relative to the computed variance of its end. */
static void learn_scale(struct line *line, double seen)
{
    line->seen += (ws_min(seen, SCALE_MOST) - line->seen) / RUNS_MEANT;
    line->scale = scale_of(line->seen);
}

/* --- operations ----------------------------------------------------------------------------------- */

bool pending_is_computed(const struct pending *pending)
{
    return pending->detail & WS_RING_OP_COMPUTED;
}

struct duration *pending_duration(const struct pending *pending)
{
    if (pending->kind != WS_OP_KERNEL)
        return duration_of_other(pending->op.shape, pending->op.bytes);
    struct duration *duration = duration_of(pending->op.shape);
    if (pending->op.flags & WS_OP_IN_COLLECTIVE) /* a collective's kernel also waits for other ranks */
        duration->other = true;
    return duration;
}

double pending_expected(const struct pending *pending)
{
    return pending && pending_is_computed(pending) ? duration_expected(pending_duration(pending)) : 0;
}

/* --- runs --------------------------------------------------------------------------------------- */

struct run run_until(struct pending *first, struct pending *last)
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

/* Counts the run's launches of each kernel, and returns the variances at the run's start. */
struct walk run_walk(struct run run)
{
    struct walk walk = { .begun = (double)run.first->begin_var };
    uint32_t number = ++line_count;
    struct pending *behind = run.last->next;
    walk.end = walk.usual = walk.begun;
    for (struct pending *at = run.first; at != behind; at = at->next) {
        struct duration *duration = at->duration;
        uint32_t weight = 2 * count_launch(duration, number) + 1;
        walk.end += (double)duration->spread + duration_unsure(duration) * weight;
        walk.usual += (double)duration->spread + duration_var(duration) * weight;
        walk.changeable |= duration->change > 0;
        duration->walked = 0;
    }
    walk.end = ws_max(walk.end, 1.0);
    return walk;
}

/* --- learning from a run's end -------------------------------------------------------------------- */

bool run_is_far(const struct walk *walk, double off, double end_var)
{
    return ws_square(off) > ws_square(FAR_OFF) * (walk->usual + end_var);
}

/* Are durations to be learned from the run? If a single run is far from its expected length, the cause is probably
 * not its kernels, but some delay. Several such runs in succession mean that the kernels' durations have changed. If
 * the durations of these kernels have changed before (changeable), one such run is enough. */
static bool is_usual(struct line *line, const struct walk *walk, double off, double end_var, bool changeable)
{
    if (!run_is_far(walk, off, end_var)) {
        line->apart = 0;
        return true;
    }
    bool same_side = (off > 0) == (line->apart > 0);
    line->apart = (same_side ? line->apart : 0) + (off > 0 ? 1 : -1);
    return changeable || line->apart >= APART_MOST || line->apart <= -APART_MOST;
}

/* Updates the duration of each kernel of the run, once: each launch took `by` ns longer than expected (0: as long as
 * expected). learned: false if it is not certain that durations have changed. */
static void tell_kernels(struct run run, double by, bool learned)
{
    struct pending *behind = run.last->next;
    for (struct pending *at = run.first; at != behind; at = at->next) {
        struct duration *duration = at->duration;
        if (!duration->launches) /* this kernel was updated at an earlier launch of the run */
            continue;
        if (by == 0)
            duration_as_expected(duration);
        else if (learned)
            duration_changed(duration, by);
        else
            duration_doubt(duration, by);
        duration->launches = 0;
    }
}

/* Adds to each kernel's mean duration its share of `off`, as a Kalman filter would. foreseen: before the measurement,
 * it was certain that the run's end would be measured. If it was not certain, the ends of long runs are measured more
 * often than those of short runs, so only steady kernels are corrected. least: the smallest variance that a mean
 * keeps. */
static void correct_kernels(struct run run, double off, double end_var, bool foreseen, double least)
{
    struct pending *behind = run.last->next;
    double all = run_walk(run).usual + end_var;
    for (struct pending *at = run.first; at != behind; at = at->next) {
        struct duration *duration = at->duration;
        double share = duration->launches * (double)duration->var / all;
        if (duration->launches && (foreseen || duration_is_steady(duration))) {
            duration->mean = (float)ws_max((double)duration->mean + share * off, 0.0);
            duration->var = (float)ws_max((double)duration->var * (1 - duration->launches * share), least);
        }
        duration->launches = 0;
    }
}

void run_learn(struct run run, struct walk walk, double off, double end_var, bool foreseen, struct line *line)
{
    struct pending *behind = run.last->next;
    bool known = true, changeable = true;
    for (struct pending *at = run.first; at != behind; at = at->next) {
        known &= at->duration->samples > 0; /* a kernel that was never measured may have caused the deviation */
        changeable &= ws_square(off / run.count) <= MOST_AGAIN * (double)at->duration->change;
    }
    if (end_var > walk.usual + event_noise) /* the end is known so badly that it tells nothing about durations */
        return;
    learn_scale(line, ws_square(off) / (walk.end + end_var));
    bool usual = is_usual(line, &walk, off, end_var, changeable), far = line->apart;
    if (far && !foreseen) /* the deviation may come from a long operation before the run */
        usual = false;
    if (!known)
        return;
    double by = far ? off / run.count : 0;
    tell_kernels(run, by, usual);
    /* `by` is an average over the run: if durations changed only in the middle of the run, they changed by more than
     * `by`. */
    if (usual)
        correct_kernels(run, off, end_var, foreseen, ws_square(by / 2));
}

/* --- the correction of a run -------------------------------------------------------------------- */

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

/* `walk` has reached the start or the end of an operation of the run. Returns the share of the run's correction by
 * which the time of this start or end moves: the covariance of this time with the run's end, divided by the variance
 * of the run's end. */
static float walk_share(const struct walk *walk)
{
    return (float)((walk->begun + walk->random + walk->common) / walk->end);
}

/* A time in the run was moved by its share of `off`. Returns the part of `off` by which the time may still be wrong.
 * If the run is about as long as expected, `off` may have arisen a little unevenly along the run. If the run is far
 * from its expected length, or if its kernels change their durations, all of `off` may have arisen before this time,
 * or all of `off` after this time. */
static double uneven(double share, bool far)
{
    return far ? ws_max(share, 1 - share) / STATED : share * (1 - share);
}

/* The variance of the time that `walk` has reached, after the run's end was measured `off` ns from its computed
 * end. */
static float walk_var(const struct walk *walk, double share, double off, bool far, double scale, double end_var)
{
    double before = walk->begun + walk->random + walk->bias;
    return (float)(scale * ws_max(before - ws_square(share) * walk->end, 0.0) + ws_square(off * uneven(share, far)) +
                   ws_square(share) * end_var);
}

/* Sets the shares of the correction `off`, and the variances, for the starts and ends of the run's operations. */
static void walk_along(struct run run, struct walk walk, double off, double scale, double end_var)
{
    struct pending *behind = run.last->next;
    bool far = walk.changeable || run_is_far(&walk, off, end_var);
    /* The durations may have changed by more than `off`: the usual deviation of the run's end may hide a part of the
     * change. */
    if (walk.changeable)
        off = (off < 0 ? -off : off) + ws_root(walk.usual);
    for (struct pending *at = run.first; at != behind; at = at->next) {
        struct duration *duration = at->duration;
        double unsure = duration_unsure(duration);
        at->begin_share = walk_share(&walk);
        at->begin_var = walk_var(&walk, (double)at->begin_share, off, far && at != run.first, scale, end_var);
        walk.random += (double)duration->spread;
        walk.bias += unsure * (2 * duration->walked++ + 1);
        walk.common += unsure * duration->launches;
        at->end_share = walk_share(&walk);
        at->end_var = walk_var(&walk, (double)at->end_share, off, far && at != run.last, scale, end_var);
    }
}

void run_bridge(struct run run, struct walk walk, int64_t end, double end_var, struct line *line)
{
    double off = (double)(end - run.last->op.end);
    double scale = ws_max(ws_square(off) / (walk.end + end_var), line->scale);
    walk_along(run, walk, off, scale, end_var);
    if (!move_by_share(run, off))
        press(run, end);
    line_begin(line, end, end_var);
}
