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
