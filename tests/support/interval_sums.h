/* Lengths of interval sets, computed in a simple way. Tests compare them with the results of an analysis that
 * computes the same in one pass over sorted intervals. */
#ifndef WALLSHIM_TESTS_INTERVAL_SUMS_H
#define WALLSHIM_TESTS_INTERVAL_SUMS_H

#include "base/interval.h"
#include "base/minmax.h"

/* Sum of the lengths of a set's intervals. */
static inline int64_t interval_length(const struct ws_interval_set *set)
{
    int64_t length = 0;
    for (size_t i = 0; i < set->count; i++)
        length += set->items[i].end - set->items[i].begin;
    return length;
}

/* Length of the intersection of two sets. */
static inline int64_t interval_common(const struct ws_interval_set *a, const struct ws_interval_set *b)
{
    int64_t length = 0;
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        const struct ws_interval *x = &a->items[i], *y = &b->items[j];
        int64_t begin = ws_max(x->begin, y->begin);
        int64_t end = ws_min(x->end, y->end);
        if (begin < end)
            length += end - begin;
        if (x->end < y->end)
            i++;
        else
            j++;
    }
    return length;
}

/* Length of the part of set a that is not in set b. */
static inline int64_t interval_outside(const struct ws_interval_set *a, const struct ws_interval_set *b)
{
    return interval_length(a) - interval_common(a, b);
}

#endif
