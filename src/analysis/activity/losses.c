#include "analysis/activity/losses.h"

#include <string.h>

#include "analysis/activity/recorded.h"
#include "base/minmax.h"

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

struct ws_loss_sums ws_losses_sum(const struct ws_report *report, size_t process)
{
    const struct ws_process_losses *losses = ws_report_result(report, &ws_analysis_losses, process);
    const struct ws_process_recorded *recorded = ws_report_result(report, &ws_analysis_recorded, process);
    struct ws_loss_sums sums = { .before = ws_min(recorded->before, losses->count[WS_LOSS_NO_CALL]),
                                 .counted = losses->count[WS_LOSS_OVERHEAD] };
    sums.lost =
        losses->total - losses->count[WS_LOSS_RANGE] - losses->count[WS_LOSS_BURST] - sums.before - sums.counted;
    return sums;
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
