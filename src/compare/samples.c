#include "compare/samples.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/activity/activity.h"
#include "analysis/comm/comm.h"
#include "analysis/gaps/gaps.h"
#include "analysis/kernels/classify.h"
#include "analysis/memory/copies.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"

/* Idle time of a device by its cause, in ns, and the largest error of each time. */
struct causes {
    double time[WS_CAUSE_COUNT];
    double error[WS_CAUSE_COUNT];
};

struct device {
    struct ws_sampler *sweep;
    const struct ws_track *track;
    const struct ws_process *process;
    const struct ws_track_activity *activity;
    const struct ws_track_causes *causes;
    const struct ws_track_comm *comm;
    struct ws_places places;
    double *shape_times; /* time in ns of each shape (kernel, grid, block); by index in ws_process.shapes */
    size_t comm_op;      /* index in comm->ops (in order of time) of the first operation that is not yet added */
    struct ws_gap_walk walk;
    struct ws_gap gap; /* if has_gap: the first idle period of the device that is not yet added in full */
    bool has_gap;
    int64_t passed; /* ns; the part of `gap` before this time is already added */
    struct ws_gap_run run;
    struct causes idle; /* idle time by cause, summed over all stretches so far */
    double error;       /* largest error of the busy time, as a share of the recorded time */
};

/* A stretch of a device's time: a step, or the time before the first step, between two steps or after the last step.
 * The next stretch begins at `end`. Only a stretch that is a step has `begin`, `length` and `split`. */
struct stretch {
    int64_t begin, end;
    size_t first, last; /* indices in ws_track.order: first operation of this stretch, and of the next stretch */
    int64_t length;
    const struct ws_split *split;
    bool steady;
};

uint32_t ws_sample_class(const struct ws_report *report, uint32_t name)
{
    return ws_model_name(report->model, name)->kind == WS_OP_GRAPH ? (uint32_t)WS_GRAPH_CLASS
                                                                   : (uint32_t)ws_report_class(report, name);
}

/* --- one sample --------------------------------------------------------------------------------- */

static void add_split(struct device *device, struct ws_samples *samples, int64_t length, const struct ws_split *split)
{
    double error = device->error * (double)length;
    const int64_t times[WS_SAMPLE_TIME_COUNT] = {
        [WS_TIME_OF_LENGTH] = length,
        [WS_TIME_OF_BUSY] = split->busy,
        [WS_TIME_OF_COMPUTE] = split->group[WS_GROUP_COMPUTE],
        [WS_TIME_OF_COMM] = split->group[WS_GROUP_COMM],
        [WS_TIME_OF_MEMORY] = split->group[WS_GROUP_MEMORY],
    };
    samples->count++;
    for (int i = 0; i < WS_SAMPLE_TIME_COUNT; i++)
        ws_sum_add(&samples->times[i], (double)times[i], i == WS_TIME_OF_LENGTH ? 0 : error);
    ws_sum_add(&samples->parts[WS_SAMPLE_EXPOSED_COMM], (double)split->exposed_comm, error);
    ws_sum_add(&samples->parts[WS_SAMPLE_EXPOSED_MEMORY], (double)split->exposed_memory, error);
    ws_sum_add(&samples->parts[WS_SAMPLE_COMPUTE], (double)split->group[WS_GROUP_COMPUTE], error);
}

/* Adds a sample's idle time by cause. If `idle`, the whole idle time, is longer than the sum over all causes, the
 * rest counts as unexplained. */
static void add_causes(struct ws_samples *samples, const struct causes *causes, int64_t idle)
{
    double left = (double)idle;
    for (int i = 0; i < WS_CAUSE_COUNT; i++)
        left -= causes->time[i];
    for (int i = 0; i < WS_CAUSE_COUNT; i++)
        ws_sum_add(&samples->parts[i], causes->time[i] + (i == WS_PART_UNEXPLAINED ? left : 0), causes->error[i]);
}

/* Adds the part of a steady step that lies before the device's first operation, or after its last operation. This
 * idle time is in no gap, because a gap lies between two operations. */
static void sum_edges(const struct device *device, const struct stretch *stretch, struct causes *causes)
{
    for (int i = 0; i < 2; i++) {
        const struct ws_edge_gap *edge = &device->causes->edges[i];
        int64_t part = ws_min(edge->end, stretch->end) - ws_max(edge->begin, stretch->begin);
        causes->time[edge->cause] += stretch->steady && part > 0 ? (double)part : 0;
    }
}

/* Adds up the gaps (idle periods) in the stretch, by cause and by the line of code that caused them. A gap may reach
 * into the next stretch. The error of a gap is the sum of the errors of its two ends. This error is added to the
 * stretch in which the gap ends. */
