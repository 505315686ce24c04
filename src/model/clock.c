#include "model/clock.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/minmax.h"
#include "model/ops.h"

/* The largest plausible relative difference between the rates of two clocks. If two clock comparisons imply a larger
 * difference, one of them is wrong. */
static const double max_skew = 1e-3;

/* How much the errors of two clock comparisons may change the clock rate that the two comparisons imply, as a share
 * of the rate. */
static const double max_bend = 50e-6;

/* The longest piece of the piecewise linear map that can use the fast path (ws_clock_to_host), in ns. The fast path
 * can round only corrections below 10^15 ns. The largest correction is the length of the piece times max_skew. */
static const double longest_piece = 1e17;

/* The relative error assumed for a clock rate that could not be measured. */
static const double unknown_rate = 100e-6;

static int by_device_time(const void *a, const void *b)
{
    const struct ws_clock *x = a, *y = b;
    if (x->device_ns != y->device_ns)
        return x->device_ns < y->device_ns ? -1 : 1;
    return (x->error_ns > y->error_ns) - (x->error_ns < y->error_ns);
}

/* Subtracts before it converts to double: clocks may have large values that a double cannot hold exactly. */
static double difference(int64_t to, int64_t from)
{
    int64_t exact;
    return __builtin_sub_overflow(to, from, &exact) ? (double)to - (double)from : (double)exact;
}

static double skew_between(const struct ws_clock *from, const struct ws_clock *to)
{
    double device = difference(to->device_ns, from->device_ns), host = difference(to->host_ns, from->host_ns);
    return (host - device) / device;
}

static bool far_enough(const struct ws_clock *from, const struct ws_clock *to)
{
    double distance = difference(to->device_ns, from->device_ns);
    return distance > 0 && ((double)from->error_ns + (double)to->error_ns) <= distance * max_bend &&
           fabs(skew_between(from, to)) <= max_skew;
}

/* Is `later` the better knot, even if the clocks' rates are unknown between both? Otherwise the earlier one is kept:
 * the longer the pieces, the better the rates. */
static bool is_better(const struct ws_clock *later, const struct ws_clock *knot)
{
    double distance = difference(later->device_ns, knot->device_ns);
    return (double)later->error_ns + distance * unknown_rate < (double)knot->error_ns;
}

size_t ws_clock_choose_knots(struct ws_clock *points, size_t count, struct ws_clock *knots)
{
    size_t chosen = 0;
    if (count)
        qsort(points, count, sizeof(*points), by_device_time);
    for (size_t i = 0; i < count; i++) {
        if (!chosen || far_enough(&knots[chosen - 1], &points[i]))
            knots[chosen++] = points[i];
        else if (is_better(&points[i], &knots[chosen - 1]) &&
                 (chosen == 1 || far_enough(&knots[chosen - 2], &points[i])))
            knots[chosen - 1] = points[i];
    }
    return chosen;
}

void ws_clock_cursor_init(struct ws_clock_cursor *cursor, const struct ws_clock *knots, size_t count)
{
    *cursor = (struct ws_clock_cursor){ .knots = knots, .count = count };
    if (count > 1)
        cursor->skew = skew_between(&knots[0], &knots[1]);
}

/* The sum saturates, because times in a damaged file may overflow. */
static int64_t clock_add(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

static void note_error(struct ws_clock_cursor *cursor, const struct ws_clock *from, int64_t device_ns)
{
    const struct ws_clock *to = cursor->count > 1 ? from + 1 : from;
    int64_t error = ws_max(from->error_ns, to->error_ns);
    double outside = 0;
    if (device_ns < from->device_ns)
        outside = difference(from->device_ns, device_ns);
    else if (device_ns > to->device_ns)
        outside = difference(device_ns, to->device_ns);
    if (outside > 0) {
        double bend =
            to == from ? unknown_rate
                       : ((double)from->error_ns + (double)to->error_ns) / difference(to->device_ns, from->device_ns);
        double more = fmin(outside * bend, 9e18);
        error = clock_add(error, (int64_t)more);
    }
    if (error > cursor->error_ns)
        cursor->error_ns = ws_min(error, WS_TIME_MOST);
}

/* Prepares the fast path for the linear piece that starts at `from`, if all times in the piece can be mapped without
 * overflow checks. */
static void prepare_fast_path(struct ws_clock_cursor *cursor, const struct ws_clock *from)
{
    int64_t length;
    cursor->begin = cursor->end = 0;
    if (cursor->at + 1 >= cursor->count || __builtin_sub_overflow(from[1].device_ns, from->device_ns, &length) ||
        (double)length >= longest_piece || from->host_ns < -WS_TIME_MOST || from->host_ns > WS_TIME_MOST)
        return;
    cursor->begin = from->device_ns;
    cursor->end = from[1].device_ns;
    cursor->host = from->host_ns;
}

/* Returns the index of the piece of the piecewise linear map that holds a device time. The first and last pieces
 * extend without limit. */
static size_t piece_of(const struct ws_clock_cursor *cursor, int64_t device_ns)
{
    size_t low = 0, high = cursor->count > 1 ? cursor->count - 1 : 1;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (cursor->knots[middle].device_ns <= device_ns)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int64_t ws_clock_seek(struct ws_clock_cursor *cursor, int64_t device_ns)
{
    if (!cursor->count)
        return device_ns;
    size_t at = piece_of(cursor, device_ns);
    const struct ws_clock *from = &cursor->knots[at];
    if (at != cursor->at) {
        cursor->at = at;
        cursor->skew = skew_between(from, from + 1);
    }
    note_error(cursor, from, device_ns);
    prepare_fast_path(cursor, from);
    int64_t since;
    if (__builtin_sub_overflow(device_ns, from->device_ns, &since))
        return device_ns < from->device_ns ? INT64_MIN : INT64_MAX;
    double gained = (double)since * cursor->skew;
    return clock_add(clock_add(from->host_ns, since),
                     fabs(gained) < 1e15 ? ws_clock_nearest(gained) : (int64_t)llround(gained));
}
