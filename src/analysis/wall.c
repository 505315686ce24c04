#include "analysis/wall.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity.h"
#include "analysis/gaps.h"
#include "analysis/kernels.h"
#include "analysis/savings.h"
#include "analysis/steps.h"

/* Percent of the operations without times, up to which there is a verdict: a third of what makes overhead the wall.
 */
enum { UNTIMED_LIMIT = WS_WALL_OVERHEAD_LIMIT / 3 };

static bool exceeds(int64_t part, int64_t whole, int percent)
{
    return (double)part > (double)whole * percent / 100.0;
}

/* Sums by shape first: there are few of them, and no sum waits for the one before. */
static void add_operations(double *times, const struct ws_ops *ops, const struct ws_track *track, size_t first,
                           size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        uint32_t op = track->order[i];
        times[ops->shape[op]] += (double)ws_op_length(ops, op);
    }
}

/* WS_PART_COUNT for what is no compute. A product of a matrix and a vector reads each weight for two operations: it
 * waits for memory on any GPU, and is no matrix work. Of a graph that was timed as a whole nobody knows. */
static enum ws_part part_of(const struct ws_report *report, size_t index)
{
    const struct ws_op_name *name = ws_model_name(report->model, index);
    if (ws_report_group(report, index) != WS_GROUP_COMPUTE)
        return WS_PART_COUNT;
    if (name->kind == WS_OP_GRAPH)
        return WS_PART_GRAPHS;
    bool matmul = ws_class_is_matmul(ws_report_class(report, index)) && !strstr(name->text, "gemv");
    return matmul ? WS_PART_MATMUL : WS_PART_OTHER_COMPUTE;
}

/* Compute is a union of intervals; its parts have the shares that they have of the operations' summed time. */
static int split_compute(const struct ws_report *report, size_t subject, const struct ws_track_steps *steps,
                         struct ws_track_wall *result, int64_t compute)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_step *list = steps->steps.data;
    double *times = calloc(process->shapes.count + 1, sizeof(*times)), of[WS_PART_COUNT] = { 0 }, all = 0;
    if (!times)
        return -ENOMEM;
    if (!result->per_step)
        add_operations(times, &process->ops, track, 0, track->count);
    for (size_t i = 0; i < steps->steps.count && result->per_step; i++)
        if (ws_step_is_steady(&list[i]))
            add_operations(times, &process->ops, track, list[i].first, list[i].count);
    for (size_t i = 0; i < process->shapes.count; i++) {
        enum ws_part part = times[i] > 0 ? part_of(report, ws_process_shape(process, i)->name) : WS_PART_COUNT;
        if (part == WS_PART_COUNT)
            continue;
        of[part] += times[i];
        all += times[i];
    }
    free(times);
    double scale = all > 0 ? (double)compute / all : 0;
    result->parts[WS_PART_MATMUL] = (int64_t)(of[WS_PART_MATMUL] * scale);
    result->parts[WS_PART_GRAPHS] = (int64_t)(of[WS_PART_GRAPHS] * scale);
    result->parts[WS_PART_OTHER_COMPUTE] = compute - result->parts[WS_PART_MATMUL] - result->parts[WS_PART_GRAPHS];
    return 0;
}

/* The parts of all steady steps, or of the recording, summed; the parts of one then are a division away. */
static int sum_parts(const struct ws_report *report, size_t subject, struct ws_track_wall *result)
{
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_step *list = steps->steps.data;
    int64_t compute = activity->group[WS_GROUP_COMPUTE];
    result->per_step = steps->kinds[WS_STEP_STEADY] > 0;
    result->steps = result->per_step ? steps->kinds[WS_STEP_STEADY] : 1;
    result->length = ws_activity_known(activity);
    result->parts[WS_PART_EXPOSED_COMM] = activity->exposed_comm;
    result->parts[WS_PART_EXPOSED_MEMORY] = activity->exposed_memory;
    if (result->per_step) {
        result->length = compute = 0;
        result->parts[WS_PART_EXPOSED_COMM] = result->parts[WS_PART_EXPOSED_MEMORY] = 0;
    }
    for (size_t i = 0; i < steps->steps.count && result->per_step; i++) {
        if (!ws_step_is_steady(&list[i]))
            continue;
        result->length += list[i].end - list[i].begin;
        result->parts[WS_PART_EXPOSED_COMM] += list[i].split.exposed_comm;
        result->parts[WS_PART_EXPOSED_MEMORY] += list[i].split.exposed_memory;
        compute += list[i].split.group[WS_GROUP_COMPUTE];
    }
    /* Idle time outside the gaps, as between bursts inside a step, has no cause either. */
    int64_t idle =
        result->length - compute - result->parts[WS_PART_EXPOSED_COMM] - result->parts[WS_PART_EXPOSED_MEMORY];
    for (int cause = 0; cause < WS_CAUSE_COUNT; cause++) {
        result->parts[cause] = ws_gap_time(causes, &causes->totals[cause]);
        idle -= result->parts[cause];
    }
    result->parts[WS_PART_UNEXPLAINED] += idle;
    return split_compute(report, subject, steps, result, compute);
}

