#include "analysis/steps/period.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/steps/period_choice.h"
#include "analysis/steps/period_cut.h"
#include "analysis/steps/period_level.h"

/* A gram is the name of an operation, or a pair of names in a row on a stream (period.h). A gram with fewer than
 * LEAST_PLACES occurrences cannot mark the repetitions of the program. */
enum { LEAST_PLACES = 3 };

/* Candidates (grams that recur at even distances) with similar numbers of occurrences share a bin. There are BINS
 * bins between any number of occurrences and its double. Of each bin, only one candidate is examined: a CUDA graph if
 * the bin has one, else the candidate with the most even distances. A graph has precedence, because kernels that ran
 * only at the program's beginning may have more even distances by chance. Only the MOST_LEVELS bins with the most
 * candidates are examined. Up to MOST_PLACES occurrences of a candidate are examined. */
enum { BINS = 8, BIN_COUNT = 32 * BINS, MOST_LEVELS = 24, MOST_PLACES = 1 << 18 };

/* The distances between a gram's occurrences count as even if the variance of their log2 is at most this. At this
 * limit most distances are within a factor of 2 of their geometric mean. */
static const float even_variance = 1.0F;

struct gram {
    uint32_t count, last;
    /* `sum`: sum of log2 of the distances between successive occurrences; `squares`: sum of the squares of these
     * log2 */
    float sum, squares;
};

/* Returns log2 of the value, accurate to 0.09. The bits of a float, read as an integer, are nearly linear in the
 * logarithm of the float. */
static float rough_log2(uint32_t value)
{
    float number = (float)value, one = 1;
    int32_t bits, zero;
    memcpy(&bits, &number, sizeof(bits));
    memcpy(&zero, &one, sizeof(zero));
    return (float)(bits - zero) / (1 << (FLT_MANT_DIG - 1));
}

/* ---- candidates */

/* Estimates how many operations each graph stands for: the graph's duration divided by the mean duration of a kernel.
 * Without this estimate, a graph would count as one operation. If a program runs a few steps kernel by kernel and
 * then replays a graph in each step, those few steps would seem to be most of the recording. Fills `held`, which has
 * an entry for each name, and sets text->held and text->held_by_all. */
static int weigh_graphs(struct ws_period_text *text, double *held)
{
    size_t names = text->source->names, kernels = 0;
    double kernel_ns = 0;
    text->held = held;
    if (!memchr(text->source->hints, WS_HINT_GRAPH, names))
        return 0;
    uint32_t *graphs = calloc(names, sizeof(*graphs));
    if (!graphs)
        return -ENOMEM;
    for (size_t place = 0; place < text->count; place++) {
        const struct ws_period_shape *shape = ws_text_shape(text, place);
        double ns = (double)ws_op_length(text->source->ops, text->order[place]);
        if (ws_text_hint(text, place) == WS_HINT_GRAPH) {
            held[shape->name] += ns;
            graphs[shape->name]++;
        } else if (shape->computes) {
            kernel_ns += ns;
            kernels++;
        }
    }
    for (size_t name = 0; name < names; name++) {
        if (!graphs[name])
            continue;
        double counts_as = kernel_ns > 0 ? held[name] / graphs[name] * (double)kernels / kernel_ns : 1;
        held[name] = fmax(counts_as - 1, 0);
        text->held_by_all += graphs[name] * held[name];
    }
    free(graphs);
    return 0;
}

static void note_gram(struct gram *gram, uint32_t place)
{
    if (gram->count++) {
        float distance = rough_log2(place - gram->last);
        gram->sum += distance;
        gram->squares += distance * distance;
    }
    gram->last = place;
}

/* The state of one stream during a loop over all operations. */
struct lane {
    uint32_t before; /* previous name on the stream, for ws_text_pair */
    double kernels;
};

/* Counts the occurrences of each gram, and sums up log2 of the distances between these occurrences. Finds the stream
 * with most kernels. */
static int note_grams(struct ws_period_text *text, struct gram *grams)
{
    const struct ws_period_text all =
        *text; /* a local copy, so that the compiler can assume that writes to `grams` do not change it */
    struct lane *lanes = calloc(all.source->lane_count, sizeof(*lanes));
    if (!lanes)
        return -ENOMEM;
    for (uint32_t place = 0; place < all.count; place++) {
        const struct ws_period_shape *shape = ws_text_shape(&all, place);
        struct lane *lane = &lanes[shape->lane];
        if (shape->computes)
            lane->kernels += 1 + all.held[shape->name];
        note_gram(&grams[shape->name], place);
        note_gram(&grams[ws_text_pair(&lane->before, shape->name)], place);
    }
    for (uint32_t lane = 0; lane < all.source->lane_count; lane++)
        if (lanes[lane].kernels > lanes[text->lane].kernels)
            text->lane = lane;
    free(lanes);
    return 0;
}

static float period_variance_of(const struct gram *gram)
{
    float distances = (float)(gram->count - 1), mean = gram->sum / distances;
    return gram->squares / distances - mean * mean;
}

struct bin {
    uint32_t support; /* number of candidates in the bin */
    uint32_t gram;    /* the candidate whose occurrences have the most even distances */
    uint32_t count;   /* number of occurrences of `gram` */
    float variance;
    bool graph; /* `gram` is a graph */
};

