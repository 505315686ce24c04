#include "analysis/period.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/period_choice.h"
#include "analysis/period_cut.h"
#include "analysis/period_level.h"
#include "analysis/split.h"
#include "base/pages.h"

/* Fewer repetitions than this are no period. */
enum { LEAST_PLACES = 3 };

/* Of candidates with about as many occurrences (BINS to a doubling) the most even one stands for all, and
 * of those the ones that stand for most grams are looked into. */
enum { BINS = 8, BIN_COUNT = 32 * BINS, MOST_LEVELS = 24, MOST_PLACES = 1 << 18 };

/* Of the logarithm (base 2) of the distances between occurrences: they are mostly within a factor of 2. */
static const float even_variance = 1.0F;

struct gram {
    uint32_t count, last;
    float sum, squares; /* of log2 of the distances */
};

/* Good to 0.09. */
static float rough_log2(uint32_t value)
{
    int bits = 31 - __builtin_clz(value);
    return (float)bits + (float)((uint64_t)value << (32 - bits) & 0xffffffffu) / 4294967296.0F;
}

/* ---- the text */

static bool is_compute(enum ws_period_hint hint)
{
    return hint == WS_HINT_NONE || hint == WS_HINT_UPDATE || hint == WS_HINT_GRAPH;
}

/* Finds the lane of most kernels. */
static void count_lanes(const struct ws_period_source *source, struct ws_period_text *text, uint32_t *counts)
{
    for (size_t i = 0; i < source->count; i++) {
        uint32_t shape = source->ops->shape[source->order[i]];
        counts[source->lanes[shape]] += is_compute((enum ws_period_hint)source->hints[source->names[shape]]);
    }
    for (uint32_t lane = 0; lane < source->lane_count; lane++)
        if (counts[lane] > counts[text->lane])
            text->lane = lane;
}

static int text_create(const struct ws_period_source *source, struct ws_period_text *text)
{
    const struct ws_ops *ops = source->ops;
    uint32_t *before = calloc(source->lane_count + 1, sizeof(*before));
    *text = (struct ws_period_text){ .source = source, .count = source->count };
    text->grams = ws_pages_alloc(source->count * sizeof(*text->grams));
    text->idle = ws_pages_alloc(source->count);
    if (!before || !text->grams || !text->idle) {
        free(before);
        return -ENOMEM;
    }
    count_lanes(source, text, before);
    memset(before, 0, source->lane_count * sizeof(*before));
    int64_t end = ws_op_begin(ops, source->order[0]), idle = 0;
    for (size_t i = 0; i < source->count; i++) {
        uint32_t op = source->order[i], shape = ops->shape[op];
        uint32_t name = source->names[shape], lane = source->lanes[shape];
        uint32_t pair = (before[lane] * 0x9e3779b1u + name * 0x85ebca6bu) >> 16;
        int64_t done = ws_op_end(ops, op);
        text->grams[i] = pair << 16 | name;
        idle += ws_most(ws_op_begin(ops, op) - end, 0);
        text->idle[i] = ws_idle_of(idle);
        if (lane == text->lane)
            idle = 0;
        before[lane] = name + 1;
        end = ws_most(end, done);
        if (name >= text->names)
            text->names = name + 1;
    }
    free(before);
    return 0;
}

static void text_finish(struct ws_period_text *text)
{
    free(text->grams);
    free(text->idle);
}

/* ---- candidates */

static void note_gram(struct gram *gram, uint32_t place)
{
    if (gram->count++) {
        float distance = rough_log2(place - gram->last);
        gram->sum += distance;
        gram->squares += distance * distance;
    }
    gram->last = place;
}

static float variance_of(const struct gram *gram)
{
    float distances = (float)(gram->count - 1), mean = gram->sum / distances;
    return gram->squares / distances - mean * mean;
}

struct bin {
    uint32_t support; /* grams */
    uint32_t gram;    /* the most even of them */
    uint32_t count;   /* its occurrences */
    float variance;
};

static int by_support(const void *a, const void *b)
{
    const struct bin *x = a, *y = b;
    if (x->support != y->support)
        return x->support < y->support ? 1 : -1;
    return (x->gram > y->gram) - (x->gram < y->gram);
}

