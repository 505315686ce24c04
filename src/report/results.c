#include "report/results.h"

size_t results_subjects(const struct ws_report *report, enum ws_scope scope)
{
    switch (scope) {
    case WS_SCOPE_TRACK:
        return report->model->tracks.count;
    case WS_SCOPE_PROCESS:
        return report->model->processes.count;
    case WS_SCOPE_JOB:
        return 1;
    }
    return 0;
}

size_t results_stride(const struct ws_report *report)
{
    size_t stride = 1;
    for (int scope = WS_SCOPE_TRACK; scope <= WS_SCOPE_JOB; scope++)
        if (results_subjects(report, (enum ws_scope)scope) > stride)
            stride = results_subjects(report, (enum ws_scope)scope);
    return stride;
}

size_t results_place(const struct ws_report *report, const struct ws_analysis *analysis)
{
    size_t place = 0;
    while (report->analyses->list[place] != analysis)
        place++;
    return place;
}

const void *ws_report_result(const struct ws_report *report, const struct ws_analysis *analysis, size_t subject)
{
    return report->results[results_place(report, analysis) * report->stride + subject];
}
