#include "analysis/activity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum ws_group ws_report_group(const struct ws_report *report, size_t name)
{
    if (ws_model_name(report->model, name)->activity == WS_ACTIVITY_MEMORY)
        return WS_GROUP_MEMORY;
    return ws_report_class(report, name) == WS_CLASS_COMM ? WS_GROUP_COMM : WS_GROUP_COMPUTE;
}

enum { QUALITIES = WS_OP_BEGIN_QUALITY | WS_OP_END_QUALITY };

/* How far the running operations reach. */
struct reach {
    struct ws_reach of;
    int64_t all;
    int64_t sure;      /* up to where the shrunk operations have been counted */
    int64_t stretched; /* of the operations made longer by their errors */
};

/* The operation at a place ended a gap. */
static void note_gap(struct ws_track_activity *result, const struct reach *reach, int64_t next, size_t place)
{
    result->gaps.bits[place / 64].ends |= 1ULL << place % 64;
    result->gaps.count++;
    /* The part of the gap that operations before it may have filled; those after it follow later. */
    result->busy_most += ws_least(ws_most(reach->stretched - reach->all, 0), next - reach->all);
}

/* What operations after a gap may have filled of it, were they to begin as early as their errors
 * allow: found from the end, for the earliest of all that follow counts. */
static void stretch_backwards(struct ws_track_activity *result, const struct ws_ops *ops,
                              const struct ws_track *track)
{
    int64_t earliest = INT64_MAX;
    for (size_t place = track->count; place-- > 0;) {
        uint32_t op = track->order[place];
        earliest = ws_least(earliest, ws_op_begin(ops, op) - ws_op_begin_error(ops, op));
        if (ws_gap_ends_at(&result->gaps, place)) {
            struct ws_gap gap = ws_gap_at(&result->gaps, place);
            result->busy_most += ws_least(ws_most(gap.end - earliest, 0), ws_gap_length(&gap));
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

static void keep_split(struct ws_track_activity *result, const struct ws_split *split)
{
    result->busy = split->busy;
    memcpy(result->group, split->group, sizeof(result->group));
    result->comm_overlap = split->comm_overlap;
    result->exposed_comm = split->exposed_comm;
    result->exposed_memory = split->exposed_memory;
}

static int run(const struct ws_report *report, size_t subject, void *memory)
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
    result->gaps.bits[0].told = 1 << 1; /* so that a place is before any gap */
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
                note_gap(result, &reach, begin, i);
            now = begin;
        }
        uint8_t group = groups[ops->shape[op]];
        result->gaps.bits[i / 64].told |= (uint64_t)told << i % 64;
        told = end >= reach.all;
        reach.all = ws_most(reach.all, end);
        reach.of.group[group] = ws_most(reach.of.group[group], end);
        reach.stretched = ws_most(reach.stretched, end + ws_op_end_error(ops, op));
        int64_t from = ws_most(begin + ws_op_begin_error(ops, op), reach.sure), to = end - ws_op_end_error(ops, op);
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
    keep_split(result, &split);
    result->end = reach.all;
    result->span = result->end - result->begin;
    result->idle = result->span - result->busy;
    result->busy_most += result->busy + (reach.stretched - reach.all);
    stretch_backwards(result, ops, track);
    return track->aligned ? ws_activity_leave_out_unrecorded(process, result) : 0;
}

static void finish(void *memory)
{
    struct ws_track_activity *result = memory;
    free(result->gaps.bits);
    ws_vector_finish(&result->holes);
}

static void share_fact(struct ws_page *page, const char *label, int64_t part, int64_t whole, const char *note)
{
    char time[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE];
    ws_page_fact(page, label, "%s  %s%s", ws_format_time(time, part), ws_format_share(share, part, whole), note);
}

static void print_completeness(const struct ws_track *track, const struct ws_track_activity *result,
                               struct ws_page *page)
{
    char count[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE];
    uint64_t ran = track->count + track->untimed + track->backwards;
    if (track->untimed + track->backwards)
        ws_page_fact(page, "incomplete",
                     "%s of the operations (%s) have no device time, so busy is a lower limit "
                     "and idle an upper one",
                     ws_format_count(count, track->untimed + track->backwards),
                     ws_format_share(share, (int64_t)(track->untimed + track->backwards), (int64_t)ran));
    uint64_t times =
        result->quality[WS_TIME_MEASURED] + result->quality[WS_TIME_BOUNDED] + result->quality[WS_TIME_INFERRED];
    char measured[WS_FORMAT_SIZE], bounded[WS_FORMAT_SIZE], inferred[WS_FORMAT_SIZE];
    if (times)
        ws_page_fact(page, "times", "%s measured, %s bounded, %s inferred",
                     ws_format_share(measured, (int64_t)result->quality[WS_TIME_MEASURED], (int64_t)times),
                     ws_format_share(bounded, (int64_t)result->quality[WS_TIME_BOUNDED], (int64_t)times),
                     ws_format_share(inferred, (int64_t)result->quality[WS_TIME_INFERRED], (int64_t)times));
}

static void text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_track_activity *result = memory;
    int64_t known = ws_activity_known(result);
    char least_share[WS_FORMAT_SIZE], most_share[WS_FORMAT_SIZE], time[WS_FORMAT_SIZE], note[128];
    if (!track->count) {
        if (track->untimed + track->backwards)
            ws_page_text(page,
                         "%s operations ran here, but the trace holds no device times for them: what the "
                         "device did is not known.",
                         ws_format_count(time, track->untimed + track->backwards));
        else
            ws_page_text(page, "No operation on this device is in the trace.");
        return;
    }
    snprintf(note, sizeof(note), "  of %s", ws_format_time(time, known));
    if (result->busy_least != result->busy || result->busy_most != result->busy)
        snprintf(note, sizeof(note), "  of %s; between %s and %s, since times have errors", time,
                 ws_format_share(least_share, result->busy_least, known),
                 ws_format_share(most_share, ws_least(result->busy_most, known), known));
    if (result->unrecorded)
        share_fact(page, "not recorded", result->unrecorded, result->span,
                   " of the span, between bursts or outside the range asked for; all else here is of the rest");
    share_fact(page, "busy", result->busy, known, note);
    share_fact(page, "idle", result->idle, known, "");
    share_fact(page, "compute", result->group[WS_GROUP_COMPUTE], known, "");
    share_fact(page, "communication", result->group[WS_GROUP_COMM], known, "");
    if (result->group[WS_GROUP_COMM]) {
        share_fact(page, "  overlapped", result->comm_overlap, result->group[WS_GROUP_COMM], " of it, under compute");
        share_fact(page, "  exposed", result->exposed_comm, result->group[WS_GROUP_COMM], " of it");
    }
    share_fact(page, "memory", result->group[WS_GROUP_MEMORY], known, "  copies and memsets");
    if (result->group[WS_GROUP_MEMORY])
        share_fact(page, "  exposed", result->exposed_memory, result->group[WS_GROUP_MEMORY],
                   " of it, outside compute and communication");
    print_completeness(track, result, page);
}

