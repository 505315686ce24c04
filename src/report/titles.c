#include <stdio.h>
#include <string.h>

#include "report/analysis.h"

void ws_report_process_title(const struct ws_report *report, size_t index, char *text, size_t capacity)
{
    const struct ws_process *process = ws_model_process(report->model, index);
    const char *rank = ws_process_meta(process, "rank"), *slash = strrchr(process->path, '/');
    const char *pid = ws_process_meta(process, "pid");
    if (report->rank_names[index])
        snprintf(text, capacity, "rank %s", rank);
    else
        snprintf(text, capacity, "%s%s%s", slash ? slash + 1 : process->path,
                 pid && process->parts > 1 ? " pid " : "", pid && process->parts > 1 ? pid : "");
}

void ws_report_track_title(const struct ws_report *report, size_t index, char *text, size_t capacity)
{
    const struct ws_track *track = ws_model_track(report->model, index);
    const struct ws_device *device = ws_track_device(report->model, track);
    bool is_named = device && device->name.length;
    size_t used = 0;
    if (report->model->processes.count > 1) {
        ws_report_process_title(report, track->process, text, capacity);
        used = strlen(text);
    }
    const char *comma = used ? ", " : "";
    if (!track->device)
        snprintf(text + used, capacity - used, "%sGPU not known", comma);
    else
        snprintf(text + used, capacity - used, "%sGPU %u%s%s", comma, track->device - 1, is_named ? " " : "",
                 is_named ? device->name.data : "");
}
