#include "analysis/activity/launches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/activity/delays.h"
#include "analysis/activity/host_time.h"
#include "base/minmax.h"

static int launches_count_calls(const struct ws_process *process, size_t subject, struct ws_track_launches *result)
{
    const struct ws_ops *ops = &process->ops;
    uint64_t launches = 0, blocking = 0;
    int64_t call_time = 0;
    bool *ours = malloc((process->shapes.count + 1) * sizeof(*ours));
    if (!ours)
        return -ENOMEM;
    for (size_t i = 0; i < process->shapes.count; i++)
        ours[i] = ws_process_shape(process, i)->track == subject;
    for (size_t i = 0; i < ops->count; i++) {
        if (!ours[ops->shape[i]] || !ws_op_has_call(ops, i))
            continue;
        launches++;
        if (ws_op_blocks(process, (uint32_t)i))
            blocking++;
        else
            call_time = ws_sum(call_time, ws_op_host_length(ops, i));
    }
    free(ours);
    result->launches = launches;
    result->blocking = blocking;
    result->call_time = call_time;
    return 0;
}

/* Counts the launches that the device waited for: the device became idle before the launch call returned. */
static void count_waits(const struct ws_report *report, size_t subject, const struct ws_ops *ops,
                        struct ws_track_launches *result)
{
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    struct ws_gap_walk walk = ws_gap_walk(&activity->gaps, 0);
    for (struct ws_gap gap; ws_gap_next(&walk, &gap);) {
        if (!ws_op_has_call(ops, gap.after) || ws_op_host_end(ops, gap.after) <= gap.begin)
            continue;
        result->waited_for++;
        result->waited_ns += ws_gap_length(&gap);
    }
}

static int launches_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    struct ws_track_launches *result = memory;
    result->streams = WS_VECTOR(struct ws_stream_delays);
    int status = launches_count_calls(process, subject, result);
    if (status || !track->aligned)
        return status;
    count_waits(report, subject, &process->ops, result);
    return ws_delays_measure(process, track, &result->streams);
}

static void launches_finish(void *memory)
{
    struct ws_track_launches *result = memory;
    ws_vector_finish(&result->streams);
}

const struct ws_analysis ws_analysis_launches = {
    .name = "launches",
    .title = "Launches",
    .host_times = true,
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_launches),
    .needs = { &ws_analysis_activity },
    .run = launches_run,
    .finish = launches_finish,
    .text = ws_launches_text,
    .json = ws_launches_json,
};
