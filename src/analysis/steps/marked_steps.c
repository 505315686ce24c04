#include "analysis/steps/marked_steps.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/activity/activity.h"
#include "base/minmax.h"

/* A step marker, and the work launched from the start of this marker to the start of the next marker. A list of
 * markers ends with an extra entry, which represents the end of the last marker. */
struct marker {
    int64_t host_begin, host_end;
    uint64_t number;
    int64_t launched; /* host time of the marker's first launch into the main stream; INT64_MAX: no launch */
    int64_t first;    /* start on the device of the operation launched at `launched`; INT64_MAX: no launch */
    int64_t boundary; /* start of the marker's step on the device */
    int64_t end;      /* latest end of the operations launched in the marker; INT64_MIN: no launch */
    bool held; /* the operation that starts at `first` waited for work that was launched before the recording */
};

/* Facts about a stream. In an array of `struct lane`, the last entry is for operations whose stream is not known. */
struct lane {
    bool calls; /* the trace holds launch calls of the stream's operations */
    /* find_work has visited an operation of this stream; if `calls` is true: an operation with a launch call */
    bool begun;
    ptrdiff_t at; /* index of the marker at the time of the stream's latest launch; -1: before all markers */
};

enum { FEW = 4 };

static struct marker marked_steps_marker(int64_t begin, int64_t end, uint64_t number)
{
    return (struct marker){ begin, end, number, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MIN, false };
}

/* Collects the step markers of the thread with the most step markers, in order of start. */
static int marked_steps_collect(const struct ws_ranges *ranges, struct ws_vector *markers)
{
    const struct ws_thread_rows *threads = ranges->threads.data, *best = NULL;
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
        *marker = marked_steps_marker(range->host_begin, range->host_end, range->number);
    }
    return 0;
}

/* Adds an entry for the end of the last marker to the list. The last step ends at this time. Each other step ends at
 * the start of the next marker. */
static int add_last_end(struct ws_vector *markers)
{
    const struct marker *list = markers->data;
    int64_t end = ws_max(list[markers->count - 1].host_end, list[markers->count - 1].host_begin);
    struct marker *marker = ws_vector_push(markers);
    if (!marker)
        return -ENOMEM;
    *marker = marked_steps_marker(end, end, 0);
    return 0;
}

/* Returns the index of the last marker that began at or before `time`, or -1 if there is none. `hint` is the index
 * that the search tries first. */
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

static struct lane *lane_of(const struct ws_process *process, struct lane *lanes, uint32_t shape)
{
    return &lanes[ws_min(ws_process_shape(process, shape)->stream, (uint32_t)process->streams.rows.count)];
}

/* Sets `calls` of each stream in `lanes`. Sets *main to the main stream (the stream of the device with most kernels
 * other than communication). */
static int look_at_streams(const struct ws_report *report, const struct ws_track *track, struct lane *lanes,
                           uint32_t *main)
{
    const struct ws_process *process = ws_model_process(report->model, track->process);
    uint8_t *groups = ws_report_shape_groups(report, process);
    if (!groups)
        return -ENOMEM;
    for (size_t i = 0; i < track->count; i++) {
        uint32_t op = track->order[i];
        lane_of(process, lanes, process->ops.shape[op])->calls |= ws_op_has_call(&process->ops, op);
    }
    int status = ws_track_main_stream(process, track, groups, main);
    free(groups);
    return status;
}

static bool has_calls(const struct ws_process *process, const struct lane *lanes)
{
    for (size_t i = 0; i <= process->streams.rows.count; i++)
        if (lanes[i].calls)
            return true;
    return false;
}

/* Returns the index of the marker in which an operation was launched, or -1 if it was launched before all markers. If
 * the trace lacks this launch but has other launches of the stream, the operation gets the marker of its predecessor
 * on the stream. If the operation has no predecessor, it was launched before the recording, so the function returns
 * -1. If the trace lacks all launches of the stream, the operation's start on the device is used as the time of its
 * launch. `begun` is false until the device's first operation with a launch call. Until then, operations without a
 * launch call count as launched before the recording. */
