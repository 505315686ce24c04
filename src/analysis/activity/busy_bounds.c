#include "analysis/activity/busy_bounds.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/minmax.h"
#include "base/salted.h"

enum {
    SYSTEMATIC_NS = 100,
    SAMPLES_FEWEST = 3, /* from fewer samples, the variation of the lengths cannot be estimated */
};
static const double DEVIATIONS = 3;

/* Sums over the operations of one shape (operations with the same static properties, such as kernel and stream) on
 * the device. Times are in ns. */
struct shape_lengths {
    double computed; /* sum of the lengths of operations whose start and end are both computed (not measured) */
    uint64_t computed_count;
    double computed_errors;     /* sum of the errors of the start and end times of the operations in `computed` */
    double other, other_errors; /* sums of the lengths and of the errors of all other operations */
    uint64_t samples;           /* number of operations whose start and end are both measured */
    double mean;                /* mean length of the samples */
    double squares;             /* sum of squared differences between the samples' lengths and `mean` */
};

static void lengths_add(struct shape_lengths *lengths, const struct ws_ops *ops, uint32_t op)
{
    enum { MEASURED = WS_TIME_MEASURED | WS_TIME_MEASURED << 2, COMPUTED = WS_TIME_INFERRED | WS_TIME_INFERRED << 2 };
    double length = (double)ws_op_length(ops, op);
    double errors = (double)(ws_op_begin_error(ops, op) + ws_op_end_error(ops, op));
    unsigned quality = ops->flags[op] & (WS_OP_BEGIN_QUALITY | WS_OP_END_QUALITY);
    if (quality == COMPUTED) {
        lengths->computed += length;
        lengths->computed_errors += errors;
        lengths->computed_count++;
        return;
    }
    lengths->other += length;
    lengths->other_errors += errors;
    if (quality == MEASURED) { /* Welford's method */
        double from_mean = length - lengths->mean;
        lengths->mean += from_mean / (double)++lengths->samples;
        lengths->squares += from_mean * (length - lengths->mean);
    }
}

/* The true total time of the shape's operations may differ from the total in the trace. Adds to *shorter the ns by
 * which the true total may be below the trace's total. Adds to *longer the ns by which it may be above. */
static void lengths_bound(const struct shape_lengths *lengths, double *shorter, double *longer)
{
    double less = lengths->computed_errors, more = less;
    if (lengths->samples >= SAMPLES_FEWEST) {
        double samples = (double)lengths->samples, count = (double)lengths->computed_count;
        double error = SYSTEMATIC_NS + DEVIATIONS * sqrt(lengths->squares / (samples - 1) / samples);
        less = ws_min(less, ws_max(lengths->computed - count * (lengths->mean - error), 0));
        more = ws_min(more, ws_max(count * (lengths->mean + error) - lengths->computed, 0));
    }
    *shorter += less + lengths->other_errors;
    *longer += more + lengths->other_errors;
}

/* Computes the longest time for which several streams may have run at once: the sum of the times of all streams
 * except the busiest. Returns 0 or -ENOMEM. */
static int bounds_most_overlap(const struct ws_process *process, const struct shape_lengths *shapes, double *overlap)
{
    struct ws_map streams = { 0 }; /* id of a stream + 1 → time of its operations, ns */
    double all = 0, longest = 0;
    int status = 0;
    for (size_t i = 0; i < process->shapes.count; i++) {
        double time = shapes[i].computed + shapes[i].other;
        if (time <= 0)
            continue;
        uint64_t *stream = ws_salted_put(&streams, 1 + (uint64_t)ws_process_shape(process, i)->row.stream);
        if (!stream) {
            status = -ENOMEM;
            break;
        }
        *stream =
            (uint64_t)ws_min((double)*stream + time, (double)WS_TIME_MOST); /* a damaged trace may hold huge times */
        all += time;
        longest = ws_max(longest, (double)*stream);
    }
    ws_map_finish(&streams);
    *overlap = all - longest;
    return status;
}

int ws_activity_narrow_bounds(const struct ws_process *process, const struct ws_track *track,
                              struct ws_track_activity *activity)
{
    struct shape_lengths *shapes = calloc(process->shapes.count + 1, sizeof(*shapes));
    double shorter = 0, longer = 0, overlap = 0;
    if (!shapes)
        return -ENOMEM;
    for (size_t i = 0; i < track->count; i++)
        lengths_add(&shapes[process->ops.shape[track->order[i]]], &process->ops, track->order[i]);
    for (size_t i = 0; i < process->shapes.count; i++)
        lengths_bound(&shapes[i], &shorter, &longer);
    int status = bounds_most_overlap(process, shapes, &overlap);
    free(shapes);
    if (status)
        return status;
    shorter = ws_min(ceil(shorter + overlap), (double)WS_TIME_MOST);
    longer = ws_min(ceil(longer + overlap), (double)WS_TIME_MOST);
    activity->busy_least = ws_max(activity->busy_least, activity->busy - (int64_t)shorter);
    activity->busy_most = ws_min(activity->busy_most, activity->busy + (int64_t)longer);
    return 0;
}
