/* What is done with times in ns again and again. */
#ifndef WALLSHIM_ANALYSIS_TIMES_H
#define WALLSHIM_ANALYSIS_TIMES_H

#include <stdint.h>

static inline int64_t ws_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t ws_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Of times that a trace may give as long as it likes, and as often: a sum that is too large stays where it still can
 * be doubled, or added to another. */
static inline int64_t ws_sum(int64_t a, int64_t b)
{
    const int64_t most = ((int64_t)1 << 62) - 1;
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b < 0 ? -most : most;
    return ws_least(ws_most(sum, -most), most);
}

/* For qsort of int64_t. */
static inline int ws_ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

#endif