static int by_support(const void *a, const void *b)
{
    const struct bin *x = a, *y = b;
    if (x->support != y->support)
        return x->support < y->support ? 1 : -1;
    return (x->gram > y->gram) - (x->gram < y->gram);
}

/* Fills the bins and sorts them; bins with the most candidates come first. Returns how many bins to examine. */
static size_t fill_bins(const struct ws_period_text *text, const struct gram *grams, struct bin *bins)
{
    size_t kept = 0;
    memset(bins, 0, BIN_COUNT * sizeof(*bins));
    for (uint32_t i = 0; i < WS_GRAMS; i++) {
        if (i == text->source->names)
            i = WS_PERIOD_NAMES; /* skips the numbers that belong to no name */
        bool graph = i < WS_PERIOD_NAMES && text->source->hints[i] == WS_HINT_GRAPH;
        if (grams[i].count < LEAST_PLACES || (grams[i].count > text->count / 2 && !graph))
            continue;
        float variance = period_variance_of(&grams[i]);
        if (variance > even_variance)
            continue;
        struct bin *bin = &bins[(size_t)(rough_log2(grams[i].count) * BINS)];
        if (!bin->support++ || (graph && !bin->graph) || (graph == bin->graph && variance < bin->variance)) {
            bin->gram = i;
            bin->count = grams[i].count;
            bin->variance = variance;
            bin->graph = graph;
        }
    }
    for (size_t i = 0; i < BIN_COUNT; i++)
        if (bins[i].support)
            bins[kept++] = bins[i];
    qsort(bins, kept, sizeof(*bins), by_support);
    return kept < MOST_LEVELS ? kept : MOST_LEVELS;
}

static int add_place(struct ws_period_level *level, uint32_t place)
{
    if (level->truncated)
        return 0;
    uint32_t *slot = ws_vector_push(&level->places);
    if (!slot)
        return -ENOMEM;
    *slot = place;
    level->truncated = level->places.count == MOST_PLACES;
    return 0;
}

/* Collects the indices of the operations at which each level's gram occurs, in one pass over the operations. */
static int collect_places(const struct ws_period_text *text, struct ws_period_level *levels, size_t count)
{
    const struct ws_period_text all = *text;
    uint8_t *numbers = calloc(WS_GRAMS, 1);
    uint32_t *before = calloc(all.source->lane_count, sizeof(*before)); /* by stream: state of ws_text_pair */
    int status = numbers && before ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && !status; i++)
        numbers[levels[i].gram] = (uint8_t)(i + 1);
    for (uint32_t place = 0; place < all.count && !status; place++) {
        const struct ws_period_shape *shape = ws_text_shape(&all, place);
        uint8_t name = numbers[shape->name];
        uint8_t pair = numbers[ws_text_pair(&before[shape->lane], shape->name)];
        if (name)
            status = add_place(&levels[name - 1], place);
        if (pair && !status)
            status = add_place(&levels[pair - 1], place);
    }
    free(before);
    free(numbers);
    return status;
}

/* Finds the possible levels of repetition (layers, micro-batches, iterations …) and fills in their figures. */
static int find_levels(struct ws_period_text *text, struct ws_period_level *levels, size_t *count)
{
    struct gram *grams = calloc(WS_GRAMS, sizeof(*grams));
    struct bin bins[BIN_COUNT];
    *count = 0;
    int status = grams ? note_grams(text, grams) : -ENOMEM;
    if (!status)
        *count = fill_bins(text, grams, bins);
    free(grams);
    if (status)
        return status;
    for (size_t i = 0; i < *count; i++)
        levels[i] =
            (struct ws_period_level){ .gram = bins[i].gram, .count = bins[i].count, .places = WS_VECTOR(uint32_t) };
    status = collect_places(text, levels, *count);
    for (size_t i = 0; i < *count && !status; i++)
        status = ws_period_level_measure(text, &levels[i]);
    return status;
}

int ws_period_find(const struct ws_period_source *source, struct ws_period *period)
{
    struct ws_period_level levels[MOST_LEVELS];
    struct ws_period_text text = { .source = source,
                                   .count = source->count,
                                   .order = source->order,
                                   .shape_of = source->ops->shape,
                                   .shapes = source->shapes };
    size_t count = 0;
    *period = (struct ws_period){ .steps = WS_VECTOR(struct ws_period_step) };
    period->why_none = "Too few operations ran to find a period.";
    if (source->count < 2 * LEAST_PLACES || source->count > UINT32_MAX)
        return 0;
    double *held = calloc(source->names + 1, sizeof(*held));
    int status = held ? weigh_graphs(&text, held) : -ENOMEM;
    if (!status)
        status = find_levels(&text, levels, &count);
    if (!status) {
        const struct ws_period_level *level = ws_period_choose(&text, levels, count, &period->why_none);
        period->updates = level && level->updates;
        period->exchanges = level && (level->fed || level->read || level->graphs);
        if (level)
            status = ws_period_cut(&text, level, period);
    }
    for (size_t i = 0; i < count; i++)
        ws_period_level_finish(&levels[i]);
    free(held);
    return status;
}

void ws_period_finish(struct ws_period *period)
{
    ws_vector_finish(&period->steps);
}
