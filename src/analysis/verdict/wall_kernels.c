#include "analysis/verdict/wall_kernels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/kernels/classify.h"
#include "analysis/kernels/matmul_name.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"

/* Times of kernels in ns, before rounding. The indices of `time` are the part of the step, the wall, and the source
 * of the roofline class. The indices of `by_class` are the wall and enum ws_kernel_class. */
struct divided {
    double time[WS_PART_COUNT][WS_WALL_COUNT][WS_WORK_SOURCES];
    double by_class[WS_WALL_COUNT][WS_CLASS_COUNT];
    double all;
};

/* Adds the durations of operations to times[], which has an entry for each shape. There are few shapes, so times[]
 * fits into the CPU's cache, and the CPU can add to several entries at once. */
static void add_operations(double *times, const struct ws_ops *ops, const struct ws_track *track, size_t first,
                           size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        uint32_t op = track->order[i];
        times[ops->shape[op]] += (double)ws_op_length(ops, op);
    }
}

/* Adds the durations of operations to names[], which has an entry for each operation name. Counts only operations in
 * steady steps, or all operations if there are no steady steps. */
static int times_by_name(const struct ws_report *report, const struct ws_track *track,
                         const struct ws_track_steps *steps, bool per_step, double *names)
{
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_step *list = steps->steps.data;
    double *times = calloc(process->shapes.count + 1, sizeof(*times));
    if (!times)
        return -ENOMEM;
    if (!per_step)
        add_operations(times, &process->ops, track, 0, track->count);
    for (size_t i = 0; i < steps->steps.count && per_step; i++)
        if (ws_step_is_steady(&list[i]))
            add_operations(times, &process->ops, track, list[i].first, list[i].count);
    for (size_t i = 0; i < process->shapes.count; i++)
        if (times[i] > 0)
            names[ws_process_shape(process, i)->name] += times[i];
    free(times);
    return 0;
}

/* A product of a matrix and a vector does not count as matrix work: it does only two FLOPs per weight that it reads,
 * so memory bandwidth limits it. */
static bool is_matmul(const struct ws_report *report, size_t name)
{
    return ws_class_is_matmul(ws_report_class(report, name)) &&
           !strcasestr(ws_model_name(report->model, name)->text, "gemv");
}

static enum ws_wall wall_by_name(const struct ws_report *report, size_t name)
{
    enum ws_kernel_class class = ws_report_class(report, name);
    const char *text = ws_model_name(report->model, name)->text;
    if (!ws_class_is_matmul(class) || ws_name_moves_much(text, class))
        return WS_WALL_BANDWIDTH;
    struct ws_matmul_name matmul = ws_matmul_name(text);
    return class == WS_CLASS_GEMM && ws_matmul_has_few_rows(&matmul) ? WS_WALL_BANDWIDTH : WS_WALL_COMPUTE;
}

/* Returns the wall (compute or bandwidth) that limits the kernel according to the roofline. Returns WS_WALL_NONE if
 * the roofline does not tell. */
static enum ws_wall wall_by_roofline(const struct ws_roofline_row *row)
{
    switch (row ? row->class : WS_ROOF_UNKNOWN) {
    case WS_ROOF_COMPUTE:
        return WS_WALL_COMPUTE;
    case WS_ROOF_MEMORY:
        return WS_WALL_BANDWIDTH;
    case WS_ROOF_LATENCY:
        return row->by_compute ? WS_WALL_COMPUTE : WS_WALL_BANDWIDTH;
    default:
        return WS_WALL_NONE;
    }
}

/* Returns the part of `time` whose roofline class comes from row->source, such as hardware counters. For the rest of
 * the time, only the kernel's name can give a class. */
static double known_of(const struct ws_roofline_row *row, double time)
{
    if (row->source == WS_WORK_NAME || row->source == WS_WORK_COUNTER || row->total <= 0)
        return time;
    return time * (double)ws_sum(row->known, row->bounded) / (double)row->total;
}

/* Adds the time of one operation name to `divided`. The time of CUDA graphs that were timed as a whole belongs to a
 * separate part of the step (WS_PART_GRAPHS), because the times of their kernels are not known. */
static void divide_name(const struct ws_report *report, size_t name, double time, const struct ws_roofline_row *row,
                        struct divided *divided)
{
    if (ws_report_group(report, name) != WS_GROUP_COMPUTE)
        return;
    divided->all += time;
    if (ws_model_name(report->model, name)->kind == WS_OP_GRAPH) {
        divided->time[WS_PART_GRAPHS][WS_WALL_NONE][WS_WORK_NONE] += time;
        return;
    }
    enum ws_part part = is_matmul(report, name) ? WS_PART_MATMUL : WS_PART_OTHER_COMPUTE;
    enum ws_wall wall = wall_by_roofline(row);
    double classed = wall && row->total > 0 ? time * (double)row->classed / (double)row->total : 0;
    double known = wall ? ws_min(classed, known_of(row, time)) : 0;
    if (wall) {
        divided->time[part][wall][row->source] += known;
        divided->time[part][wall][WS_WORK_NAME] += classed - known;
    }
    enum ws_wall suggested = wall ? wall : wall_by_name(report, name);
    divided->time[part][suggested][WS_WORK_NONE] += time - classed;
    divided->by_class[suggested][ws_report_class(report, name)] += time;
}

static void add_time(struct ws_track_wall *result, int part, int wall, int source, int64_t time)
{
    result->parts[part] += time;
    result->in_wall[part][wall] += time;
    result->kernels[wall][source] += time;
}

/* Scales the times in `divided` so that their sum is `compute`, and rounds them. Adds what rounding loses to the time
 * of kernels without a roofline class. */
static void hand_out(const struct divided *divided, int64_t compute, struct ws_track_wall *result)
{
    double scale = divided->all > 0 ? (double)compute / divided->all : 0;
    int64_t left = compute;
    for (int part = WS_PART_MATMUL; part < WS_PART_COUNT; part++)
        for (int wall = 0; wall < WS_WALL_COUNT; wall++)
            for (int source = 0; source < WS_WORK_SOURCES; source++) {
                int64_t time = (int64_t)(divided->time[part][wall][source] * scale);
                add_time(result, part, wall, source, time);
                left -= time;
            }
    add_time(result, WS_PART_OTHER_COMPUTE, WS_WALL_BANDWIDTH, WS_WORK_NONE, left);
    for (int wall = 0; wall < WS_WALL_COUNT; wall++)
        for (int class = 0; class < WS_CLASS_COUNT; class ++)
            result->by_class[wall][class] = (int64_t)(divided->by_class[wall][class] * scale);
}

int ws_wall_split_kernels(const struct ws_report *report, size_t subject, const struct ws_track_steps *steps,
                          int64_t compute, struct ws_track_wall *result)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_track_roofline *roofline = ws_report_result(report, &ws_analysis_roofline, subject);
    const struct ws_roofline_row *rows = roofline->rows.data;
    size_t names = report->model->names.count;
    double *times = calloc(names + 1, sizeof(*times));
    const struct ws_roofline_row **by_name = calloc(names + 1, sizeof(*by_name));
    struct divided divided = { .all = 0 };
    int status = times && by_name ? times_by_name(report, track, steps, result->per_step, times) : -ENOMEM;
    for (size_t i = 0; i < roofline->rows.count && !status; i++)
        by_name[rows[i].name] = &rows[i];
    for (size_t i = 0; i < names && !status; i++)
        if (times[i] > 0)
            divide_name(report, i, times[i], by_name[i], &divided);
    free(times);
    free(by_name);
    if (!status)
        hand_out(&divided, compute, result);
    return status;
}
