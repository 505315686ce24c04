#include "analysis/steps/slow_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EXPLAINED = 256 };

/* Returns the steady step whose duration is nearest to the median. */
static const struct ws_step *usual_step(const struct ws_track_steps *steps)
{
    const struct ws_step *list = steps->steps.data, *usual = NULL;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < steps->steps.count; i++) {
        int64_t off = llabs(list[i].end - list[i].begin - steps->median);
        if (list[i].kind == WS_STEP_STEADY && off < least) {
            least = off;
            usual = &list[i];
        }
    }
    return usual;
}

/* Adds the durations of the operations that began in a step to times[], which has an entry for each operation name.
 * The sums are unsigned, so that impossible times in a damaged trace wrap around without undefined behaviour. */
static void slow_steps_add_times(const struct ws_process *process, const struct ws_track *track,
                                 const struct ws_step *step, uint64_t *times)
{
    for (size_t i = step->first; i < (size_t)step->first + step->count; i++) {
        uint32_t op = track->order[i];
        times[ws_process_shape(process, process->ops.shape[op])->name] += (uint64_t)ws_op_length(&process->ops, op);
    }
}

static void slow_steps_explain(const struct ws_report *report, const struct ws_track *track,
                               const struct ws_track_steps *steps, const uint64_t *usual, uint64_t *times,
                               struct ws_slow_step *slow)
{
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_step *step = (const struct ws_step *)steps->steps.data + slow->step;
    slow->more[WS_SLOW_IDLE] = step->end - step->begin - step->split.busy - steps->idle.median;
    slow->more[WS_SLOW_COMPUTE] = step->split.group[WS_GROUP_COMPUTE] - steps->compute.median;
    slow->more[WS_SLOW_EXPOSED_COMM] = step->split.exposed_comm - steps->exposed_comm.median;
    slow->more[WS_SLOW_EXPOSED_MEMORY] = step->split.exposed_memory - steps->exposed_memory.median;
    slow->name = WS_NOWHERE;
    memset(times, 0, report->model->names.count * sizeof(*times));
    slow_steps_add_times(process, track, step, times);
    for (uint32_t name = 0; name < report->model->names.count; name++) {
        int64_t more = (int64_t)(times[name] - usual[name]);
        if (more <= slow->name_more)
            continue;
        slow->name = name;
        slow->name_more = more;
    }
}

int ws_slow_steps_explain(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *steps)
{
    const struct ws_step *list = steps->steps.data;
    size_t names = report->model->names.count;
    if (!steps->slow)
        return 0;
    uint64_t *usual = calloc(names + 1, sizeof(*usual)), *times = calloc(names + 1, sizeof(*times));
    int status = usual && times ? 0 : -ENOMEM;
    if (!status)
        slow_steps_add_times(ws_model_process(report->model, track->process), track, usual_step(steps), usual);
    for (size_t i = 0; i < steps->steps.count && steps->slow_steps.count < MOST_EXPLAINED && !status; i++) {
        if (!list[i].slow)
            continue;
        struct ws_slow_step *slow = ws_vector_push(&steps->slow_steps);
        if (!slow) {
            status = -ENOMEM;
            continue;
        }
        slow->step = (uint32_t)i;
        slow_steps_explain(report, track, steps, usual, times, slow);
    }
    free(usual);
    free(times);
    return status;
}