static void average(struct ws_track_wall *result)
{
    int64_t steps = (int64_t)result->steps;
    result->length /= steps;
    for (int part = 0; part < WS_PART_COUNT; part++) {
        result->parts[part] /= steps;
        result->by_wall[ws_part_wall((enum ws_part)part)] += result->parts[part];
    }
}

static enum ws_wall judge(const struct ws_track_wall *result)
{
    int64_t overhead = result->by_wall[WS_WALL_OVERHEAD], comm = result->by_wall[WS_WALL_COMMUNICATION];
    bool held_up = exceeds(overhead, result->length, WS_WALL_OVERHEAD_LIMIT) ||
                   exceeds(result->parts[WS_PART_INPUT], result->length, WS_WALL_INPUT_LIMIT);
    if (exceeds(comm, result->length, WS_WALL_COMMUNICATION_LIMIT) && (!held_up || comm > overhead))
        return WS_WALL_COMMUNICATION;
    if (held_up)
        return WS_WALL_OVERHEAD;
    int64_t compute = result->by_wall[WS_WALL_COMPUTE], bandwidth = result->by_wall[WS_WALL_BANDWIDTH];
    if (result->by_wall[WS_WALL_NONE] > (compute > bandwidth ? compute : bandwidth))
        return WS_WALL_NONE;
    return compute >= bandwidth ? WS_WALL_COMPUTE : WS_WALL_BANDWIDTH;
}

static enum ws_part largest_part(const struct ws_track_wall *result, enum ws_wall wall)
{
    int largest = -1;
    for (int part = 0; part < WS_PART_COUNT; part++)
        if (ws_part_wall((enum ws_part)part) == wall && (largest < 0 || result->parts[part] > result->parts[largest]))
            largest = part;
    return (enum ws_part)largest;
}

/* The wall of what is left of a step without its waits for input. */
static void look_behind(struct ws_track_wall *result)
{
    struct ws_track_wall rest = *result;
    if (result->wall != WS_WALL_OVERHEAD || result->cause != WS_PART_INPUT)
        return;
    rest.length -= rest.parts[WS_PART_INPUT];
    rest.by_wall[WS_WALL_OVERHEAD] -= rest.parts[WS_PART_INPUT];
    rest.parts[WS_PART_INPUT] = 0;
    result->behind = judge(&rest);
    result->behind_cause = largest_part(&rest, result->behind);
}

/* What several causes win at once beyond the pieces of advice against each; of idle time no more than there is. */
static int64_t won_together(const struct ws_report *report, size_t subject, const struct ws_track_wall *result)
{
    const struct ws_track_savings *savings = ws_report_result(report, &ws_analysis_savings, subject);
    const struct ws_advice *advice = result->advice.items.data;
    char causes[WS_TOGETHER_TEXT];
    int64_t more = savings->together - ws_savings_together(savings, causes), idle = 0;
    for (int cause = 0; cause < WS_CAUSE_COUNT; cause++)
        idle += result->parts[cause];
    for (size_t i = 0; i < result->advice.items.count; i++)
        idle -= advice[i].part < WS_CAUSE_COUNT ? advice[i].saving_ns : 0;
    return ws_most(ws_least(more, idle), 0);
}

/* The advice of every analysis on this device. */
static int gather(const struct ws_report *report, size_t subject, struct ws_track_wall *result)
{
    int status = 0;
    result->advice = WS_ADVICE_LIST;
    for (size_t i = 0; i < ws_analysis_count && !status; i++) {
        const struct ws_analysis *analysis = ws_analyses[i];
        size_t of = analysis->scope == WS_SCOPE_TRACK ? subject : 0;
        if (analysis->advise)
            status = analysis->advise(report, of, ws_report_result(report, analysis, of), &result->advice);
    }
    if (!status)
        result->saving = ws_advice_settle(&result->advice, (uint32_t)subject, result->parts) +
                         won_together(report, subject, result);
    return status;
}

static const char *why_none(const struct ws_track *track, const struct ws_track_wall *result)
{
    uint64_t untimed = track->untimed + track->backwards;
    if (!track->count)
        return untimed ? "the trace holds no device times" : "no operation on this device is in the trace";
    if (exceeds((int64_t)untimed, (int64_t)(track->count + untimed), UNTIMED_LIMIT))
        return "too many operations have no device times";
    return result->length > 0 ? NULL : "the recording is too short";
}

