#include "analysis/memory/copies.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/activity/activity.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"
#include "report/peaks.h"

static int copies_longest_first(const void *a, const void *b)
{
    const struct ws_copy_row *x = a, *y = b;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    return (x->name > y->name) - (x->name < y->name);
}

double ws_copy_rate(const struct ws_copy_row *row)
{
    return row->total > 0 ? (double)row->timed_bytes / (double)row->total : 0;
}

double ws_copy_best_rate(const struct ws_track_copies *result, const struct ws_copy_row *row)
{
    bool inside = row->from == WS_SPACE_DEVICE && row->to == WS_SPACE_DEVICE;
    return inside && result->memory_bytes_per_ns > 0 ? result->memory_bytes_per_ns / 2 : row->fastest;
}

static bool is_small(uint64_t bytes)
{
    return bytes && bytes < WS_COPY_SMALL;
}

/* Returns a lower bound of the copy's rate in bytes per ns: the bytes divided by the longest duration that the copy
 * may have had. The longest duration is the measured duration plus the errors of the copy's start and end times. If
 * the host's call returned only after the copy, as with pageable memory, the longest duration is that of the call,
 * because the copy ran within the call. */
static double sure_rate(const struct ws_ops *ops, size_t op, const struct ws_op_shape *shape)
{
    int64_t length = ws_op_length(ops, op);
    bool holds_call =
        ops->flags[op] & WS_OP_BLOCKING || ws_copy_is_pageable(shape->row.from_space, shape->row.to_space);
    if (holds_call && ws_op_has_call(ops, op))
        length = ws_max(length, ws_op_host_length(ops, op));
    else
        length = ws_sum(length, ws_op_begin_error(ops, op) + ws_op_end_error(ops, op));
    return length > 0 ? (double)ws_op_bytes(ops, op) / (double)length : 0;
}

/* Adds a copy to the row of its name ("host to device, pageable"). Copies without device times count as well. */
static void add_copy(const struct ws_ops *ops, size_t op, const struct ws_op_shape *shape, struct ws_copy_row *row)
{
    uint64_t bytes = ws_op_bytes(ops, op);
    row->name = shape->name;
    row->from = shape->row.from_space;
    row->to = shape->row.to_space;
    row->count++;
    row->bytes += bytes;
    row->small += is_small(bytes);
    row->blocking += (ops->flags[op] & WS_OP_BLOCKING) != 0;
    if (ws_op_has_call(ops, op))
        row->host = ws_sum(row->host, ws_op_host_length(ops, op));
    if (ws_op_is_timed(ops, op)) {
        int64_t length = ws_op_length(ops, op);
        double rate = sure_rate(ops, op, shape);
        row->timed++;
        row->timed_bytes += bytes;
        row->total = ws_sum(row->total, length);
        if (bytes >= WS_COPY_LARGE && rate > row->fastest)
            row->fastest = rate;
    }
}

/* Does the operation move bytes within the device's own memory only? */
static bool is_inside(const struct ws_shape *shape)
{
    return shape->kind == WS_OP_MEMSET ||
           (shape->kind == WS_OP_COPY && shape->from_space == WS_SPACE_DEVICE && shape->to_space == WS_SPACE_DEVICE);
}

static enum ws_copy_cure cure_of(const struct ws_shape *shape, uint64_t bytes)
{
    uint32_t from = shape->from_space, to = shape->to_space;
    if (is_small(bytes) && !is_inside(shape))
        return WS_CURE_BATCH;
    if (ws_copy_is_pageable(from, to))
        return WS_CURE_PIN;
    if (!from || !to)
        return WS_CURE_NONE;
    return is_inside(shape) ? WS_CURE_INSIDE : WS_CURE_OVERLAP;
}

/* A storm: small copies that follow each other on one stream, without other work or a long pause between them. */
struct storm {
    uint64_t count, bytes;
    int64_t begin, end;
};