static ptrdiff_t launched_at(const struct ws_ops *ops, uint32_t op, const struct ws_vector *markers,
                             struct lane *lane, bool begun, size_t *hint)
{
    if ((lane->calls || !begun) && !ws_op_has_call(ops, op))
        return lane->at;
    lane->at = marker_at(markers->data, markers->count, *hint, ws_op_host_begin(ops, op));
    *hint = lane->at < 0 ? 0 : (size_t)lane->at;
    return lane->at;
}

/* Finds the work launched in each marker. Sets *before to the latest end of the work launched before all markers. */
static void find_work(const struct ws_process *process, const struct ws_track *track, struct lane *lanes,
                      uint32_t main, struct ws_vector *markers, int64_t *before)
{
    const struct ws_ops *ops = &process->ops;
    struct marker *list = markers->data;
    int64_t reach = INT64_MIN;
    size_t hint = 0;
    bool begun = !has_calls(process, lanes);
    for (size_t i = 0; i < track->count; i++) {
        uint32_t op = track->order[i];
        struct lane *lane = lane_of(process, lanes, ops->shape[op]);
        ptrdiff_t at = launched_at(ops, op, markers, lane, begun, &hint);
        int64_t begin = ws_op_begin(ops, op), end = ws_op_end(ops, op), launched = ws_op_host_begin(ops, op);
        int64_t *latest = at < 0 ? before : &list[at].end;
        *latest = ws_max(*latest, end);
        bool known = ws_op_has_call(ops, op) || !lane->calls;
        if (at >= 0 && known && (main == WS_NOWHERE || lane == &lanes[main]) && launched < list[at].launched) {
            list[at].launched = launched;
            list[at].first = begin;
            list[at].held = !lane->begun && ws_op_was_held(process, op, reach);
        }
        lane->begun |= known;
        begun |= ws_op_has_call(ops, op);
        reach = ws_max(reach, end);
    }
}

/* Delays the start of the first step. A step begins later than its marker if the device still works on the previous
 * step. No step was recorded before the first step, so the first step gets the delay of the second step. With this
 * delay, the first step lasts as long as its host work or its device work, whichever is longer. Without the delay,
 * the first step would last as long as its host work and its device work together. */
static void delay_first(struct ws_vector *markers, int64_t before)
{
    struct marker *list = markers->data;
    size_t first = 0, last = markers->count - 1;
    while (first < last && list[first].launched == INT64_MAX)
        first++;
    size_t next = first + 1;
    while (next < last && list[next].launched == INT64_MAX)
        next++;
    if (first == last || list[first].held)
        return;
    int64_t delay = ws_max(list[next].boundary - list[next].host_begin, 0);
    list[first].boundary = ws_min(list[first].first, ws_max(list[first].host_begin + delay, before));
}

/* Sets the time at which each step begins (steps.h). `before` is the latest end of the work launched before all
 * markers. */
static void place_boundaries(struct ws_vector *markers, bool aligned, int64_t before)
{
    struct marker *list = markers->data;
    int64_t done = before;
    for (size_t i = 0; i < markers->count; i++) {
        int64_t ready = aligned ? ws_max(list[i].host_begin, done) : done;
        done = ws_max(done, list[i].end);
        list[i].boundary = ready == INT64_MIN || list[i].held ? list[i].first : ws_min(list[i].first, ready);
    }
    if (aligned)
        delay_first(markers, before);
    /* A marker without launches gets an empty step, which begins where the next step begins. */
    for (size_t i = markers->count - 1; i-- > 0;)
        if (list[i].launched == INT64_MAX)
            list[i].boundary = list[i + 1].boundary;
}

