#include "analysis/period_choice.h"

#include <math.h>
#include <stdlib.h>

/* A level repeats where this share of the operations is in typical segments (less where these hold the
 * optimizer: then they are not evaluation), this share of the names is steady, and this share of operations is
 * of such names. Of few names in few segments more must be steady, for chance may make some so. */
static const double least_regular = 0.35, least_regular_updates = 0.2, least_steady = 0.5, least_steady_mass = 0.15;
enum { LEAST_SEGMENTS = 2 };

/* An outer level holds a fixed number of the inner's where at least this share of its segments do. */
static const double same_number = 0.7;

/* Names that are in nearly all segments. */
static const uint16_t nearly_all = (uint16_t)(0.8 * UINT16_MAX);

/* Layers hold no repetition themselves: each of their names comes fewer times than this in one; fewer still
 * where the optimizer works between them. Steps have so many names more than a layer has. */
static const double layered = 3, layered_updates = 1.5, own_names = 0.3;

/* Batches of one step, where the optimizer goes by no known name: so many, seen so many times, what follows them
 * being this share of the step at least, and of a batch at most. */
enum { MOST_BATCHES = 8, BATCHES_SEEN = 4 };
static const double own_operations = 0.03, most_extra = 0.5;

/* A segment in which each name comes so often repeats something, and one with so many names is no layer. */
static const double many_times = 4;
enum { MANY_NAMES = 100 };

/* Of two loops one after the other the first is taken, where it holds at least this share of what the other
 * does: programs end with evaluation, not with what they are for. */
static const double as_much = 0.35;

/* Of two that cut as often, the later one must be better by this. */
static const double clearly_better = 0.03;

static bool repeats(const struct ws_period_level *level)
{
    double regular = level->updates ? least_regular_updates : least_regular;
    if (level->operations < 2 && !level->graphs)
        return false; /* one kernel over and over */
    if (level->typical < LEAST_SEGMENTS || level->regular < regular || level->steady_mass < least_steady_mass ||
        !level->names)
        return false;
    return level->steady >= least_steady + 1 / sqrt((double)level->names * (double)(level->typical - 1));
}

/* An iteration of a program, rather than a layer of its model: it updates the model, exchanges something
 * with the host, launches a graph, holds repetitions itself, or has more kernels
 * than layers have. */
static bool is_iteration(const struct ws_period_level *level)
{
    return level->updates || level->fed || level->read || level->graphs || level->multiplicity >= many_times ||
           level->names >= MANY_NAMES;
}

static int most_cuts_first(const void *a, const void *b)
{
    const struct ws_period_level *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->gram > y->gram) - (x->gram < y->gram);
}

/* How the segments of an inner level lie in those of an outer one. */
struct nesting {
    unsigned inside; /* most often */
    double share;    /* of the outer segments that hold that many */
};

enum { MOST_INSIDE = 4096 };

static struct nesting nest(const struct ws_period_level *inner, const struct ws_period_level *outer)
{
    uint32_t numbers[MOST_INSIDE + 1] = { 0 };
    size_t at = 0, segments = 0;
    struct nesting nesting = { 0 };
    uint32_t end = ws_level_place(inner, ws_level_cuts(inner) - 1);
    for (size_t i = 0; i + 1 < ws_level_cuts(outer); i++) {
        size_t inside = 0;
        if (inner->truncated && ws_level_place(outer, i + 1) > end)
            break;
        while (at < ws_level_cuts(inner) && ws_level_place(inner, at) < ws_level_place(outer, i))
            at++;
        while (at < ws_level_cuts(inner) && ws_level_place(inner, at) < ws_level_place(outer, i + 1)) {
            at++;
            inside++;
        }
        numbers[inside < MOST_INSIDE ? inside : MOST_INSIDE]++;
        segments++;
    }
    for (unsigned i = 0; i <= MOST_INSIDE; i++)
        if (numbers[i] > numbers[nesting.inside])
            nesting.inside = i;
    nesting.share = segments ? (double)numbers[nesting.inside] / (double)segments : 0;
    return nesting;
}

