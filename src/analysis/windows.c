#include "analysis/windows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/activity/recorded.h"
#include "analysis/comm/comm.h"
#include "analysis/kernels/classify.h"
#include "analysis/kernels/lengths.h"
#include "base/minmax.h"
#include "model/jobs.h"

static const struct ws_analysis *const window_list[] = {
    &ws_analysis_recorded, &ws_analysis_lengths,  &ws_analysis_activity,   &ws_analysis_step_bounds,
    &ws_analysis_steps,    &ws_analysis_comm_ops, &ws_analysis_comm_match,
};

const struct ws_analyses ws_window_analyses = { .list = window_list,
                                                .count = sizeof(window_list) / sizeof(window_list[0]),
                                                .class_of = ws_class_of_name };

struct finder {
    const struct ws_report *whole;
    const struct ws_window_request *request;
    struct ws_windows *windows;
    int64_t origin; /* start of the first operation on any device, which is time 0 of reports; ns, common clock */
    int64_t first, last; /* host times of the first and the last launch; ns, common clock */
    int64_t end;         /* latest end of an operation on any device; ns, common clock */
};

/* --- the common clock -------------------------------------------------------------------------- */

/* Returns the correction of the process's clock that comm_clocks.c estimated from collectives. Returns NULL if
 * comm_clocks.c does not correct this clock. The callers then relate the clocks of different hosts by
 * CLOCK_REALTIME. */
static const struct ws_rank_clock *windows_clock(const struct finder *finder, const struct ws_process *process)
{
    const struct ws_job_comm *job = ws_report_result(finder->whole, &ws_analysis_comm_match, 0);
    const struct ws_rank *ranks = job->ranks.data;
    for (uint32_t i = 0; i < process->track_count; i++)
        if (ranks[process->first_track + i].clock.applied)
            return &ranks[process->first_track + i].clock;
    return NULL;
}

/* Returns the ns to add to a time of the process's clock to get the time of the first process's clock, by
 * CLOCK_REALTIME. Returns 0 if both processes ran on one host, or if CLOCK_REALTIME is not known. */
static int64_t realtime_shift(const struct finder *finder, const struct ws_process *process)
{
    const struct ws_process *first = ws_model_process(finder->whole->model, 0);
    const char *host = ws_process_meta(process, "host"), *first_host = ws_process_meta(first, "host");
    int64_t offset, first_offset;
    bool apart = host && first_host && strcmp(host, first_host) != 0 && ws_process_realtime(process, &offset) &&
                 ws_process_realtime(first, &first_offset);
    return apart ? offset - first_offset : 0;
}

static int64_t windows_to_common(const struct finder *finder, const struct ws_process *process, int64_t time)
{
    const struct ws_rank_clock *clock = windows_clock(finder, process);
    return clock ? ws_rank_to_reference(clock, time) : ws_sum(time, realtime_shift(finder, process));
}

/* Converts a time from the common clock to the process's clock. Returns INT64_MIN and INT64_MAX unchanged: they mean
 * that the user gave no limit. */
static int64_t windows_from_common(const struct finder *finder, const struct ws_process *process, int64_t time)
{
    const struct ws_rank_clock *clock = windows_clock(finder, process);
    if (time == INT64_MIN || time == INT64_MAX)
        return time;
    return clock ? ws_rank_from_reference(clock, time) : ws_sum(time, -realtime_shift(finder, process));
}

/* --- the whole recording ----------------------------------------------------------------------- */

static void look_at_process(struct finder *finder, const struct ws_process *process)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (uint32_t track = process->first_track; track < process->first_track + process->track_count; track++) {
        const struct ws_track_activity *activity = ws_report_result(finder->whole, &ws_analysis_activity, track);
        if (!ws_model_track(finder->whole->model, track)->count)
            continue;
        finder->origin = ws_min(finder->origin, windows_to_common(finder, process, activity->begin));
        finder->end = ws_max(finder->end, windows_to_common(finder, process, activity->end));
    }
    for (size_t op = 0; op < process->ops.count; op++) {
        first = ws_min(first, ws_op_host_begin(&process->ops, op));
        last = ws_max(last, ws_op_host_begin(&process->ops, op));
    }
    if (first <= last) {
        finder->first = ws_min(finder->first, windows_to_common(finder, process, first));
        finder->last = ws_max(finder->last, windows_to_common(finder, process, last));
    }
}

static void look_at_whole(struct finder *finder)
{
    finder->origin = finder->first = INT64_MAX;
    finder->last = finder->end = INT64_MIN;
    for (size_t i = 0; i < finder->whole->model->processes.count; i++)
        look_at_process(finder, ws_model_process(finder->whole->model, i));
    if (finder->origin == INT64_MAX) /* no operation has a device time, so time 0 is the first launch */
        finder->origin = finder->first;
}

/* --- windows by time --------------------------------------------------------------------------- */

