#include "analysis/activity/overview.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "report/peaks.h"

static void overview_widen(struct ws_process_overview *result, int64_t begin, int64_t end)
{
    if (begin < result->first)
        result->first = begin;
    if (end > result->last)
        result->last = end;
}

static int count_ops(const struct ws_process *process, struct ws_process_overview *result)
{
    const struct ws_ops *ops = &process->ops;
    uint64_t *of_shape = calloc(process->shapes.count + 1, sizeof(*of_shape)), captured = 0, failed = 0;
    int64_t first = result->first, last = result->last;
    if (!of_shape)
        return -ENOMEM;
    for (size_t i = 0; i < ops->count; i++) {
        int64_t begin = ws_op_host_begin(ops, i);
        first = ws_min(first, begin);
        last = ws_max(last, begin + ws_op_host_length(ops, i));
        of_shape[ops->shape[i]]++;
        captured += (ops->flags[i] & WS_OP_CAPTURED) != 0;
        failed += (ops->flags[i] & WS_OP_FAILED) != 0;
    }
    overview_widen(result, first, last);
    result->captured = captured;
    result->failed = failed;
    for (size_t i = 0; i < process->shapes.count; i++) {
        uint32_t kind = ws_process_shape(process, i)->row.kind;
        result->by_kind[kind < WS_OP_KIND_COUNT ? kind : WS_OP_UNKNOWN] += of_shape[i];
    }
    free(of_shape);
    return 0;
}

static int overview_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_process *process = ws_model_process(report->model, subject);
    const struct ws_call *calls = process->calls.data;
    struct ws_process_overview *result = memory;
    result->first = INT64_MAX;
    result->last = INT64_MIN;
    for (size_t i = 0; i < process->calls.count; i++)
        overview_widen(result, calls[i].host_begin, calls[i].host_end);
    int status = count_ops(process, result);
    return status ? status : ws_recording_cost(process, &result->cost);
}

const struct ws_analysis ws_analysis_overview = {
    .name = "overview",
    .title = "Overview",
    .scope = WS_SCOPE_PROCESS,
    .result_size = sizeof(struct ws_process_overview),
    .run = overview_run,
    .text = ws_overview_text,
    .json = ws_overview_json,
};
