#include "analysis/verdict/wall.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/comm/comm.h"
#include "analysis/gaps/gaps.h"
#include "analysis/gaps/initialization.h"
#include "analysis/gaps/savings.h"
#include "analysis/kernels/kernels.h"
#include "analysis/memory/copies.h"
#include "analysis/steps/steps.h"
#include "analysis/verdict/missing.h"
#include "analysis/verdict/wall_kernels.h"
#include "base/minmax.h"

/* There is no verdict if more than this percentage of the operations has no device times. The limit is our choice. */
enum { UNTIMED_LIMIT = 5 };

/* Divisor. First-call initialization is work that the program does only once, such as module loads. There is no
 * verdict if less than 1/REST_LEAST of the time is left after the idle time in first-call initialization is
 * subtracted. The limit is our choice. */
enum { REST_LEAST = 20 };

static bool wall_exceeds(int64_t part, int64_t whole, int percent)
{
    return (double)part > (double)whole * percent / 100.0;
}

/* Moves the time of copies within the device from the part "exposed copies" to a part of its own, because these
 * copies use the device's memory bandwidth, and not the link to the host. */
static void split_copies(const struct ws_report *report, size_t subject, struct ws_track_wall *result)
{
    const struct ws_track_copies *copies = ws_report_result(report, &ws_analysis_copies, subject);
    int64_t *exposed = &result->parts[WS_PART_EXPOSED_MEMORY];
    result->parts[WS_PART_DEVICE_COPIES] = ws_min(copies->inside, *exposed);
    *exposed -= result->parts[WS_PART_DEVICE_COPIES];
}

/* Subtracts the idle time in first-call initialization (module loads and the like) from the parts of a step and from
 * its length, so that the verdict does not cover this idle time. */
static void leave_out_first_calls(const struct ws_report *report, size_t subject, struct ws_track_wall *result)
{
    const struct ws_track_initialization *first = ws_report_result(report, &ws_analysis_initialization, subject);
    for (int cause = 0; cause < WS_CAUSE_COUNT; cause++) {
        int64_t part = ws_max(ws_min(first->idle[cause], result->parts[cause]), 0);
        result->parts[cause] -= part;
        result->first_calls += part;
    }
    result->length -= result->first_calls;
}

/* Adds up the parts of a step (result->parts) over all steady steps. If there are no steady steps, fills the parts
 * from the whole recording. The caller divides the sums by the number of steps. */
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
    /* Some of the idle time is in no gap (idle period) that the analysis of causes saw, for example the time between
     * two bursts of recording within a step. Its cause is not known, so it is added to WS_PART_UNEXPLAINED. */
    int64_t idle =
        result->length - compute - result->parts[WS_PART_EXPOSED_COMM] - result->parts[WS_PART_EXPOSED_MEMORY];
    for (int cause = 0; cause < WS_CAUSE_COUNT; cause++) {
        result->parts[cause] = ws_gap_time(causes, &causes->totals[cause]);
        idle -= result->parts[cause];
    }
    result->parts[WS_PART_UNEXPLAINED] += idle;
    leave_out_first_calls(report, subject, result);
    split_copies(report, subject, result);
    return ws_wall_split_kernels(report, subject, steps, compute, result);
}

static bool is_of_kernels(enum ws_part part)
{
    return part == WS_PART_MATMUL || part == WS_PART_OTHER_COMPUTE || part == WS_PART_GRAPHS;
}

static void average(struct ws_track_wall *result)
{
    int64_t steps = (int64_t)result->steps;
    result->length /= steps;
    result->first_calls /= steps;
    for (int part = 0; part < WS_PART_COUNT; part++)
        result->parts[part] /= steps;
    for (int wall = 0; wall < WS_WALL_COUNT; wall++) {
        for (int source = 0; source < WS_WORK_SOURCES; source++)
            result->kernels[wall][source] /= steps;
        for (int class = 0; class < WS_CLASS_COUNT; class ++)
            result->by_class[wall][class] /= steps;
        for (int part = 0; part < WS_PART_COUNT; part++) {
            int64_t *time = &result->in_wall[part][wall];
            if (is_of_kernels((enum ws_part)part))
                *time /= steps;
            else if (ws_part_wall((enum ws_part)part) == (enum ws_wall)wall)
                *time = result->parts[part];
            result->by_wall[wall] += *time;
        }
    }
}

int ws_wall_limit(enum ws_wall wall)
{
    if (wall == WS_WALL_OVERHEAD)
        return WS_WALL_OVERHEAD_LIMIT;
    return wall == WS_WALL_COMMUNICATION ? WS_WALL_COMMUNICATION_LIMIT : 0;
}