static int run(const struct ws_report *report, size_t subject, void *memory)
{
    struct ws_track_wall *result = memory;
    int status = sum_parts(report, subject, result);
    if (status)
        return status;
    average(result);
    result->why_none = why_none(ws_model_track(report->model, subject), result);
    if (!result->why_none) {
        result->wall = judge(result);
        if (!result->wall)
            result->why_none = "nothing holds the GPU up, and CUDA graphs, whose kernels are not told apart, ran "
                               "most of the time";
        result->cause = largest_part(result, result->wall);
        look_behind(result);
    }
    result->trains = ws_report_trains(report, subject);
    return gather(report, subject, result);
}

static void finish(void *memory)
{
    struct ws_track_wall *result = memory;
    ws_advice_finish(&result->advice);
}

static const struct ws_track_wall *wall_of(const struct ws_report *report, size_t track)
{
    return track == WS_NOWHERE ? NULL : ws_report_result(report, &ws_analysis_wall, track);
}

struct ws_slowest ws_report_slowest(const struct ws_report *report)
{
    struct ws_slowest slowest = { .shown = WS_NOWHERE, .slower = WS_NOWHERE };
    size_t tracks = report->model->tracks.count;
    for (size_t i = 0; i < tracks; i++) {
        const struct ws_track_wall *wall = wall_of(report, i), *before = wall_of(report, slowest.shown);
        if (wall->wall && (!before || wall->per_step > before->per_step ||
                           (wall->per_step == before->per_step && wall->length > before->length)))
            slowest.shown = i;
    }
    const struct ws_track_wall *shown = wall_of(report, slowest.shown);
    for (size_t i = 0; i < tracks && shown; i++) {
        const struct ws_track *track = ws_model_track(report->model, i);
        const struct ws_track_wall *wall = wall_of(report, i), *before = wall_of(report, slowest.slower);
        if (wall->per_step != shown->per_step)
            slowest.not_compared += track->count || track->untimed || track->backwards;
        else if (!wall->wall && wall->length > (before ? before : shown)->length)
            slowest.slower = i;
    }
    return slowest;
}

static int advice_json(json_t *list, const struct ws_advice *advice, size_t count, bool per_step)
{
    int status = 0;
    for (size_t i = 0; i < count && !status; i++) {
        json_t *row = json_object();
        status |= json_array_append_new(list, row);
        status |= json_object_set_new(row, "cause", json_string(advice[i].name));
        status |= json_object_set_new(row, "part", json_string(ws_part_name(advice[i].part)));
        status |= json_object_set_new(row, "wall", json_string(ws_wall_name(ws_part_wall(advice[i].part))));
        status |= ws_json_set(row, "saving_ns", advice[i].saving_ns);
        if (per_step)
            status |= ws_json_set(row, "saving_ns_per_step", advice[i].saving_ns);
        status |= json_object_set_new(row, "text", ws_json_text(advice[i].what));
        status |= json_object_set_new(row, "where", ws_json_text(advice[i].where));
        status |= json_object_set_new(row, "evidence", ws_json_text(advice[i].evidence));
    }
    return status;
}

static int wall_json(json_t *object, const struct ws_track_wall *result)
{
    json_t *wall = json_object(), *parts = json_object();
    int status = json_object_set_new(object, "wall", wall);
    status |= json_object_set_new(wall, "name", json_string(ws_wall_name(result->wall)));
    status |= json_object_set_new(wall, "cause", json_string(ws_part_name(result->cause)));
    status |= json_object_set_new(wall, "per_step", json_boolean(result->per_step));
    status |= ws_json_set(wall, "step_ns", result->length);
    status |= ws_json_set(wall, "wall_ns", result->by_wall[result->wall]);
    status |= ws_json_set(wall, "saving_ns", result->saving);
    status |= json_object_set_new(wall, "trains", json_boolean(result->trains));
    status |= json_object_set_new(wall, "behind_input",
                                  result->behind ? json_string(ws_wall_name(result->behind)) : json_null());
    status |= json_object_set_new(wall, "parts", parts);
    for (int part = 0; part < WS_PART_COUNT; part++)
        status |= ws_json_set(parts, ws_part_name((enum ws_part)part), result->parts[part]);
    return status;
}

static int json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_wall *result = memory;
    json_t *advice = json_array();
    (void)report;
    (void)subject;
    int status = json_object_set_new(object, "advice", advice);
    if (result->why_none) {
        status |= json_object_set_new(object, "wall", json_null());
        status |= json_object_set_new(object, "wall_reason", json_string(result->why_none));
    } else {
        status |= wall_json(object, result);
        status |= advice_json(advice, result->advice.items.data, result->advice.items.count, result->per_step);
    }
    return status ? -ENOMEM : 0;
}

const struct ws_analysis ws_analysis_wall = {
    .name = "wall",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_wall),
    .last = true,
    .run = run,
    .finish = finish,
    .json = json,
};
