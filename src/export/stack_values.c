#include "export/stack_values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/analyses.h"
#include "report/report.h"

size_t ws_frame_chain(const struct ws_stacks *stacks, uint32_t index, uint32_t chain[WS_CHAIN_MOST])
{
    size_t depth = 0;
    for (uint32_t at = index; at != WS_NO_FRAME && depth < WS_CHAIN_MOST; at = ws_stacks_caller(stacks, at))
        chain[depth++] = at;
    for (size_t i = 0; i < depth / 2; i++) {
        uint32_t other = chain[i];
        chain[i] = chain[depth - 1 - i];
        chain[depth - 1 - i] = other;
    }
    return depth;
}

static int fill(const struct ws_report *report, const struct ws_process *process, struct ws_code_time *times)
{
    int status = ws_code_host_times(process, times);
    for (uint32_t i = process->first_track; i < process->first_track + process->track_count && !status; i++) {
        status = ws_code_device_times(process, ws_model_track(report->model, i), times);
        ws_code_idle_times(process, ws_report_result(report, &ws_analysis_causes, i), times);
    }
    return status;
}

static int take_processes(const struct ws_report *report,
                          int (*take)(const struct ws_stack_values *values, void *user), void *user)
{
    bool any = false;
    int status = 0;
    for (size_t i = 0; i < report->model->processes.count && !status; i++) {
        struct ws_stack_values values = { .process = ws_model_process(report->model, i) };
        if (!values.process->stacks.rows.count)
            continue;
        any = true;
        values.count = values.process->stacks.frames.rows.count;
        values.times = calloc(values.count + 1, sizeof(*values.times));
        status = values.times ? fill(report, values.process, values.times) : -ENOMEM;
        if (!status)
            status = take(&values, user);
        free(values.times);
    }
    return status || any ? status : -ENODATA;
}

int ws_for_stack_values(const struct ws_model *model, int (*take)(const struct ws_stack_values *values, void *user),
                        void *user, char *message, size_t capacity)
{
    static const struct ws_report_options options = { .steps = WS_STEPS_AUTO, .threads = 1 };
    struct ws_report *report = NULL;
    int status = ws_report_create(&report, model, &ws_all_analyses, &options);
    if (!status)
        status = take_processes(report, take, user);
    ws_report_destroy(report);
    snprintf(message, capacity,
             status == -ENODATA ? "the recording has no stacks: record a Python program with --stacks some or all"
                                : "out of memory");
    return status;
}
