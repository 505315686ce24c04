#include "analysis/activity/activity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/busy_bounds.h"
#include "analysis/activity/recorded.h"
#include "analysis/kernels/classify.h"
#include "base/minmax.h"

enum ws_group ws_report_group(const struct ws_report *report, size_t name)
{
    if (ws_model_name(report->model, name)->activity == WS_ACTIVITY_MEMORY)
        return WS_GROUP_MEMORY;
    return ws_report_class(report, name) == WS_CLASS_COMM ? WS_GROUP_COMM : WS_GROUP_COMPUTE;
}

enum { QUALITIES = WS_OP_BEGIN_QUALITY | WS_OP_END_QUALITY };

/* State of a sweep over the operations in order of their start times. `of`: the latest end of the operations seen so
 * far, by group (compute, communication, memory). `all`: the latest end of all operations seen so far. */
struct reach {
    struct ws_reach of;
    int64_t all;
    int64_t sure;      /* end of the last interval that was added to busy_least (the lower bound of busy time) */
    int64_t stretched; /* latest end so far, if every operation ended as late as its error allows */
};

/* Records that a gap (an idle period of the device) ended when the operation at index `place` of ws_track.order
 * began. */
static void activity_note_gap(struct ws_track_activity *result, const struct reach *reach, int64_t next, size_t place)
{
    result->gaps.bits[place / 64].ends |= 1ULL << place % 64;
    result->gaps.count++;
    /* Adds to busy_most (the upper bound of busy time) the part of the gap that earlier operations would fill if they
     * ended as late as the errors of their end times allow. stretch_backwards adds the part that later operations
     * would fill if they began as early as possible. */
    result->busy_most += ws_min(ws_max(reach->stretched - reach->all, 0), next - reach->all);
}

/* Adds to busy_most (the upper bound of busy time) the part of each gap (idle period) that later operations would
 * fill if they began as early as the errors of their start times allow. Goes backwards through the operations, and
 * keeps the earliest possible start of the operations seen so far. */
static void stretch_backwards(struct ws_track_activity *result, const struct ws_ops *ops,
                              const struct ws_track *track)
{
    int64_t earliest = INT64_MAX;
    for (size_t place = track->count; place-- > 0;) {
        uint32_t op = track->order[place];
        earliest = ws_min(earliest, ws_op_begin(ops, op) - ws_op_begin_error(ops, op));
        if (ws_gap_ends_at(&result->gaps, place)) {
            struct ws_gap gap = ws_gap_at(&result->gaps, place);
            result->busy_most += ws_min(ws_max(gap.end - earliest, 0), ws_gap_length(&gap));
        }
    }
    result->busy_most += result->begin - earliest;
}

uint8_t *ws_report_shape_groups(const struct ws_report *report, const struct ws_process *process)
{
    uint8_t *groups = malloc(process->shapes.count + 1);
    for (size_t i = 0; groups && i < process->shapes.count; i++)
        groups[i] = (uint8_t)ws_report_group(report, ws_process_shape(process, i)->name);
    return groups;
}

void ws_gap_skip(struct ws_gap_walk *walk, size_t count)
{
    size_t here = (size_t)__builtin_popcountll(walk->left);
    while (count >= here) {
        count -= here;
        *walk = ws_gap_walk(walk->gaps, walk->first + 64);
        if (walk->first >= walk->gaps->places)
            return;
        here = (size_t)__builtin_popcountll(walk->left);
    }
    for (; count; count--)
        walk->left &= walk->left - 1;
}

static void store_split(struct ws_track_activity *result, const struct ws_split *split)
{
    result->busy = split->busy;
    memcpy(result->group, split->group, sizeof(result->group));
    result->comm_overlap = split->comm_overlap;
    result->exposed_comm = split->exposed_comm;
    result->exposed_memory = split->exposed_memory;
}

static int activity_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_ops *ops = &process->ops;
    struct ws_track_activity *result = memory;
    result->gaps = (struct ws_gaps){ .ops = ops, .order = track->order, .places = track->count };
    result->holes = WS_VECTOR(struct ws_hole);
    if (!track->count)
        return 0;
    uint8_t *groups = ws_report_shape_groups(report, process);
    result->gaps.bits = calloc(track->count / 64 + 1, sizeof(*result->gaps.bits));
    if (!groups || !result->gaps.bits) {
        free(groups);
        return -ENOMEM;
    }
    result->gaps.bits[0].told = 1 << 1; /* the backward search in ws_gap_at stops at operation 1 at the latest */
    result->begin = ws_op_begin(ops, track->order[0]);
    struct reach reach = { ws_reach_from(result->begin), result->begin, INT64_MIN, INT64_MIN };
    struct ws_split split = { 0 };
    uint64_t qualities[QUALITIES + 1] = { 0 };
    int64_t now = result->begin;
    bool told = false;
    for (size_t i = 0; i < track->count; i++) {
        uint32_t op = track->order[i];
        int64_t begin = ws_op_begin(ops, op), end = ws_op_end(ops, op);
        if (begin > now) {
            ws_split_slice(&split, &reach.of, now, begin);
            if (begin > reach.all)
                activity_note_gap(result, &reach, begin, i);
            now = begin;
        }
        uint8_t group = groups[ops->shape[op]];
        result->gaps.bits[i / 64].told |= (uint64_t)told << i % 64;
        told = end >= reach.all;
        reach.all = ws_max(reach.all, end);
        reach.of.group[group] = ws_max(reach.of.group[group], end);
        reach.stretched = ws_max(reach.stretched, end + ws_op_end_error(ops, op));
        int64_t from = ws_max(begin + ws_op_begin_error(ops, op), reach.sure), to = end - ws_op_end_error(ops, op);
        if (from < to) {
            result->busy_least += to - from;
            reach.sure = to;
        }
        qualities[ops->flags[op] & QUALITIES]++;
    }
    free(groups);
    for (unsigned flags = 0; flags <= QUALITIES; flags++) {
        result->quality[flags & WS_OP_BEGIN_QUALITY] += qualities[flags];
        result->quality[(flags & WS_OP_END_QUALITY) >> 2] += qualities[flags];
    }
    ws_split_slice(&split, &reach.of, now, INT64_MAX);
    store_split(result, &split);
    result->end = reach.all;
    result->span = result->end - result->begin;
    result->idle = result->span - result->busy;
    result->busy_most += result->busy + (reach.stretched - reach.all);
    stretch_backwards(result, ops, track);
    if (result->quality[WS_TIME_INFERRED] && result->busy_most > result->busy_least) {
        int status = ws_activity_narrow_bounds(
            process, subject, ws_report_result(report, &ws_analysis_lengths, track->process), result);
        if (status)
            return status;
    }
    return track->aligned
               ? ws_activity_leave_out_unrecorded(
                     process, track, ws_report_result(report, &ws_analysis_recorded, track->process), result)
               : 0;
}

static void activity_finish(void *memory)
{
    struct ws_track_activity *result = memory;
    free(result->gaps.bits);
    ws_vector_finish(&result->holes);
}

const struct ws_analysis ws_analysis_activity = {
    .name = "activity",
    .title = "What the GPU did",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_activity),
    .needs = { &ws_analysis_recorded, &ws_analysis_lengths },
    .run = activity_run,
    .finish = activity_finish,
    .text = ws_activity_text,
    .json = ws_activity_json,
};
