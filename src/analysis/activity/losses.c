#include "analysis/activity/losses.h"

#include <string.h>

static int losses_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_process *process = ws_model_process(report->model, subject);
    const struct ws_loss *rows = process->losses.data;
    struct ws_process_losses *result = memory;
    for (size_t i = 0; i < process->losses.count; i++) {
        if (rows[i].reason < WS_LOSS_COUNT)
            result->count[rows[i].reason] += rows[i].count;
        else
            result->unknown += rows[i].count;
        result->total += rows[i].count;
    }
    bool any_lost = false;
    for (size_t i = 0; i < process->shapes.count; i++)
        any_lost |= ws_process_shape(process, i)->lost;
    for (size_t i = 0; i < process->ops.count && any_lost; i++)
        result->nameless += ws_process_shape(process, process->ops.shape[i])->lost;
    return 0;
}

const struct ws_analysis ws_analysis_losses = {
    .name = "losses",
    .title = "What is missing",
    .scope = WS_SCOPE_PROCESS,
    .result_size = sizeof(struct ws_process_losses),
    .run = losses_run,
    .text = ws_losses_text,
    .json = ws_losses_json,
};