/* State of a loop over a device's operations in the order of their starts. */
struct walk {
    const struct ws_process *process;
    struct ws_copy_row *names; /* one row for each name of an operation, by index in ws_model.names */
    struct ws_track_copies *result;
    struct storm *storms; /* one storm per stream, by the stream's index; the last entry is for unknown streams */
    struct ws_reach reach;
    int64_t now;
    uint32_t holder; /* index of the copy or memset with the latest end of those that the loop has visited; valid if
                        `held` is true */
    bool held, steady;
};

/* Finds the exposed time between walk->now and `next`: the time in which a copy or memset runs, but neither compute
 * nor communication. Adds this time to the figures of the copy or memset walk->holder. The loop must have visited all
 * operations that begin before `next`. */
static void expose(struct walk *walk, int64_t next)
{
    const struct ws_ops *ops = &walk->process->ops;
    int64_t hidden = ws_max(walk->reach.group[WS_GROUP_COMPUTE], walk->reach.group[WS_GROUP_COMM]);
    int64_t from = ws_max(walk->now, hidden), to = ws_min(walk->reach.group[WS_GROUP_MEMORY], next);
    walk->now = next;
    if (!walk->held || from >= to)
        return;
    const struct ws_op_shape *shape = ws_process_shape(walk->process, ops->shape[walk->holder]);
    if (walk->steady && is_inside(&shape->row))
        walk->result->inside += to - from;
    if (shape->row.kind != WS_OP_COPY)
        return;
    walk->names[shape->name].exposed += to - from;
    walk->names[shape->name].steady += walk->steady ? to - from : 0;
    if (walk->steady)
        walk->result->cures[cure_of(&shape->row, ws_op_bytes(ops, walk->holder))].exposed += to - from;
}

static void end_storm(struct ws_track_copies *result, struct storm *storm)
{
    if (storm->count >= WS_STORM_LEAST) {
        result->storms++;
        result->storm_copies += storm->count;
        result->storm_bytes += storm->bytes;
        result->storm_time = ws_sum(result->storm_time, storm->end - storm->begin);
    }
    storm->count = 0;
}

static void look_for_storm(struct walk *walk, const struct ws_op_shape *shape, uint32_t op)
{
    const struct ws_ops *ops = &walk->process->ops;
    size_t stream = shape->stream != WS_NOWHERE ? shape->stream : walk->process->streams.rows.count;
    struct storm *storm = &walk->storms[stream];
    uint64_t bytes = shape->row.kind == WS_OP_COPY ? ws_op_bytes(ops, op) : 0;
    if (storm->count && (!is_small(bytes) || ws_op_begin(ops, op) - storm->end > WS_STORM_PAUSE_NS))
        end_storm(walk->result, storm);
    if (!is_small(bytes))
        return;
    if (!storm->count++)
        *storm = (struct storm){ .count = 1, .begin = ws_op_begin(ops, op) };
    storm->bytes += bytes;
    storm->end = ws_op_end(ops, op);
}

static void count_cure(struct walk *walk, const struct ws_op_shape *shape, uint32_t op)
{
    uint64_t bytes = ws_op_bytes(&walk->process->ops, op);
    int64_t length = ws_op_length(&walk->process->ops, op);
    struct ws_copy_exposure *cure = &walk->result->cures[cure_of(&shape->row, bytes)];
    if (!cure->count++ || length > cure->longest) {
        cure->longest = length;
        cure->example = op;
    }
    cure->bytes += bytes;
}

