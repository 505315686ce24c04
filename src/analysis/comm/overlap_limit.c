#include "analysis/comm/overlap_limit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/comm/comm.h"
#include "analysis/kernels/classify.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"

enum kind { KIND_COMPUTE, KIND_GRADIENT, KIND_COMM, KIND_NONE };

struct room {
    int64_t compute;
    uint64_t pieces, steps;
    bool told; /* every step so far has a kernel whose name says that the kernel computes gradients */
};

static bool tells_gradient(const char *name)
{
    return strcasestr(name, "backward") || strcasestr(name, "bwd") || strcasestr(name, "grad");
}

static enum kind overlap_limit_kind_of(const struct ws_report *report, size_t name)
{
    const struct ws_op_name *known = ws_model_name(report->model, name);
    if (known->kind != WS_OP_KERNEL)
        return KIND_NONE;
    if (ws_report_class(report, name) == WS_CLASS_COMM)
        return KIND_COMM;
    return tells_gradient(known->text) ? KIND_GRADIENT : KIND_COMPUTE;
}

/* Adds to `room` the compute time of the step's backward pass, from the first gradient kernel to the last
 * communication kernel. */
static void overlap_limit_add_step(struct room *room, const struct ws_ops *ops, const struct ws_track *track,
                                   const uint8_t *kinds, const struct ws_step *step)
{
    int64_t compute = 0, before_last = 0;
    bool backward = false;
    for (size_t i = step->first; i < (size_t)step->first + step->count; i++) {
        uint32_t op = track->order[i];
        enum kind kind = kinds[ops->shape[op]];
        backward |= kind == KIND_GRADIENT;
        if (kind == KIND_COMM) {
            room->pieces++;
            before_last = compute;
        } else if (backward && kind != KIND_NONE) {
            compute = ws_sum(compute, ws_op_length(ops, op));
        }
    }
    room->compute = ws_sum(room->compute, before_last);
    room->told &= backward;
    room->steps++;
}

static int overlap_limit_add_steps(struct room *room, const struct ws_report *report, size_t subject,
                                   const struct ws_track_steps *steps)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_step *list = steps->steps.data;
    uint8_t *kinds = malloc(process->shapes.count + 1);
    if (!kinds)
        return -ENOMEM;
    for (size_t i = 0; i < process->shapes.count; i++)
        kinds[i] = (uint8_t)overlap_limit_kind_of(report, ws_process_shape(process, i)->name);
    for (size_t i = 0; i < steps->steps.count; i++)
        if (ws_step_is_steady(&list[i]))
            overlap_limit_add_step(room, &process->ops, track, kinds, &list[i]);
    free(kinds);
    return 0;
}

int64_t ws_overlap_limit(const struct ws_report *report, size_t subject)
{
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    struct room room = { .told = true };
    if (!steps->kinds[WS_STEP_STEADY])
        return activity->group[WS_GROUP_COMPUTE] - activity->comm_overlap;
    if (overlap_limit_add_steps(&room, report, subject, steps))
        return INT64_MIN;
    int64_t all = steps->compute.mean, beside = steps->comm.mean - steps->exposed_comm.mean;
    double pieces = (double)room.pieces / (double)room.steps;
    if (!room.told || pieces < 2)
        return all - beside;
    int64_t backward = (int64_t)((double)room.compute / (double)room.steps * (pieces - 1) / pieces);
    return ws_min(backward, all) - beside;
}
