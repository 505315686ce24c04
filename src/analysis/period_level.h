/* Inside the search for a period: grams, and the segments that one of them cuts operations into. */
#ifndef WALLSHIM_ANALYSIS_PERIOD_LEVEL_H
#define WALLSHIM_ANALYSIS_PERIOD_LEVEL_H

#include "analysis/period.h"

/* Grams by number: names, then pairs of names (by hash: strangers may share one). */
enum { WS_GRAMS = 2 * WS_PERIOD_NAMES };

/* Operations as the search needs them, by place in order. */
struct ws_period_text {
    const struct ws_period_source *source;
    size_t count;
    uint32_t *grams; /* low half the name, high half the pair */
    uint8_t *idle;   /* how long nothing ran since the one before on the lane: ws_idle_ns */
    uint32_t lane;   /* that most kernels are on */
    size_t names;    /* all are below this */
};

static inline uint32_t ws_text_name(const struct ws_period_text *text, size_t place)
{
    return text->grams[place] & 0xffff;
}

static inline uint32_t ws_text_pair(const struct ws_period_text *text, size_t place)
{
    return WS_PERIOD_NAMES + (text->grams[place] >> 16);
}

static inline bool ws_text_has(const struct ws_period_text *text, size_t place, uint32_t gram)
{
    return gram < WS_PERIOD_NAMES ? ws_text_name(text, place) == gram : ws_text_pair(text, place) == gram;
}

static inline enum ws_period_hint ws_text_hint(const struct ws_period_text *text, size_t place)
{
    return (enum ws_period_hint)text->source->hints[ws_text_name(text, place)];
}

/* Idle times are kept in 8 bits: a power of two, and its quarters. */
double ws_idle_ns(uint8_t idle);
uint8_t ws_idle_of(int64_t ns);

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
