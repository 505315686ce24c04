#include "analysis/steps/marked_steps.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/activity/activity.h"
#include "base/minmax.h"

/* A step marker, and the first operation that was launched after the marker's begin. The list of markers has one more
 * entry, for the end of the last marker. */
struct marker {
    int64_t host_begin, host_end;
    uint64_t number;
    int64_t launched; /* host time of the launch of the first operation */
    int64_t begin;    /* begin of the first operation on the device; INT64_MAX: the marker has no operation */
};

/* Collects the step markers of the thread that has the most of them, in order of their begin. */
static int marked_steps_collect(const struct ws_ranges *ranges, struct ws_vector *markers)
{
    const struct ws_thread_ranges *threads = ranges->threads.data, *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < ranges->threads.count; i++) {
        size_t count = 0;
        for (uint32_t place = 0; place < threads[i].count; place++)
            count += ws_range(ranges, threads[i].first + place)->kind == WS_RANGE_STEP;
        if (count > most) {
            most = count;
            best = &threads[i];
        }
    }
    for (uint32_t place = 0; best && place < best->count; place++) {
        const struct ws_range *range = ws_range(ranges, best->first + place);
        if (range->kind != WS_RANGE_STEP)
            continue;
        struct marker *marker = ws_vector_push(markers);
        if (!marker)
            return -ENOMEM;
        *marker = (struct marker){ range->host_begin, range->host_end, range->number, INT64_MAX, INT64_MAX };
    }
    return 0;
}

/* Adds an entry for the end of the last marker, which is a boundary of steps like the begins of markers. */
static int add_last_end(struct ws_vector *markers)
{
    const struct marker *list = markers->data;
    int64_t end = ws_max(list[markers->count - 1].host_end, list[markers->count - 1].host_begin);
    struct marker *marker = ws_vector_push(markers);
    if (!marker)
        return -ENOMEM;
    *marker = (struct marker){ end, end, 0, INT64_MAX, INT64_MAX };
    return 0;
}

/* The index of the last marker that began at or before `time`, or -1. */
static ptrdiff_t marker_at(const struct marker *list, size_t count, size_t hint, int64_t time)
{
    if (list[hint].host_begin <= time && (hint + 1 == count || time < list[hint + 1].host_begin))
        return (ptrdiff_t)hint;
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].host_begin <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return (ptrdiff_t)low - 1;
}

/* Finds the stream with the most kernels other than communication, as an index into ws_process.streams. Sets *stream
 * to WS_NOWHERE if there is none. */
static int main_stream(const struct ws_report *report, const struct ws_track *track, uint32_t *stream)
{
    const struct ws_process *process = ws_model_process(report->model, track->process);
    size_t streams = process->streams.rows.count, most = streams;
    size_t *counts = calloc(streams + 1, sizeof(*counts));
    uint8_t *groups = ws_report_shape_groups(report, process);
    if (counts && groups) {
        for (size_t i = 0; i < track->count; i++) {
            uint32_t shape = process->ops.shape[track->order[i]], of_op = ws_process_shape(process, shape)->stream;
            counts[of_op < streams ? of_op : streams] += groups[shape] == WS_GROUP_COMPUTE;
        }
        for (size_t i = 0; i < streams; i++)
            if (counts[i] > counts[most])
                most = i;
    }
    *stream = most < streams ? (uint32_t)most : WS_NOWHERE;
    int status = counts && groups ? 0 : -ENOMEM;
    free(counts);
    free(groups);
    return status;
}

static void find_first_launches(const struct ws_process *process, const struct ws_track *track, uint32_t stream,
                                struct ws_vector *markers)
{
    const struct ws_ops *ops = &process->ops;
    struct marker *list = markers->data;
    size_t hint = 0;
    for (size_t i = 0; i < track->count; i++) {
        uint32_t op = track->order[i];
        if (stream != WS_NOWHERE && ws_process_shape(process, ops->shape[op])->stream != stream)
            continue;
        ptrdiff_t at = marker_at(list, markers->count, hint, ws_op_host_begin(ops, op));
        if (at < 0)
            continue;
        hint = (size_t)at;
        if (ws_op_host_begin(ops, op) >= list[at].launched)
            continue;
        list[at].launched = ws_op_host_begin(ops, op);
        list[at].begin = ws_op_begin(ops, op);
    }
    /* The step of a marker without launches begins where the next step begins, so it is empty. */
    for (size_t i = markers->count - 1; i-- > 0;)
        if (list[i].begin == INT64_MAX)
            list[i].begin = list[i + 1].begin;
}

static int64_t last_end(const struct ws_ops *ops, const struct ws_track *track)
{
    int64_t end = INT64_MIN;
    for (size_t i = 0; i < track->count; i++)
        end = ws_max(end, ws_op_end(ops, track->order[i]));
    return end;
}

static int marked_steps_add_steps(const struct ws_vector *markers, int64_t end, struct ws_track_steps *result)
{
    const struct marker *list = markers->data;
    size_t last = markers->count - 1;
    int64_t before = INT64_MIN;
    for (size_t i = 0; i < last && list[i].begin != INT64_MAX; i++) {
        bool cut = list[i + 1].begin == INT64_MAX;
        int64_t next = cut ? end : list[i + 1].begin;
        int64_t begin = ws_max(list[i].begin, before);
        if (next <= begin)
            continue;
        struct ws_step *step = ws_vector_push(&result->steps);
        if (!step)
            return -ENOMEM;
        step->begin = begin;
        step->end = before = next;
        step->host_begin = list[i].host_begin;
        step->host_end = list[i + 1].host_begin;
        step->number = list[i].number;
        step->kind = cut ? WS_STEP_CUT : WS_STEP_STEADY;
    }
    return 0;
}

int ws_marked_steps(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *result)
{
    const struct ws_process *process = ws_model_process(report->model, track->process);
    struct ws_vector markers = WS_VECTOR(struct marker);
    result->why_none = "The program set no step markers.";
    int status = marked_steps_collect(&process->ranges, &markers);
    if (status || !markers.count)
        goto out;
    status = add_last_end(&markers);
    if (status)
        goto out;
    uint32_t stream;
    status = main_stream(report, track, &stream);
    if (status)
        goto out;
    find_first_launches(process, track, stream, &markers);
    status = marked_steps_add_steps(&markers, last_end(&process->ops, track), result);
    struct ws_step *steps = result->steps.data;
    if (result->steps.count)
        result->source = WS_STEPS_MARKED;
    else
        result->why_none = "No operation launched in the marked steps ran on this device.";
    /* If nothing runs after the last step, the step ends with its last operation. Such an end is inexact, so the step
     * is not steady (WS_STEP_CUT). With fewer than four steps, the last step counts as steady nevertheless. */
    if (result->steps.count && result->steps.count < 4)
        steps[result->steps.count - 1].kind = WS_STEP_STEADY;
out:
    ws_vector_finish(&markers);
    return status;
}
