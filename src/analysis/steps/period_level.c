#include "analysis/steps/period_level.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* The figures of a level are computed from segments with about MOST_OPERATIONS operations in sum, but at least from
 * ENOUGH_SEGMENTS segments. */
enum { MOST_OPERATIONS = 1 << 20, ENOUGH_SEGMENTS = 32 };

/* If there are at least MANY_SEGMENTS segments, a name can hardly occur equally often in most of them by chance. So
 * the function `agrees` then allows small differences between the segments. */
enum { MANY_SEGMENTS = 12 };

/* A name is steady if it occurs about equally often in at least this share of the segments. If a name occurs at
 * random, few segments have the same number of occurrences. */
static const double steady_share = 0.6;

/* The shares of segments that count as "nearly all" segments and as "most" segments. */
static const double nearly_all = 0.8, in_most = 0.5;

static void period_level_swap(uint32_t *a, uint32_t *b)
{
    uint32_t saved = *a;
    *a = *b;
    *b = saved;
}

uint32_t ws_period_median(uint32_t *values, size_t count)
{
    if (!count)
        return 0;
    size_t wanted = count / 2, low = 0, high = count - 1;
    while (low < high) {
        uint32_t pivot = values[low + (high - low) / 2];
        size_t left = low, right = high;
        for (;;) {
            while (values[left] < pivot)
                left++;
            while (values[right] > pivot)
                right--;
            if (left >= right)
                break;
            period_level_swap(&values[left++], &values[right--]);
        }
        if (wanted <= right)
            high = right;
        else
            low = right + 1;
    }
    return values[wanted];
}

/* Numbers of occurrences of a name per segment. A majority vote (Boyer and Moore) finds the number of occurrences
 * that more than half of the segments have. A second pass counts the segments with this number. */
struct tally {
    uint32_t segment; /* number (from 1 on) of the latest segment in which the name occurred */
    uint32_t now;     /* number of occurrences of the name in `segment` so far */
    uint32_t segments;
    uint32_t usual; /* number of occurrences per segment that leads the majority vote */
    uint32_t votes;
    uint32_t agree; /* number of segments in which the name occurs `usual` times */
    uint64_t sum;
};

/* Is the number of occurrences in the current segment (`now`) the usual number? If there are many segments, a
 * deviation from the usual number is allowed, because some kernels do not run in each repetition. The standard
 * deviation of random counts is the square root of the usual number. Two fifths of this standard deviation are
 * allowed. */
static bool agrees(const struct tally *tally, bool many)
{
    uint64_t off = tally->now > tally->usual ? tally->now - tally->usual : tally->usual - tally->now;
    return many ? 25 * off * off <= 4 * (uint64_t)tally->usual : !off;
}

static void vote(struct tally *tally, bool many)
{
    if (!tally->now)
        return;
    tally->segments++;
    tally->sum += tally->now;
    if (!tally->votes)
        tally->usual = tally->now;
    tally->votes += agrees(tally, many) ? 1 : -1U;
}

static void period_level_compare(struct tally *tally, bool many)
{
    tally->agree += tally->now && agrees(tally, many);
}

static bool is_typical(const struct ws_period_level *level, size_t segment)
{
    double length = ws_level_place(level, segment + 1) - ws_level_place(level, segment);
    return 2 * length >= level->operations && length <= 2 * level->operations;
}

static int measure_lengths(struct ws_period_level *level)
{
    size_t segments = ws_level_cuts(level) - 1;
    uint32_t *lengths = malloc((segments + 1) * sizeof(*lengths));
    if (!lengths)
        return -ENOMEM;
    for (size_t i = 0; i < segments; i++)
        lengths[i] = ws_level_place(level, i + 1) - ws_level_place(level, i);
    level->operations = ws_period_median(lengths, segments);
    free(lengths);
    return 0;
}

/* Sets level->regular. The operations of a segment include the operations that its CUDA graphs stand for. The number
 * of the latter is assumed to be equal in all segments: the mean over the examined segments. */
static void measure_regular(const struct ws_period_text *text, struct ws_period_level *level)
{
    size_t segments = ws_level_cuts(level) - 1;
    double all = (double)text->count, regular = 0, held = 0;
    for (size_t name = 0; name < text->source->names && text->held_by_all > 0; name++)
        held += level->mass[name] * text->held[name];
    for (size_t i = 0; i < segments; i++)
        if (is_typical(level, i))
            regular += ws_level_place(level, i + 1) - ws_level_place(level, i) + held;
    if (level->truncated)
        all = ws_level_place(level, segments) - ws_level_place(level, 0);
    all *= 1 + text->held_by_all / (double)text->count;
    level->regular = all > 0 ? fmin(regular / all, 1) : 0;
}