int64_t ws_wall_known(const struct ws_track_wall *result, enum ws_wall wall)
{
    int64_t known = 0;
    for (int source = WS_WORK_NONE + 1; source < WS_WORK_SOURCES; source++)
        known += result->kernels[wall][source];
    return known;
}

static enum ws_wall wall_judge(const struct ws_track_wall *result)
{
    int64_t recorded = result->length - result->parts[WS_PART_UNRECORDED];
    enum ws_wall largest = WS_WALL_COMPUTE, delay = WS_WALL_NONE;
    for (int wall = WS_WALL_NONE + 1; wall < WS_WALL_COUNT; wall++)
        if (result->by_wall[wall] > result->by_wall[largest])
            largest = (enum ws_wall)wall;
    if (result->parts[WS_PART_GRAPHS] > result->by_wall[largest])
        largest = WS_WALL_NONE;
    /* If CUDA graphs that were timed as a whole take the most time, it is not known what limited the device in that
     * time. In that case only a delay (overhead, communication) that is long enough for a warning (WS_WALL_WARNED_OF)
     * can be the wall. */
    bool is_known = largest != WS_WALL_NONE;
    for (int wall = 0; wall < WS_WALL_COUNT; wall++) {
        int limit = ws_wall_limit((enum ws_wall)wall) * (is_known ? 100 : WS_WALL_WARNED_OF) / 100;
        if (limit && wall_exceeds(result->by_wall[wall], recorded, limit) &&
            (!delay || result->by_wall[wall] > result->by_wall[delay]))
            delay = (enum ws_wall)wall;
    }
    if (delay && (!is_known || wall_exceeds(result->by_wall[delay], result->by_wall[largest], WS_WALL_OF_LARGEST)))
        return delay;
    return largest;
}

enum ws_part ws_wall_cause(const struct ws_track_wall *result, enum ws_wall wall)
{
    int largest = -1;
    for (int part = 0; part < WS_PART_COUNT; part++)
        if (ws_part_wall((enum ws_part)part) == wall || result->in_wall[part][wall])
            if (largest < 0 || result->in_wall[part][wall] > result->in_wall[largest][wall])
                largest = part;
    return (enum ws_part)largest;
}

/* If waits for input are the wall (what limits the device most), sets result->behind to the wall of the rest of the
 * step. */
static void find_wall_behind(struct ws_track_wall *result)
{
    struct ws_track_wall rest = *result;
    if (result->wall != WS_WALL_OVERHEAD || result->cause != WS_PART_INPUT)
        return;
    rest.length -= rest.parts[WS_PART_INPUT];
    rest.by_wall[WS_WALL_OVERHEAD] -= rest.parts[WS_PART_INPUT];
    rest.parts[WS_PART_INPUT] = rest.in_wall[WS_PART_INPUT][WS_WALL_OVERHEAD] = 0;
    result->behind = wall_judge(&rest);
    result->behind_cause = ws_wall_cause(&rest, result->behind);
}

/* Returns the ns that are saved only if several causes of idle time are removed together: the saving from removing
 * them together minus the sum of their single savings. The result is at most the idle time that remains if the user
 * follows all advice in result->advice. */
static int64_t won_together(const struct ws_report *report, size_t subject, const struct ws_track_wall *result)
{
    const struct ws_track_savings *savings = ws_report_result(report, &ws_analysis_savings, subject);
    const struct ws_advice *advice = result->advice.items.data;
    char causes[WS_TOGETHER_TEXT];
    int64_t more = savings->together - ws_savings_together(savings, causes);
    int64_t idle = -result->parts[WS_PART_UNRECORDED];
    for (int cause = 0; cause < WS_CAUSE_COUNT; cause++)
        idle += result->parts[cause];
    for (size_t i = 0; i < result->advice.items.count; i++)
        idle -= advice[i].part < WS_CAUSE_COUNT ? advice[i].saving_ns : 0;
    return ws_max(ws_min(more, idle), 0);
}