static void place_by_time(struct finder *finder)
{
    const struct ws_window_request *request = finder->request;
    int64_t begin = request->from == INT64_MIN ? INT64_MIN : ws_sum(finder->origin, request->from),
            end = request->to == INT64_MAX ? INT64_MAX : ws_sum(finder->origin, request->to);
    for (size_t i = 0; i < finder->windows->count; i++) {
        const struct ws_process *process = ws_model_process(finder->whole->model, i);
        finder->windows->list[i].begin = windows_from_common(finder, process, begin);
        finder->windows->list[i].end = windows_from_common(finder, process, end);
    }
    finder->windows->shown.begin = request->from;
    finder->windows->shown.end = request->to;
}

/* --- windows by steps -------------------------------------------------------------------------- */

static bool is_asked(const struct ws_window_request *request, const struct ws_step *step)
{
    return step->number >= request->first_step && step->number <= request->last_step;
}

/* Widens the window of a process so that it contains the requested steps of a track (a device of the process). */
static void windows_take_steps(struct finder *finder, size_t track)
{
    const struct ws_track_steps *steps = ws_report_result(finder->whole, &ws_analysis_steps, track);
    const struct ws_step *list = steps->steps.data;
    struct ws_window *window = &finder->windows->list[ws_model_track(finder->whole->model, track)->process];
    struct ws_report_window *shown = &finder->windows->shown;
    for (size_t i = 0; i < steps->steps.count; i++) {
        if (!is_asked(finder->request, &list[i]))
            continue;
        window->begin = ws_min(window->begin, list[i].host_begin);
        window->end = ws_max(window->end, list[i].host_end);
        shown->first_step = ws_min(shown->first_step, list[i].number);
        shown->last_step = ws_max(shown->last_step, list[i].number);
    }
}

static void place_by_steps(struct finder *finder)
{
    const struct ws_model *model = finder->whole->model;
    struct ws_report_window *shown = &finder->windows->shown;
    struct ws_window *list = finder->windows->list;
    int64_t begin = INT64_MAX, end = INT64_MIN;
    shown->first_step = UINT64_MAX;
    for (size_t i = 0; i < finder->windows->count; i++) {
        list[i].begin = INT64_MAX;
        list[i].end = INT64_MIN;
    }
    for (size_t track = 0; track < model->tracks.count; track++)
        windows_take_steps(finder, track);
    for (size_t i = 0; i < finder->windows->count; i++) {
        if (list[i].begin >= list[i].end)
            continue;
        begin = ws_min(begin, windows_to_common(finder, ws_model_process(model, i), list[i].begin));
        end = ws_max(end, windows_to_common(finder, ws_model_process(model, i), list[i].end));
    }
    if (begin >= end)
        return;
    for (size_t i = 0; i < finder->windows->count; i++) {
        if (list[i].begin < list[i].end)
            continue;
        list[i].begin = windows_from_common(finder, ws_model_process(model, i), begin);
        list[i].end = windows_from_common(finder, ws_model_process(model, i), end);
    }
    shown->begin = begin - finder->origin;
    shown->end = end - finder->origin;
}

/* --- facts about the window from the whole recording ------------------------------------------- */

static int describe_device(const struct finder *finder, size_t index, struct ws_window *window)
{
    const struct ws_track *track = ws_model_track(finder->whole->model, index);
    const struct ws_track_activity *activity = ws_report_result(finder->whole, &ws_analysis_activity, index);
    const struct ws_ops *ops = &ws_model_process(finder->whole->model, track->process)->ops;
    struct ws_window_device *device = ws_vector_push(&window->devices);
    if (!device)
        return -ENOMEM;
    *device = (struct ws_window_device){ .device = track->device, .first = activity->begin };
    int64_t begin = INT64_MAX, end = INT64_MIN;
    for (size_t i = 0; i < track->count; i++) {
        uint32_t op = track->order[i];
        device->later |= ws_op_host_begin(ops, op) < window->begin;
        if (ws_window_holds(window, ws_op_host_begin(ops, op))) {
            begin = ws_min(begin, ws_op_begin(ops, op));
            end = ws_max(end, ws_op_end(ops, op));
        }
    }
    int status = 0;
    for (size_t i = 0; i < track->count && !status; i++) {
        uint32_t op = track->order[i];
        if (ws_op_begin(ops, op) < end && ws_op_end(ops, op) > begin &&
            !ws_window_holds(window, ws_op_host_begin(ops, op)))
            status = ws_interval_set_add(&device->outside, ws_op_begin(ops, op), ws_op_end(ops, op));
    }
    return status;
}

/* Copies the steps that the report is about to windows->steps: the requested steps, or, if the user asked for a range
 * of times, the steps that the host began and ended in the window. */
static int keep_steps(const struct finder *finder, size_t track, const struct ws_window *window)
{
    const struct ws_track_steps *steps = ws_report_result(finder->whole, &ws_analysis_steps, track);
    const struct ws_step *list = steps->steps.data;
    bool *keep = calloc(steps->steps.count + 1, sizeof(*keep));
    if (!keep)
        return -ENOMEM;
    for (size_t i = 0; i < steps->steps.count; i++)
        keep[i] = finder->request->by_steps ? is_asked(finder->request, &list[i])
                                            : list[i].host_begin >= window->begin && list[i].host_end <= window->end;
    int status = ws_given_steps_add(&finder->windows->steps, ws_model_track(finder->whole->model, track), steps, keep,
                                    finder->request->by_steps);
    free(keep);
    return status;
}