/* Chooses the segments to examine: all segments, or enough segments from the middle of the recording. */
static void choose_region(const struct ws_period_level *level, size_t *from, size_t *to)
{
    size_t segments = ws_level_cuts(level) - 1;
    size_t enough = level->operations > 0 ? (size_t)(MOST_OPERATIONS / level->operations) : segments;
    if (enough < ENOUGH_SEGMENTS)
        enough = ENOUGH_SEGMENTS;
    *from = 0;
    *to = segments;
    if (segments > enough) {
        *from = (segments - enough) / 2;
        *to = *from + enough;
    }
}

static size_t count_typical(const struct ws_period_level *level)
{
    size_t from, to, typical = 0;
    choose_region(level, &from, &to);
    for (size_t i = from; i < to; i++)
        typical += is_typical(level, i);
    return typical;
}

/* Counts how often each name occurs in each typical segment. Calls `done` when the count of a name in a segment is
 * complete. */
static void period_level_count_names(const struct ws_period_text *text, const struct ws_period_level *level,
                                     struct tally *tallies, void (*done)(struct tally *, bool))
{
    const struct ws_period_text all = *text;
    size_t from, to;
    uint32_t segments = 0;
    bool many = level->typical >= MANY_SEGMENTS;
    choose_region(level, &from, &to);
    for (size_t i = from; i < to; i++) {
        if (!is_typical(level, i))
            continue;
        segments++;
        for (uint32_t place = ws_level_place(level, i), end = ws_level_place(level, i + 1); place < end; place++) {
            struct tally *tally = &tallies[ws_text_name(&all, place)];
            if (tally->segment != segments) {
                done(tally, many);
                tally->segment = segments;
                tally->now = 0;
            }
            tally->now++;
        }
    }
    for (size_t name = 0; name < all.source->names; name++) {
        done(&tallies[name], many);
        tallies[name].segment = tallies[name].now = 0;
    }
}

/* How often each kind of operation (enum ws_period_hint) occurs in the segments of a level. `times`: mean number of
 * operations of the kind per segment. `usual`: at least one name of this kind occurs in most segments. */
struct doing {
    double times[WS_HINT_COUNT];
    bool usual[WS_HINT_COUNT];
};

static void note_doings(struct ws_period_level *level, const struct doing *doing)
{
    level->updates = doing->usual[WS_HINT_UPDATE];
    level->graphs = doing->usual[WS_HINT_GRAPH];
    /* A program may copy batches in advance: several in one segment, and none in other segments. So `fed` and `read`
     * depend on the mean number of copies per segment. */
    level->fed = doing->times[WS_HINT_FROM_HOST] >= nearly_all;
    level->read = doing->times[WS_HINT_TO_HOST] >= nearly_all;
}

static void judge_names(const struct ws_period_text *text, struct ws_period_level *level, struct tally *tallies)
{
    double segments = (double)level->typical, all = 0, mass = 0, steady_mass = 0;
    struct doing doing = { 0 };
    unsigned usual = 0, steady = 0;
    for (size_t name = 0; name < text->source->names; name++) {
        struct tally *tally = &tallies[name];
        double mean = (double)tally->sum / segments, share = tally->segments / segments;
        all += mean;
        level->presence[name] = (uint16_t)(share * UINT16_MAX);
        level->mass[name] = (float)mean;
        doing.times[text->source->hints[name]] += mean;
        doing.usual[text->source->hints[name]] |= share >= in_most;
        if (share >= nearly_all) {
            level->names++;
            mass += mean;
        }
        if (share < in_most)
            continue;
        usual++;
        if (tally->agree < steady_share * segments)
            continue;
        steady++;
        steady_mass += mean;
    }
    note_doings(level, &doing);
    level->multiplicity = level->names ? mass / level->names : 0;
    level->steady = usual ? (double)steady / usual : 0;
    level->steady_mass = all > 0 ? steady_mass / all : 0;
}

int ws_period_level_measure(const struct ws_period_text *text, struct ws_period_level *level)
{
    if (ws_level_cuts(level) < 2)
        return 0;
    level->presence = calloc(text->source->names + 1, sizeof(*level->presence));
    level->mass = calloc(text->source->names + 1, sizeof(*level->mass));
    struct tally *tallies = calloc(text->source->names + 1, sizeof(*tallies));
    int status = level->presence && level->mass && tallies ? measure_lengths(level) : -ENOMEM;
    if (!status) {
        level->typical = count_typical(level);
        period_level_count_names(text, level, tallies, vote);
        period_level_count_names(text, level, tallies, period_level_compare);
        if (level->typical)
            judge_names(text, level, tallies);
        measure_regular(text, level);
    }
    free(tallies);
    return status;
}

void ws_period_level_finish(struct ws_period_level *level)
{
    ws_vector_finish(&level->places);
    free(level->presence);
    free(level->mass);
    level->presence = NULL;
    level->mass = NULL;
}