/* Fills bins with those that hold candidates, most supported first; returns how many. */
static size_t fill_bins(const struct ws_period_text *text, const struct gram *grams, struct bin *bins)
{
    size_t kept = 0;
    memset(bins, 0, BIN_COUNT * sizeof(*bins));
    for (uint32_t i = 0; i < WS_GRAMS; i++) {
        bool graph = i < WS_PERIOD_NAMES && text->source->hints[i] == WS_HINT_GRAPH;
        if (grams[i].count < LEAST_PLACES || (grams[i].count > text->count / 2 && !graph))
            continue;
        float variance = variance_of(&grams[i]);
        if (variance > even_variance)
            continue;
        struct bin *bin = &bins[(size_t)(rough_log2(grams[i].count) * BINS)];
        if (!bin->support++ || variance < bin->variance) {
            bin->gram = i;
            bin->count = grams[i].count;
            bin->variance = variance;
        }
    }
    for (size_t i = 0; i < BIN_COUNT; i++)
        if (bins[i].support)
            bins[kept++] = bins[i];
    qsort(bins, kept, sizeof(*bins), by_support);
    return kept < MOST_LEVELS ? kept : MOST_LEVELS;
}

/* All places of all candidates, in one pass. */
static int collect_places(const struct ws_period_text *text, struct ws_period_level *levels, size_t count)
{
    uint8_t *numbers = calloc(WS_GRAMS, 1);
    int status = numbers ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && !status; i++)
        numbers[levels[i].gram] = (uint8_t)(i + 1);
    for (uint32_t place = 0; place < text->count && !status; place++) {
        uint8_t found[2] = { numbers[ws_text_name(text, place)], numbers[ws_text_pair(text, place)] };
        for (int i = 0; i < 2 && !status; i++) {
            struct ws_period_level *level = found[i] ? &levels[found[i] - 1] : NULL;
            if (!level || level->truncated)
                continue;
            uint32_t *slot = ws_vector_push(&level->places);
            if (!slot)
                status = -ENOMEM;
            else
                *slot = place;
            level->truncated = level->places.count == MOST_PLACES;
        }
    }
    free(numbers);
    return status;
}

/* The levels there may be, measured. */
static int find_levels(const struct ws_period_text *text, struct ws_period_level *levels, size_t *count)
{
    struct gram *grams = calloc(WS_GRAMS, sizeof(*grams));
    struct bin bins[BIN_COUNT];
    *count = 0;
    if (!grams)
        return -ENOMEM;
    for (uint32_t place = 0; place < text->count; place++) {
        note_gram(&grams[ws_text_name(text, place)], place);
        note_gram(&grams[ws_text_pair(text, place)], place);
    }
    *count = fill_bins(text, grams, bins);
    free(grams);
    for (size_t i = 0; i < *count; i++)
        levels[i] =
            (struct ws_period_level){ .gram = bins[i].gram, .count = bins[i].count, .places = WS_VECTOR(uint32_t) };
    int status = collect_places(text, levels, *count);
    for (size_t i = 0; i < *count && !status; i++)
        status = ws_period_level_measure(text, &levels[i]);
    return status;
}

int ws_period_find(const struct ws_period_source *source, struct ws_period *period)
{
    struct ws_period_level levels[MOST_LEVELS];
    struct ws_period_text text;
    size_t count = 0;
    *period = (struct ws_period){ .steps = WS_VECTOR(struct ws_period_step) };
    period->why_none = "Too few operations ran to see a period.";
    if (source->count < 2 * LEAST_PLACES || source->count > UINT32_MAX)
        return 0;
    int status = text_create(source, &text);
    if (!status)
        status = find_levels(&text, levels, &count);
    if (!status) {
        const struct ws_period_level *level = ws_period_choose(&text, levels, count, &period->why_none);
        if (level)
            status = ws_period_cut(&text, level, period);
    }
    for (size_t i = 0; i < count; i++)
        ws_period_level_finish(&levels[i]);
    text_finish(&text);
    return status;
}

void ws_period_finish(struct ws_period *period)
{
    ws_vector_finish(&period->steps);
}