/* Fills in the devices and steps of a process's window, whose begin and end are already set. Adds the number of the
 * process's operations that were launched in the window to *held. */
static int describe_process(struct finder *finder, size_t index, uint64_t *held)
{
    const struct ws_process *process = ws_model_process(finder->whole->model, index);
    struct ws_window *window = &finder->windows->list[index];
    int status = 0;
    for (size_t op = 0; op < process->ops.count; op++)
        *held += ws_window_holds(window, ws_op_host_begin(&process->ops, op));
    for (uint32_t track = process->first_track; track < process->first_track + process->track_count && !status;
         track++) {
        status = describe_device(finder, track, window);
        if (!status)
            status = keep_steps(finder, track, window);
    }
    return status;
}

/* --- the message about an empty window --------------------------------------------------------- */

/* Writes a message that names the numbers of the recording's steps, such as "the recording has steps 0 to 9". */
static void name_steps(const struct finder *finder, char *message, size_t capacity)
{
    uint64_t least = UINT64_MAX, most = 0;
    const char *why = "there are none";
    for (size_t track = 0; track < finder->whole->model->tracks.count; track++) {
        const struct ws_track_steps *steps = ws_report_result(finder->whole, &ws_analysis_steps, track);
        const struct ws_step *list = steps->steps.data;
        for (size_t i = 0; i < steps->steps.count; i++) {
            least = ws_min(least, list[i].number);
            most = ws_max(most, list[i].number);
        }
        if (steps->source == WS_STEPS_NONE && steps->why_none)
            why = steps->why_none;
    }
    if (least > most)
        snprintf(message, capacity, "the window holds nothing, because no steps were found: %s", why);
    else if (least == most)
        snprintf(message, capacity, "the window holds nothing: the recording has step %llu only",
                 (unsigned long long)least);
    else
        snprintf(message, capacity, "the window holds nothing: the recording has steps %llu to %llu",
                 (unsigned long long)least, (unsigned long long)most);
}

static void name_span(const struct finder *finder, char *message, size_t capacity)
{
    const struct ws_report_window span = { .begin = finder->first - finder->origin,
                                           .end = finder->last - finder->origin };
    char text[WS_WINDOW_TEXT], end[WS_FORMAT_SIZE];
    if (finder->first > finder->last)
        snprintf(message, capacity, "the window holds nothing: the recording has no operations");
    else if (finder->end == INT64_MIN)
        snprintf(message, capacity, "the window holds nothing: the recording's operations were %s",
                 ws_report_window_text(&span, text));
    else
        snprintf(message, capacity, "the window holds nothing: the recording's operations were %s, and ran until %s",
                 ws_report_window_text(&span, text), ws_format_time(end, finder->end - finder->origin));
}

static void name_processes(struct ws_windows *windows, const struct ws_model *model)
{
    windows->count = model->processes.count;
    for (size_t i = 0; i < windows->count; i++) {
        const struct ws_process *process = ws_model_process(model, i);
        windows->list[i] = (struct ws_window){ .path = process->path,
                                               .file = process->file,
                                               .part = process->part,
                                               .devices = WS_VECTOR(struct ws_window_device) };
    }
}

int ws_windows_init(struct ws_windows *windows, const struct ws_report *whole,
                    const struct ws_window_request *request, char *message, size_t capacity)
{
    size_t count = whole->model->processes.count;
    struct finder finder = { .whole = whole, .request = request, .windows = windows };
    uint64_t held = 0;
    *windows = (struct ws_windows){ .steps.tracks = WS_VECTOR(struct ws_given_track) };
    windows->list = calloc(count + 1, sizeof(*windows->list));
    snprintf(message, capacity, "out of memory");
    if (!windows->list)
        return -ENOMEM;
    name_processes(windows, whole->model);
    look_at_whole(&finder);
    windows->shown.by_steps = request->by_steps;
    windows->shown.steps = &windows->steps;
    if (request->by_steps)
        place_by_steps(&finder);
    else
        place_by_time(&finder);
    int status = 0;
    for (size_t i = 0; i < count && !status; i++)
        status = describe_process(&finder, i, &held);
    if (status || held)
        return status;
    if (request->by_steps)
        name_steps(&finder, message, capacity);
    else
        name_span(&finder, message, capacity);
    return -ENODATA;
}

void ws_windows_finish(struct ws_windows *windows)
{
    for (size_t i = 0; i < windows->count; i++) {
        struct ws_window_device *devices = windows->list[i].devices.data;
        for (size_t device = 0; device < windows->list[i].devices.count; device++)
            ws_interval_set_finish(&devices[device].outside);
        ws_vector_finish(&windows->list[i].devices);
    }
    free(windows->list);
    ws_given_steps_finish(&windows->steps);
    *windows = (struct ws_windows){ 0 };
}
