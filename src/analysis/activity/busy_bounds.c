#include "analysis/activity/busy_bounds.h"

#include <errno.h>
#include <math.h>

#include "base/minmax.h"
#include "base/salted.h"

/* Computes the longest time for which several streams may have run at once: the sum of the times of all streams
 * except the busiest. Returns 0 or -ENOMEM. */
static int bounds_most_overlap(const struct ws_process *process, size_t track,
                               const struct ws_process_lengths *lengths, double *overlap)
{
    struct ws_map streams = { 0 }; /* id of a stream + 1 → time of its operations, ns */
    double all = 0, longest = 0;
    int status = 0;
    for (size_t i = 0; i < process->shapes.count; i++) {
        const struct ws_op_shape *shape = ws_process_shape(process, i);
        double time = lengths->shapes[i].total;
        if (shape->track != track || time <= 0)
            continue;
        uint64_t *stream = ws_salted_put(&streams, 1 + (uint64_t)shape->row.stream);
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

int ws_activity_narrow_bounds(const struct ws_process *process, size_t track,
                              const struct ws_process_lengths *lengths, struct ws_track_activity *activity)
{
    double shorter = 0, longer = 0, overlap = 0;
    if (!lengths->shapes)
        return 0;
    for (size_t i = 0; i < process->shapes.count; i++) {
        if (ws_process_shape(process, i)->track != track)
            continue;
        shorter += lengths->shapes[i].shorter;
        longer += lengths->shapes[i].longer;
    }
    int status = bounds_most_overlap(process, track, lengths, &overlap);
    if (status)
        return status;
    shorter = ws_min(ceil(shorter + overlap), (double)WS_TIME_MOST);
    longer = ws_min(ceil(longer + overlap), (double)WS_TIME_MOST);
    activity->busy_least = ws_max(activity->busy_least, activity->busy - (int64_t)shorter);
    activity->busy_most = ws_min(activity->busy_most, activity->busy + (int64_t)longer);
    return 0;
}