static int json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_track_activity *result = memory;
    int64_t error = ws_most(result->busy - result->busy_least, result->busy_most - result->busy);
    const struct {
        const char *key;
        int64_t value;
    } values[] = {
        { "gpu_events", (int64_t)track->count },
        { "untimed_events", (int64_t)(track->untimed + track->backwards) },
        { "begin_ns", result->begin },
        { "span_ns", result->span },
        { "busy_ns", result->busy },
        { "busy_error_ns", error },
        { "idle_ns", result->idle },
        { "unrecorded_ns", result->unrecorded },
        { "compute_ns", result->group[WS_GROUP_COMPUTE] },
        { "comm_ns", result->group[WS_GROUP_COMM] },
        { "memory_ns", result->group[WS_GROUP_MEMORY] },
        { "comm_overlap_ns", result->comm_overlap },
        { "exposed_comm_ns", result->exposed_comm },
        { "exposed_memory_ns", result->exposed_memory },
        { "clock_error_ns", track->clock_error },
        { "times_measured", (int64_t)result->quality[WS_TIME_MEASURED] },
        { "times_bounded", (int64_t)result->quality[WS_TIME_BOUNDED] },
        { "times_inferred", (int64_t)result->quality[WS_TIME_INFERRED] },
    };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        if (ws_json_set(object, values[i].key, values[i].value))
            return -ENOMEM;
    return json_object_set_new(object, "complete", json_boolean(!track->untimed && !track->backwards)) ? -ENOMEM : 0;
}

const struct ws_analysis ws_analysis_activity = {
    .name = "activity",
    .title = "What the GPU did",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_activity),
    .run = run,
    .finish = finish,
    .text = text,
    .json = json,
};