static void sum_gaps(struct device *device, const struct stretch *stretch, struct causes *causes)
{
    const struct ws_ops *ops = &device->process->ops;
    const struct ws_gap *gap = &device->gap;
    while (device->has_gap && gap->begin < stretch->end && device->passed < stretch->end) {
        ws_gap_run_reach(device->causes, &device->run, gap);
        bool ends = gap->end <= stretch->end;
        double length = (double)(ws_min(gap->end, stretch->end) - ws_max(gap->begin, device->passed));
        double error = ends ? (double)(ws_op_end_error(ops, gap->before) + ws_op_begin_error(ops, gap->after)) : 0;
        causes->time[device->run.cause] += length;
        causes->error[device->run.cause] += error;
        ws_tally_add(&device->sweep->lines, device->places.lines[device->run.line], length, error);
        device->passed = stretch->end;
        if (!ends)
            break;
        device->has_gap = ws_gap_next(&device->walk, &device->gap);
        device->passed = INT64_MIN;
    }
    ws_tallies_flush(&device->sweep->lines, stretch->steady);
}

static void sum_collectives(struct device *device, const struct stretch *stretch)
{
    const struct ws_comm_op *list = device->comm->ops.data;
    struct ws_report_side_collective *rows = device->sweep->side->collectives.data;
    for (; device->comm_op < device->comm->ops.count && list[device->comm_op].begin < stretch->end;
         device->comm_op++) {
        const struct ws_comm_op *one = &list[device->comm_op];
        uint32_t place = device->places.collectives[one->kind];
        ws_tally_add(&device->sweep->collectives, place, (double)one->end - (double)one->begin, 0);
        rows[place].bytes[WS_PER_RECORDING] += (double)one->bytes;
        if (stretch->steady)
            rows[place].bytes[WS_PER_STEP] += (double)one->bytes;
    }
    ws_tallies_flush(&device->sweep->collectives, stretch->steady);
}

static void samples_sum_ops(struct device *device, const struct stretch *stretch,
                            double amounts[WS_SAMPLE_AMOUNT_COUNT])
{
    const struct ws_ops *ops = &device->process->ops;
    const struct ws_op_shape *shapes = device->process->shapes.data;
    for (size_t place = stretch->first; place < stretch->last; place++) {
        uint32_t op = device->track->order[place], index = ops->shape[op];
        const struct ws_op_shape *shape = &shapes[index];
        double length = (double)ws_op_length(ops, op);
        ws_tally_add(&device->sweep->names, shape->name, length,
                     (double)(ws_op_begin_error(ops, op) + ws_op_end_error(ops, op)));
        device->shape_times[index] += length;
        if (shape->row.kind != WS_OP_COPY && shape->row.kind != WS_OP_MEMSET) {
            amounts[WS_AMOUNT_KERNELS]++;
            continue;
        }
        double bytes = shape->row.kind == WS_OP_COPY ? (double)ws_op_bytes(ops, op) : 0;
        amounts[WS_AMOUNT_COPIES]++;
        amounts[WS_AMOUNT_BYTES] += bytes;
        amounts[WS_AMOUNT_PAGEABLE] += ws_copy_is_pageable(shape->row.from_space, shape->row.to_space) ? bytes : 0;
    }
}

/* Adds the time of the operations in the current stretch to the samples, by class of operation. */
static void samples_add_classes(struct device *device, struct ws_samples *samples)
{
    struct ws_sum classes[WS_SAMPLE_CLASSES] = { 0 };
    for (size_t i = 0; i < device->sweep->names.touched_count; i++) {
        uint32_t name = device->sweep->names.touched[i];
        struct ws_sum *class = &classes[ws_sample_class(device->sweep->report, name)];
        class->sum += device->sweep->names.items[name].now;
        class->error += device->sweep->names.items[name].error;
    }
    for (size_t i = 0; i < WS_SAMPLE_CLASSES; i++)
        ws_sum_add(&samples->classes[i], classes[i].sum, classes[i].error);
}

static void samples_add_amounts(struct ws_samples *samples, const double amounts[WS_SAMPLE_AMOUNT_COUNT])
{
    for (int i = 0; i < WS_SAMPLE_AMOUNT_COUNT; i++)
        ws_sum_add(&samples->amounts[i], amounts[i], 0);
}

/* --- a device ---------------------------------------------------------------------------------- */

