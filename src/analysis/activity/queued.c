/* Finds the time in which the device worked on what was launched before the recording. The first operation on the
 * main stream then waits, though its launch returned long ago and nothing recorded runs: its stream is busy with work
 * that the trace does not hold. Later operations follow recorded ones, so of them this cannot be told.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/activity/activity.h"

int ws_track_main_stream(const struct ws_process *process, const struct ws_track *track, const uint8_t *groups,
                         uint32_t *stream)
{
    size_t streams = process->streams.rows.count, *kernels = calloc(streams + 1, sizeof(*kernels)), most = streams;
    if (!kernels)
        return -ENOMEM;
    for (size_t i = 0; i < track->count; i++) {
        uint32_t shape = process->ops.shape[track->order[i]];
        kernels[ws_min(ws_process_shape(process, shape)->stream, (uint32_t)streams)] +=
            groups[shape] == WS_GROUP_COMPUTE;
    }
    for (size_t i = 0; i < streams; i++)
        if (kernels[i] > kernels[most])
            most = i;
    free(kernels);
    *stream = most < streams ? (uint32_t)most : WS_NOWHERE;
    return 0;
}

/* Is this the stream's first operation whose launch the trace holds? */
static bool is_first_launched(const struct ws_process *process, const struct ws_track *track, size_t place,
                              uint32_t stream)
{
    for (size_t i = 0; i < place; i++) {
        uint32_t op = track->order[i];
        if (ws_process_shape(process, process->ops.shape[op])->stream == stream && ws_op_has_call(&process->ops, op))
            return false;
    }
    return true;
}

/* At most this many operations of other streams come before the first of the main stream. Our choice. */
enum { HEAD = 1024 };

int ws_activity_find_queued(const struct ws_process *process, const struct ws_track *track, const uint8_t *groups,
                            struct ws_track_activity *activity)
{
    uint32_t main = WS_NOWHERE;
    struct ws_gap_walk walk = ws_gap_walk(&activity->gaps, 0);
    for (struct ws_gap gap; ws_gap_next(&walk, &gap) && gap.place < HEAD;) {
        if (!ws_op_was_held(process, gap.after, gap.begin))
            continue;
        int status = main == WS_NOWHERE ? ws_track_main_stream(process, track, groups, &main) : 0;
        if (status)
            return status;
        if (main == WS_NOWHERE || ws_process_shape(process, process->ops.shape[gap.after])->stream != main ||
            !is_first_launched(process, track, gap.place, main))
            continue;
        activity->queued = ws_gap_length(&gap);
        activity->queued_place = gap.place;
        break;
    }
    return 0;
}