/* Does each marker end where the next marker begins? Returns false if the gaps between markers take more than 2 % of
 * the markers' time (our choice). In that case an iteration takes longer than its marker. */
static bool markers_tile(const struct ws_vector *markers)
{
    const struct marker *list = markers->data;
    double inside = 0, between = 0;
    for (size_t i = 0; i + 2 < markers->count; i++) {
        inside += (double)(list[i].host_end - list[i].host_begin);
        between += (double)ws_max(list[i + 1].host_begin - list[i].host_end, 0);
    }
    return between <= inside / 50;
}

/* Makes the steps. place_boundaries has set the field `boundary` of all markers before. If there are fewer than `few`
 * steps, the last step counts as steady even if its end is not certain. */
static int marked_steps_add_steps(const struct ws_vector *markers, size_t few, struct ws_track_steps *result)
{
    const struct marker *list = markers->data;
    /* `working`: number of markers up to the last one with a launch */
    size_t last = markers->count - 1, working = markers->count;
    int64_t before = INT64_MIN;
    while (working && list[working - 1].launched == INT64_MAX)
        working--;
    for (size_t i = 0; i < ws_min(working, last); i++) {
        int64_t next = list[i + 1].boundary, begin = ws_max(list[i].boundary, before);
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
        step->kind = WS_STEP_STEADY;
    }
    /* If nothing runs after the last step, the recording may lack the end of this step. If there are gaps between
     * markers, an iteration may go on after its marker, so the end of the last iteration is not known. */
    struct ws_step *steps = result->steps.data;
    if (result->steps.count && result->steps.count >= few && (working < markers->count || !markers_tile(markers)))
        steps[result->steps.count - 1].kind = WS_STEP_CUT;
    return 0;
}

/* Turns markers into steps. The last entry of `markers` represents the end of the last marker. */
static int steps_of_markers(const struct ws_report *report, const struct ws_track *track, struct ws_vector *markers,
                            size_t few, struct ws_track_steps *result)
{
    const struct ws_process *process = ws_model_process(report->model, track->process);
    size_t streams = process->streams.rows.count;
    struct lane *lanes = calloc(streams + 1, sizeof(*lanes));
    uint32_t main;
    int64_t before = INT64_MIN;
    int status = lanes ? look_at_streams(report, track, lanes, &main) : -ENOMEM;
    if (!status) {
        for (size_t i = 0; i <= streams; i++)
            lanes[i].at = -1;
        find_work(process, track, lanes, main, markers, &before);
        place_boundaries(markers, track->aligned, before);
        status = marked_steps_add_steps(markers, few, result);
    }
    free(lanes);
    return status;
}

int ws_marked_steps(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *result)
{
    const struct ws_process *process = ws_model_process(report->model, track->process);
    struct ws_vector markers = WS_VECTOR(struct marker);
    result->why_none = "The program set no step markers.";
    int status = marked_steps_collect(&process->ranges, &markers);
    if (!status && markers.count)
        status = add_last_end(&markers);
    if (!status && markers.count) {
        status = steps_of_markers(report, track, &markers, FEW, result);
        if (result->steps.count)
            result->source = WS_STEPS_MARKED;
        else
            result->why_none = "No operation launched in the marked steps ran on this device.";
    }
    ws_vector_finish(&markers);
    return status;
}

int ws_steps_between(const struct ws_report *report, const struct ws_track *track, const int64_t *begins,
                     size_t count, struct ws_track_steps *result)
{
    struct ws_vector markers = WS_VECTOR(struct marker);
    int status = 0;
    for (size_t i = 0; i < count && !status; i++) {
        struct marker *marker = ws_vector_push(&markers);
        if (marker)
            *marker = marked_steps_marker(begins[i], begins[i + (i + 1 < count)], i);
        else
            status = -ENOMEM;
    }
    if (!status && count > 1)
        status = steps_of_markers(report, track, &markers, 0, result);
    ws_vector_finish(&markers);
    return status;
}