/* Collects the advice that all analyses give on this device. */
static int wall_gather(const struct ws_report *report, size_t subject, struct ws_track_wall *result)
{
    int status = 0;
    for (size_t i = 0; i < report->analyses->count && !status; i++) {
        const struct ws_analysis *analysis = report->analyses->list[i];
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
    if (wall_exceeds((int64_t)untimed, (int64_t)(track->count + untimed), UNTIMED_LIMIT))
        return "too many operations have no device times";
    if (result->first_calls && result->length < (result->length + result->first_calls) / REST_LEAST)
        return "nearly all of the judged time was first-call initialization; record more, or warm up first";
    return result->length > 0 ? NULL : "the recording is too short";
}

/* Returns the ns of exposed communication in which the device waited for other ranks. The rest of the exposed
 * communication is transfer. Returns -1 if the device's collectives were not matched with those of other ranks. */
static int64_t wall_comm_waiting(const struct ws_report *report, size_t subject, const struct ws_track_wall *result)
{
    const struct ws_track_collectives *cost = ws_report_result(report, &ws_analysis_collectives, subject);
    int64_t comm = result->parts[WS_PART_EXPOSED_COMM], transfer = ws_comm_per_step(report, subject, cost->uncovered);
    return cost->all.matched ? ws_clamp(comm - transfer, (int64_t)0, comm) : -1;
}

/* Finds the wall (what limits the device most) from the parts of the step. If there is no verdict, sets
 * result->why_none. */
static void wall_find(const struct ws_report *report, size_t subject, struct ws_track_wall *result)
{
    result->wall = wall_judge(result);
    if (!result->wall)
        result->why_none = "nothing delays the GPU, and CUDA graphs, which were measured as a whole, ran "
                           "most of the time";
    ws_missing_reason(report, subject, result, result->reason);
    if (*result->reason) {
        result->wall = WS_WALL_NONE;
        result->why_none = result->reason;
    }
    result->cause = ws_wall_cause(result, result->wall);
    result->by_names = result->wall && 2 * ws_wall_suggested(result, result->wall) > result->by_wall[result->wall];
    find_wall_behind(result);
}

static int wall_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    struct ws_track_wall *result = memory;
    int status = sum_parts(report, subject, result);
    if (status)
        return status;
    average(result);
    result->why_none = why_none(ws_model_track(report->model, subject), result);
    result->is_measured = !result->why_none;
    if (result->is_measured)
        wall_find(report, subject, result);
    result->trains = ws_report_trains(report, subject);
    result->comm_waiting = wall_comm_waiting(report, subject, result);
    result->advice = WS_ADVICE_LIST;
    return causes->is_sampled ? 0
                              /* no advice is collected from such a trace: a sample of the operations does not show
                               * what can be saved */
                              : wall_gather(report, subject, result);
}

static void wall_finish(void *memory)
{
    struct ws_track_wall *result = memory;
    ws_advice_finish(&result->advice);
}

static const struct ws_track_wall *wall_wall_of(const struct ws_report *report, size_t track)
{
    return track == WS_NOWHERE ? NULL : ws_report_result(report, &ws_analysis_wall, track);
}

/* Returns the index of the device whose rank other ranks wait for longest (the straggler). Only stragglers with a
 * verdict count. */
static size_t wall_latest(const struct ws_report *report)
{
    const struct ws_job_comm *job = ws_report_result(report, &ws_analysis_comm_match, 0);
    const struct ws_rank *ranks = job->ranks.data;
    size_t latest = WS_NOWHERE;
    for (size_t i = 0; i < job->ranks.count; i++)
        if (ranks[i].straggler && wall_wall_of(report, i)->wall &&
            (latest == WS_NOWHERE || ranks[i].delay > ranks[latest].delay))
            latest = i;
    return latest;
}

/* Should the report show the device of `wall` rather than the device of `before`? A device with a verdict is
 * preferred, then a device with steps, then the device with longer steps. */
static bool wall_goes_first(const struct ws_track_wall *wall, const struct ws_track_wall *before)
{
    if (!wall->is_measured || !before)
        return wall->is_measured;
    if (!wall->wall != !before->wall)
        return wall->wall;
    if (wall->per_step != before->per_step)
        return wall->per_step;
    return wall->length > before->length;
}

struct ws_slowest ws_report_slowest(const struct ws_report *report)
{
    struct ws_slowest slowest = { .shown = wall_latest(report), .slower = WS_NOWHERE };
    size_t tracks = report->model->tracks.count;
    slowest.is_late = slowest.shown != WS_NOWHERE;
    if (slowest.is_late)
        return slowest;
    for (size_t i = 0; i < tracks; i++)
        if (wall_goes_first(wall_wall_of(report, i), wall_wall_of(report, slowest.shown)))
            slowest.shown = i;
    const struct ws_track_wall *shown = wall_wall_of(report, slowest.shown);
    for (size_t i = 0; i < tracks && shown; i++) {
        const struct ws_track *track = ws_model_track(report->model, i);
        const struct ws_track_wall *wall = wall_wall_of(report, i), *before = wall_wall_of(report, slowest.slower);
        if (wall->per_step != shown->per_step)
            slowest.not_compared += track->count || track->untimed || track->backwards;
        else if (shown->wall && !wall->wall && wall->length > (before ? before : shown)->length)
            slowest.slower = i;
    }
    return slowest;
}

const struct ws_analysis ws_analysis_wall = {
    .name = "wall",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_wall),
    .last = true,
    .run = wall_run,
    .finish = wall_finish,
    .json = ws_wall_json,
};
