/* Minimum, maximum and clamp of numbers, and sums of times that do not overflow. */
#ifndef WALLSHIM_BASE_MINMAX_H
#define WALLSHIM_BASE_MINMAX_H

#include <stdint.h>

#define WS_MINMAX(name, type)                        \
    static inline type ws_min_##name(type a, type b) \
    {                                                \
        return a < b ? a : b;                        \
    }                                                \
    static inline type ws_max_##name(type a, type b) \
    {                                                \
        return a > b ? a : b;                        \
    }
WS_MINMAX(signed, int64_t)
WS_MINMAX(unsigned, uint64_t)
WS_MINMAX(real, double)
#undef WS_MINMAX

/* Chooses the function by the type of a + b: both signed, both unsigned, or floating point. */
#define WS_BY_TYPE(function, a, b)                     \
    _Generic((a) + (b), unsigned                       \
             : function##_unsigned, unsigned long      \
             : function##_unsigned, unsigned long long \
             : function##_unsigned, float              \
             : function##_real, double                 \
             : function##_real, default                \
             : function##_signed)(a, b)
#define ws_min(a, b) WS_BY_TYPE(ws_min, a, b)
#define ws_max(a, b) WS_BY_TYPE(ws_max, a, b)

/* Limits value to the range low … high. */
#define ws_clamp(value, low, high) ws_max(low, ws_min(value, high))

/* Adds two times in ns. The sum saturates at ±(2^62 − 1), so that two sums can be added without overflow. Damaged
 * traces may hold times of any size. */
static inline int64_t ws_sum(int64_t a, int64_t b)
{
    const int64_t most = ((int64_t)1 << 62) - 1;
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b < 0 ? -most : most;
    return ws_clamp(sum, -most, most);
}

/* A comparison for qsort of int64_t. */
static inline int ws_ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

#endif
