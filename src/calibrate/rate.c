#include "calibrate/rate.h"

#include <stdlib.h>
#include <string.h>

static int rate_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the times and returns a percentile of them: the 90th if `share` is 0.9. */
static double rate_percentile(double *times, size_t count, double share)
{
    qsort(times, count, sizeof(*times), rate_compare);
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    double rest = place - (double)below;
    /* If the two neighbouring times are equal, this formula gives exactly that time. So rounding cannot make a
     * percentile exceed a higher percentile. */
    return below + 1 < count ? times[below] + (times[below + 1] - times[below]) * rest : times[below];
}

struct ws_rate ws_rate_of(const double *times, size_t count, double amount)
{
    double ordered[WS_MOST_SAMPLES];
    size_t third = count / 3 ? count / 3 : 1;
    memcpy(ordered, times, third * sizeof(*times));
    double first = rate_percentile(ordered, third, 0.5);
    memcpy(ordered, times + count - third, third * sizeof(*times));
    double last = rate_percentile(ordered, third, 0.5);
    memcpy(ordered, times, count * sizeof(*times));
    double median = rate_percentile(ordered, count, 0.5);
    return (struct ws_rate){ .median = amount / median,
                             .spread = (rate_percentile(ordered, count, 0.9) - rate_percentile(ordered, count, 0.1)) /
                                       median,
                             .drift = first / last - 1,
                             .samples = (uint32_t)count };
}
