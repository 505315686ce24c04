/* Internal to the search for a period (period.h): grams, and the segments between the occurrences of a gram. */
#ifndef WALLSHIM_ANALYSIS_STEPS_PERIOD_LEVEL_H
#define WALLSHIM_ANALYSIS_STEPS_PERIOD_LEVEL_H

#include "analysis/steps/period.h"

/* Grams have numbers. A gram of one name has the number of the name. A gram of two names has a hash of the pair, plus
 * WS_PERIOD_NAMES; different pairs may have the same number. */
enum { WS_GRAMS = 2 * WS_PERIOD_NAMES };

/* Operations as the search reads them, by index in `order`. There may be tens of millions of operations, so pairs are
 * computed on every pass and not stored. */
struct ws_period_text {
    const struct ws_period_source *source;
    size_t count;
    const uint32_t *order, *shape_of; /* copies of source->order and source->ops->shape */
    const struct ws_period_shape *shapes;
    uint32_t lane; /* the stream with most kernels */
};

static inline const struct ws_period_shape *ws_text_shape(const struct ws_period_text *text, size_t place)
{
    return &text->shapes[text->shape_of[text->order[place]]];
}

static inline uint32_t ws_text_name(const struct ws_period_text *text, size_t place)
{
    return ws_text_shape(text, place)->name;
}

/* The number of the gram that consists of a name and the previous name on the same stream. *before keeps the previous
 * name of the stream between calls; it is 0 before the first call. */
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
    size_t count;            /* occurrences of the gram */
    struct ws_vector places; /* uint32_t: indices in `order` where the gram occurs */
    bool truncated;          /* `places` has only the first occurrences */
    size_t typical;          /* number of typical segments examined */
    double operations;       /* median number of operations per segment */
    double regular;          /* share of all operations that is in typical segments */
    double steady;           /* share of names that occur equally often in most typical segments */
    double steady_mass;      /* share of operations with steady names */
    unsigned names;          /* number of names in nearly all typical segments */
    double multiplicity;     /* how often these names occur in a segment on average */
    bool updates, graphs;    /* most typical segments have an optimizer's kernel (updates); a CUDA graph (graphs) */
    bool fed, read; /* segments have on average about one copy or more from the host (fed), or to the host (read) */
    uint16_t *presence; /* by name: share of typical segments that have the name, in units of 1/65535 */
    float *mass;        /* by name: operations per typical segment */
};

/* Cuts the operations and examines the segments. Returns 0 or -ENOMEM. */
int ws_period_level_measure(const struct ws_period_text *text, struct ws_period_level *level);

void ws_period_level_finish(struct ws_period_level *level);

/* The median; 0 if count is 0. Reorders the values. */
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
