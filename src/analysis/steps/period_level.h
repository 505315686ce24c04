/* Definitions for the search for the program's repeating steps (period.h). A gram is a name of operations, or a pair
 * of names in a row on a stream. A level is the division of the operations into segments, one from each occurrence of
 * a gram to the next. */
#ifndef WALLSHIM_ANALYSIS_STEPS_PERIOD_LEVEL_H
#define WALLSHIM_ANALYSIS_STEPS_PERIOD_LEVEL_H

#include "analysis/steps/period.h"

/* Grams have numbers. A gram of one name has the number of the name. A gram of two names has a hash of the pair, plus
 * WS_PERIOD_NAMES; different pairs may have the same number. */
enum { WS_GRAMS = 2 * WS_PERIOD_NAMES };

/* The operations of a device as the search reads them, by index in `order`. There may be tens of millions of
 * operations. To save memory, pairs of names are not stored, but computed again in each pass over the operations. */
struct ws_period_text {
    const struct ws_period_source *source;
    size_t count;
    const uint32_t *order, *shape_of; /* copies of source->order and source->ops->shape */
    const struct ws_period_shape *shapes;
    uint32_t lane; /* index of the stream with most kernels */
    /* A graph that was timed as a whole is one operation, but does the work of many operations. `held`, by number of
     * a name: how many operations a graph counts as, minus 1; 0 for names of other operations. `held_by_all`: sum
     * over all operations. */
    const double *held;
    double held_by_all;
};

static inline const struct ws_period_shape *ws_text_shape(const struct ws_period_text *text, size_t place)
{
    return &text->shapes[text->shape_of[text->order[place]]];
}

static inline uint32_t ws_text_name(const struct ws_period_text *text, size_t place)
{
    return ws_text_shape(text, place)->name;
}

/* Returns the number of the gram that consists of a name and the previous name on the same stream. Between calls,
 * *before keeps the previous name on the stream. The caller sets it to 0 before the first call. */
static inline uint32_t ws_text_pair(uint32_t *before, uint32_t name)
{
    uint32_t pair = (*before * 0x9e3779b1u + name * 0x85ebca6bu) >> 16;
    *before = name + 1;
    return WS_PERIOD_NAMES + pair;
}

static inline enum ws_period_hint ws_text_hint(const struct ws_period_text *text, size_t place)
{
    return (enum ws_period_hint)text->source->hints[ws_text_name(text, place)];
}

/* A level of repetition: the segments between the occurrences of one gram. Only typical segments are examined: those
 * with half to twice the median number of operations. */
struct ws_period_level {
    uint32_t gram;
    size_t count;            /* number of occurrences of the gram */
    struct ws_vector places; /* uint32_t: indices in `order` where the gram occurs */
    bool truncated;          /* `places` has only the gram's first occurrences, because there are too many */
    size_t typical;          /* number of typical segments that were examined */
    double operations;       /* median number of operations per segment */
    /* share of all operations that are in typical segments, 0 to 1; a CUDA graph counts as the estimated number of
     * operations in it (ws_period_text.held) */
    double regular;
    /* share of names that occur equally often in most typical segments, out of all names that occur in at least half
     * of these segments */
    double steady;
    /* share of operations whose names occur equally often in most typical segments (steady names) */
    double steady_mass;
    unsigned names;      /* number of names that occur in nearly all typical segments */
    double multiplicity; /* mean number of occurrences per segment of a name that `names` counts */
    /* updates: most typical segments have an optimizer's kernel; graphs: most typical segments have a CUDA graph */
    bool updates, graphs;
    /* fed: on average, a segment has about one copy from the host, or more; read: on average, a segment has about one
     * copy to the host, or more */
    bool fed, read;
    uint16_t *presence; /* by number of a name: share of typical segments that have the name, in units of 1/65535 */
    float *mass;        /* by number of a name: mean number of operations with this name per typical segment */
};

/* Cuts the operations at the occurrences of the level's gram, examines the segments, and fills in the level's
 * figures. Returns 0 or -ENOMEM. */
int ws_period_level_measure(const struct ws_period_text *text, struct ws_period_level *level);

void ws_period_level_finish(struct ws_period_level *level);

/* Returns the median of the values; 0 if `count` is 0. Reorders the values. */
uint32_t ws_period_median(uint32_t *values, size_t count);

static inline size_t ws_level_cuts(const struct ws_period_level *level)
{
    return level->places.count;
}

static inline uint32_t ws_level_place(const struct ws_period_level *level, size_t cut)
{
    return ((const uint32_t *)level->places.data)[cut];
}

#endif
