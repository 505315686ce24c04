#include "analysis/steps/period_choice.h"

#include <math.h>
#include <stdlib.h>

/* A level divides the operations into segments (period_level.h). It counts as a repetition if it reaches the
 * following thresholds. least_regular: share of all operations that are in typical segments (half to twice as long as
 * the median segment). least_steady: share of names that are steady (occur equally often in most typical segments).
 * least_steady_mass: share of operations with steady names. Segments with an optimizer cannot be evaluation. So if
 * the segments have an optimizer, least_regular_updates replaces least_regular. If there are few names in few
 * segments, the share of steady names must be larger, because some names are steady by chance. */
static const double least_regular = 0.35, least_regular_updates = 0.2, least_steady = 0.5, least_steady_mass = 0.15;
enum { LEAST_SEGMENTS = 2 };

/* When two levels are compared, the inner level is the one with more segments. The outer segments count as holding a
 * fixed number of inner segments if at least this share of the outer segments holds the same number of inner
 * segments. */
static const double same_number = 0.7;

/* A name is in nearly all segments if its `presence` (share of segments that have it, in units of 1/65535) is at
 * least this. */
static const uint16_t nearly_all = (uint16_t)(0.8 * UINT16_MAX);

/* The segments of an inner level may be the layers of a model if they hold no repetition: if a name occurs, on
 * average, fewer than `layered` times in a segment. If the segments hold the optimizer, the limit is
 * `layered_updates`. If the inner segments are layers, the outer level is the step if it has enough names of its own:
 * at least `own_names` times as many as a layer has. */
static const double layered = 3, layered_updates = 1.5, own_names = 0.3;

/* A program may divide its batch into micro-batches (the inner segments), and update the model after the last one.
 * If the kernels of the optimizer are not recognized, the outer segments count as the steps of such a program only
 * within these limits. An outer segment must hold at most MOST_BATCHES micro-batches. At least BATCHES_SEEN outer
 * segments of typical length must have been examined. Kernels that occur in few micro-batches must make up at least
 * the share own_operations of an outer segment. The operations outside the micro-batches must be at most most_extra
 * times as many as those of one micro-batch. */
enum { MOST_BATCHES = 8, BATCHES_SEEN = 4 };
static const double own_operations = 0.03, most_extra = 0.5;

/* A segment holds a repetition if a name occurs in it many_times or more on average. A segment with at least
 * MANY_NAMES names is not a layer. */
static const double many_times = 4;
enum { MANY_NAMES = 100 };

/* If two loops run one after the other, their shares of the operations are compared. The iterations of the first loop
 * are the steps if the first loop has at least `as_much` times the share of the second loop. The main work mostly
 * comes first, because programs end with evaluation. */
static const double as_much = 0.35;

/* If two levels have about equally many segments, both levels divide the same loop of the program. The level examined
 * later replaces the earlier one only if its quality (regular × steady; period_level.h) is larger by more than
 * this. */
static const double clearly_better = 0.03;

static bool repeats(const struct ws_period_level *level)
{
    double regular = level->updates ? least_regular_updates : least_regular;
    if (level->operations < 2 && !level->graphs)
        /* not a repetition of steps: most segments are a single operation, because the program runs one kernel again
         * and again */
        return false;
    if (level->typical < LEAST_SEGMENTS || level->regular < regular || level->steady_mass < least_steady_mass ||
        !level->names)
        return false;
    return level->steady >= least_steady + 1 / sqrt((double)level->names * (double)(level->typical - 1));
}

/* Are the segments of the level iterations of the program, and not layers of its model? They count as iterations if
 * they update the model, copy to or from the host, launch a graph, hold repetitions, or have more kernels than a
 * layer. */
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

/* How many segments of an inner level lie in one segment of an outer level. */
struct nesting {
    unsigned inside; /* the most frequent number of inner segments per outer segment */
    double share;    /* share of outer segments that hold `inside` inner segments */
};

enum { MOST_INSIDE = 4096 };

static struct nesting period_choice_nest(const struct ws_period_level *inner, const struct ws_period_level *outer)
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

/* The kernel names that occur in nearly all outer segments but in few inner segments. `names` is their number. */
struct novelty {
    unsigned names;
    double share; /* share of an outer segment's operations that have these names */
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

static bool ends_before(const struct ws_period_level *a, const struct ws_period_level *b)
{
    return ws_level_place(a, ws_level_cuts(a) - 1) < ws_level_place(b, 0);
}

/* Returns how similar the inner segments are, 0 to 1. For each name that at least half of the inner segments have,
 * takes the share of inner segments with this name. Returns the mean of these shares, weighted by the operations of
 * each name. */
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

/* Are the inner segments equal micro-batches, and does the program update the model after a fixed number of them? */
static bool accumulates(const struct ws_period_text *text, const struct ws_period_level *inner,
                        const struct ws_period_level *outer, struct nesting nesting)
{
    struct novelty novelty = novel(text, inner, outer, nesting.inside);
    double extra = outer->operations - nesting.inside * inner->operations;
    return nesting.inside <= MOST_BATCHES && outer->typical >= BATCHES_SEEN && novelty.names &&
           novelty.share >= own_operations && extra <= most_extra * inner->operations &&
           sameness(text, inner) >= 1 - 0.5 / nesting.inside;
}

/* Are the outer segments whole iterations, and the inner segments only parts of iterations? */
static bool makes_whole(const struct ws_period_text *text, const struct ws_period_level *inner,
                        const struct ws_period_level *outer)
{
    struct nesting nesting = period_choice_nest(inner, outer);
    bool layer = inner->multiplicity < (inner->updates ? layered_updates : layered) && !inner->fed && !inner->read;
    bool fixed = nesting.share >= same_number;
    if (outer->updates && !inner->updates) {
        if (inner->graphs && ends_before(outer, inner) && outer->regular < as_much * inner->regular)
            /* the graphs in `inner` may update the model too: `outer` is then the warm-up before the program captured
             * these graphs */
            return false;
        return nesting.inside <= 1 ||
               fixed; /* segments of `inner` are micro-batches, or evaluation outside the steps */
    }
    if (!nesting.inside && fixed) /* `outer` is another loop, which runs before or after the loop of `inner` */
        return begins_before(outer, inner) && outer->regular >= as_much * inner->regular;
    if (nesting.inside <= 1) /* both levels come from the same loop of the program */
        return outer->regular * outer->steady > inner->regular * inner->steady + clearly_better;
    if (!fixed) /* the number of inner segments varies: the outer level is an epoch or a request */
        return false;
    if (outer->fed && !inner->fed && (layer || nesting.inside <= MOST_BATCHES))
        return true; /* an outer segment is all work on one batch that was copied from the host */
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
        *why_none = "The operations repeat too few times.";
    else
        *why_none = repeating ? "The repetition looks like layers of a model rather than iterations of a program."
                              : "No repetition covers enough of the operations.";
    return best;
}
