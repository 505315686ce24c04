/* Inside the search for a period: grams, and the segments that one of them cuts operations into. */
#ifndef WALLSHIM_ANALYSIS_PERIOD_LEVEL_H
#define WALLSHIM_ANALYSIS_PERIOD_LEVEL_H

#include "analysis/period.h"

/* Grams by number: names, then pairs of names (by hash: strangers may share one). */
enum { WS_GRAMS = 2 * WS_PERIOD_NAMES };

/* Operations as the search reads them, by place in order. Little is kept of each, for there may be tens of millions:
 * pairs are found again as operations are gone through. */
struct ws_period_text {
    const struct ws_period_source *source;
    size_t count;
    const uint32_t *order, *shape_of; /* of the source and its operations */
    const struct ws_period_shape *shapes;
    uint32_t lane; /* that most kernels are on */
};

static inline const struct ws_period_shape *ws_text_shape(const struct ws_period_text *text, size_t place)
{
    return &text->shapes[text->shape_of[text->order[place]]];
}

static inline uint32_t ws_text_name(const struct ws_period_text *text, size_t place)
{
    return ws_text_shape(text, place)->name;
}

/* The gram of a name and the one before it on its stream, which is kept in `before` (0 at first) from one to the
 * next. */
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

/* What repeats, as one gram cuts it. Only typical segments, of half to twice the median number of
 * operations, are looked into. */
struct ws_period_level {
    uint32_t gram;
    size_t count;            /* of the gram */
    struct ws_vector places; /* uint32_t: where the gram is */
    bool truncated;          /* there are more places than these, the first ones */
    size_t typical;          /* typical segments looked into */
    double operations;       /* in a segment: the median */
    double regular;          /* share of all operations that are in typical segments */
    double steady;           /* share of names that come equally often in most typical segments */
    double steady_mass;      /* share of operations that are of such names */
    unsigned names;          /* that are in nearly all typical segments */
    double multiplicity;     /* operations for each of these */
    bool updates, graphs;    /* most typical segments have an optimizer, a graph */
    bool fed, read;          /* there are about as many copies from and to the host as segments, or more */
    uint16_t *presence;      /* by name: share of typical segments that have it, in 1/65535 */
    float *mass;             /* by name: operations in a typical segment */
};

/* Cuts and looks into segments. Returns 0 or -ENOMEM. */
int ws_period_level_measure(const struct ws_period_text *text, struct ws_period_level *level);

void ws_period_level_finish(struct ws_period_level *level);

/* The median of values that may be put in another order; 0 of none. */
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