static void samples_add_stretch(struct device *device, const struct stretch *stretch)
{
    struct ws_samples *steps = &device->sweep->side->per[WS_PER_STEP],
                      *whole = &device->sweep->side->per[WS_PER_RECORDING];
    double amounts[WS_SAMPLE_AMOUNT_COUNT] = { 0 };
    struct causes causes = { 0 };
    sum_gaps(device, stretch, &causes);
    for (int i = 0; i < WS_CAUSE_COUNT; i++) {
        device->idle.time[i] += causes.time[i];
        device->idle.error[i] += causes.error[i];
    }
    sum_collectives(device, stretch);
    samples_sum_ops(device, stretch, amounts);
    samples_add_classes(device, whole);
    samples_add_amounts(whole, amounts);
    if (stretch->steady) {
        sum_edges(device, stretch, &causes);
        add_split(device, steps, stretch->length, stretch->split);
        add_causes(steps, &causes, stretch->length - stretch->split->busy);
        samples_add_classes(device, steps);
        samples_add_amounts(steps, amounts);
    }
    ws_tallies_flush(&device->sweep->names, stretch->steady);
}

/* Adds the time of a device from its first to its last operation: the steps, and the time before, between and after
 * them. */
static void samples_add_stretches(struct device *device, const struct ws_track_steps *steps)
{
    const struct ws_step *list = steps->steps.data;
    size_t place = 0;
    for (size_t i = 0; i < steps->steps.count; i++) {
        const struct ws_step *step = &list[i];
        struct stretch before = { .end = step->begin, .first = place, .last = step->first };
        struct stretch one = { step->begin,
                               step->end,
                               step->first,
                               (size_t)step->first + step->count,
                               step->end - step->begin,
                               &step->split,
                               ws_step_is_steady(step) };
        samples_add_stretch(device, &before);
        samples_add_stretch(device, &one);
        place = one.last;
    }
    struct stretch rest = { .end = INT64_MAX, .first = place, .last = device->track->count };
    samples_add_stretch(device, &rest);
}

/* Adds the device's whole recording as one sample. */
static void add_recording(struct device *device)
{
    const struct ws_track_activity *activity = device->activity;
    const struct ws_split split = { .busy = activity->busy,
                                    .group = { activity->group[WS_GROUP_COMPUTE], activity->group[WS_GROUP_COMM],
                                               activity->group[WS_GROUP_MEMORY] },
                                    .exposed_comm = activity->exposed_comm,
                                    .exposed_memory = activity->exposed_memory };
    struct ws_samples *whole = &device->sweep->side->per[WS_PER_RECORDING];
    add_split(device, whole, ws_activity_known(activity), &split);
    add_causes(whole, &device->idle, ws_activity_known(activity) - activity->busy);
}

static void keep_longest_launches(struct device *device)
{
    const struct ws_op_shape *shapes = device->process->shapes.data;
    for (size_t i = 0; i < device->process->shapes.count; i++) {
        struct ws_launch *launch = &device->sweep->launches[shapes[i].name];
        if (device->shape_times[i] > launch->time)
            *launch = (struct ws_launch){ &shapes[i], device->shape_times[i] };
    }
}

int ws_sampler_track(struct ws_sampler *sweep, size_t index, struct ws_places places)
{
    const struct ws_track *track = ws_model_track(sweep->report->model, index);
    const struct ws_track_steps *steps = ws_report_result(sweep->report, &ws_analysis_steps, index);
    struct device device = {
        .sweep = sweep,
        .track = track,
        .process = ws_model_process(sweep->report->model, track->process),
        .activity = ws_report_result(sweep->report, &ws_analysis_activity, index),
        .causes = ws_report_result(sweep->report, &ws_analysis_causes, index),
        .comm = ws_report_comm(sweep->report, index),
        .places = places,
    };
    const struct ws_track_activity *activity = device.activity;
    int64_t known = ws_activity_known(activity);
    if (!track->count)
        return 0;
    device.shape_times = calloc(device.process->shapes.count + 1, sizeof(*device.shape_times));
    if (!device.shape_times)
        return -ENOMEM;
    if (known > 0)
        device.error = (double)ws_max(activity->busy - activity->busy_least, activity->busy_most - activity->busy) /
                       (double)known;
    device.passed = INT64_MIN;
    device.walk = ws_gap_walk(&activity->gaps, 0);
    device.has_gap = ws_gap_next(&device.walk, &device.gap);
    sweep->side->per[WS_PER_RECORDING].devices++;
    sweep->side->per[WS_PER_STEP].devices += steps->kinds[WS_STEP_STEADY] > 0;
    samples_add_stretches(&device, steps);
    add_recording(&device);
    keep_longest_launches(&device);
    free(device.shape_times);
    return 0;
}