/* Kernels that each outer segment has, and few inner ones. */
struct novelty {
    unsigned names;
    double share; /* of the operations of an outer segment */
};

static struct novelty novel(const struct ws_period_text *text, const struct ws_period_level *inner,
                            const struct ws_period_level *outer, unsigned inside)
{
    struct novelty novelty = { 0 };
    double rare = fmin(0.75, 1.5 / inside) * UINT16_MAX;
    for (size_t name = 0; name < text->source->names; name++) {
        uint8_t hint = text->source->hints[name];
        if (outer->presence[name] < nearly_all || inner->presence[name] > rare ||
            (hint != WS_HINT_NONE && hint != WS_HINT_GRAPH))
            continue;
        novelty.names++;
        novelty.share += outer->mass[name] / outer->operations;
    }
    return novelty;
}

static bool begins_before(const struct ws_period_level *a, const struct ws_period_level *b)
{
    return ws_level_place(a, 0) < ws_level_place(b, 0);
}

/* How sure it is that an inner segment has the names that most of them have. */
static double sameness(const struct ws_period_text *text, const struct ws_period_level *inner)
{
    double sum = 0, all = 0;
    for (size_t name = 0; name < text->source->names; name++) {
        if (inner->presence[name] < UINT16_MAX / 2)
            continue;
        sum += (double)inner->mass[name] * inner->presence[name] / UINT16_MAX;
        all += inner->mass[name];
    }
    return all > 0 ? sum / all : 0;
}

/* Are the inner segments micro-batches, alike but for an update after so many of them? */
static bool accumulates(const struct ws_period_text *text, const struct ws_period_level *inner,
                        const struct ws_period_level *outer, struct nesting nesting)
{
    struct novelty novelty = novel(text, inner, outer, nesting.inside);
    double extra = outer->operations - nesting.inside * inner->operations;
    return nesting.inside <= MOST_BATCHES && outer->typical >= BATCHES_SEEN && novelty.names &&
           novelty.share >= own_operations && extra <= most_extra * inner->operations &&
           sameness(text, inner) >= 1 - 0.5 / nesting.inside;
}

/* Is the outer one the iteration, and the inner a part of it? */
static bool makes_whole(const struct ws_period_text *text, const struct ws_period_level *inner,
                        const struct ws_period_level *outer)
{
    struct nesting nesting = nest(inner, outer);
    bool layer = inner->multiplicity < (inner->updates ? layered_updates : layered) && !inner->fed && !inner->read;
    bool fixed = nesting.share >= same_number;
    if (outer->updates && !inner->updates)
        return nesting.inside <= 1 || fixed; /* batches of a step, or evaluation beside it */
    if (!nesting.inside && fixed)            /* another loop */
        return begins_before(outer, inner) && outer->regular >= as_much * inner->regular;
    if (nesting.inside <= 1) /* the same loop */
        return outer->regular * outer->steady > inner->regular * inner->steady + clearly_better;
    if (!fixed) /* an epoch, a request */
        return false;
    if (outer->fed && !inner->fed && (layer || nesting.inside <= MOST_BATCHES))
        return true; /* what is done with one batch */
    if (layer && outer->read)
        return true;
    if (layer && novel(text, inner, outer, nesting.inside).names >= own_names * inner->names)
        return true;
    return !inner->updates && accumulates(text, inner, outer, nesting);
}

const struct ws_period_level *ws_period_choose(const struct ws_period_text *text, struct ws_period_level *levels,
                                               size_t count, const char **why_none)
{
    const struct ws_period_level *best = NULL;
    bool repeating = false;
    qsort(levels, count, sizeof(*levels), most_cuts_first);
    for (size_t i = 0; i < count; i++) {
        if (!repeats(&levels[i]))
            continue;
        repeating = true;
        if (is_iteration(&levels[i]) && (!best || makes_whole(text, best, &levels[i])))
            best = &levels[i];
    }
    if (best)
        *why_none = "What repeats does so too seldom.";
    else
        *why_none = repeating ? "What repeats looks like layers of a model rather than iterations of a program."
                              : "Nothing repeats that holds much of the operations.";
    return best;
}