static void walk_track(struct walk *walk, const struct ws_track *track, const struct ws_track_steps *steps,
                       const uint8_t *groups)
{
    const struct ws_ops *ops = &walk->process->ops;
    size_t cursor = 0;
    for (size_t i = 0; i < track->count; i++) {
        uint32_t op = track->order[i];
        const struct ws_op_shape *shape = ws_process_shape(walk->process, ops->shape[op]);
        uint8_t group = groups[ops->shape[op]];
        int64_t end = ws_op_end(ops, op);
        if (ws_op_begin(ops, op) > walk->now)
            expose(walk, ws_op_begin(ops, op));
        if (end >= walk->reach.group[group]) {
            walk->reach.group[group] = end;
            if (group == WS_GROUP_MEMORY) {
                walk->holder = op;
                walk->held = true;
            }
        }
        walk->steady = !walk->result->steps || ws_step_is_steady(ws_steps_next(steps, &cursor, ws_op_begin(ops, op)));
        if (shape->row.kind == WS_OP_COPY && walk->steady)
            count_cure(walk, shape, op);
        look_for_storm(walk, shape, op);
    }
    expose(walk, INT64_MAX);
    for (size_t i = 0; i <= walk->process->streams.rows.count; i++)
        end_storm(walk->result, &walk->storms[i]);
}

/* Finds the exposed time of copies, and the storms: series of small copies. */
static int find_exposed(const struct ws_report *report, size_t subject, struct ws_copy_row *names,
                        struct ws_track_copies *result)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    struct walk walk = { .process = ws_model_process(report->model, track->process),
                         .names = names,
                         .result = result };
    if (!track->count)
        return 0;
    walk.now = ws_op_begin(&walk.process->ops, track->order[0]);
    walk.reach = ws_reach_from(walk.now);
    uint8_t *groups = ws_report_shape_groups(report, walk.process);
    walk.storms = calloc(walk.process->streams.rows.count + 1, sizeof(*walk.storms));
    int status = groups && walk.storms ? 0 : -ENOMEM;
    if (!status)
        walk_track(&walk, track, steps, groups);
    free(groups);
    free(walk.storms);
    return status;
}

/* Adds all copies to the rows of their names. Returns whether the device has copies or memsets. */
static bool add_copies(const struct ws_process *process, size_t subject, struct ws_copy_row *names)
{
    const struct ws_ops *ops = &process->ops;
    bool any = false;
    for (size_t i = 0; i < ops->count; i++) {
        const struct ws_op_shape *shape = ws_process_shape(process, ops->shape[i]);
        any = any || (shape->row.kind == WS_OP_MEMSET && shape->track == subject);
        if (shape->row.kind == WS_OP_COPY && shape->track == subject &&
            !(ops->flags[i] & (WS_OP_FAILED | WS_OP_CAPTURED))) {
            add_copy(ops, i, shape, &names[shape->name]);
            any = true;
        }
    }
    return any;
}

static int copies_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    struct ws_track_copies *result = memory;
    result->rows = WS_VECTOR(struct ws_copy_row);
    result->steps = steps->kinds[WS_STEP_STEADY];
    result->memory_bytes_per_ns = ws_track_bandwidth(report, track);
    struct ws_copy_row *names = calloc(report->model->names.count + 1, sizeof(*names));
    int status = names ? 0 : -ENOMEM;
    if (!status && add_copies(process, subject, names))
        status = find_exposed(report, subject, names, result);
    for (size_t i = 0; i < report->model->names.count && !status; i++) {
        struct ws_copy_row *row = names[i].count ? ws_vector_push(&result->rows) : &names[i];
        if (row)
            *row = names[i];
        else
            status = -ENOMEM;
    }
    free(names);
    if (result->rows.count)
        qsort(result->rows.data, result->rows.count, sizeof(struct ws_copy_row), copies_longest_first);
    return status;
}

static void copies_finish(void *memory)
{
    struct ws_track_copies *result = memory;
    ws_vector_finish(&result->rows);
}

const struct ws_analysis ws_analysis_copies = {
    .name = "copies",
    .title = "Copies",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_copies),
    .needs = { &ws_analysis_steps },
    .run = copies_run,
    .finish = copies_finish,
    .text = ws_copies_text,
    .json = ws_copies_json,
    .advise = ws_copies_advise,
};
