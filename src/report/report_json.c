#include <errno.h>

#include "report/report.h"

enum { JSON_VERSION = 1 };

static int add_results(const struct ws_report *report, enum ws_scope scope, size_t subject, json_t *object)
{
    int status = 0;
    for (size_t i = 0; i < report->analyses->count && !status; i++)
        if (report->analyses->list[i]->scope == scope && report->analyses->list[i]->json)
            status = report->analyses->list[i]->json(
                report, subject, ws_report_result(report, report->analyses->list[i], subject), object);
    return status;
}

/* Programs that read the JSON may rely on these lists, so they are present even if no analysis fills them. */
static int add_empty_lists(json_t *object)
{
    static const char *const lists[] = { "kernels", "steps", "gaps", "storms", "chains", "copies", "collectives" };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        if (!json_object_get(object, lists[i]) && json_object_set_new(object, lists[i], json_array()))
            return -ENOMEM;
    return 0;
}

static json_t *text_or_null(const char *text)
{
    return text && *text ? ws_json_text(text) : json_null();
}

static json_t *track_json(const struct ws_report *report, size_t index)
{
    const struct ws_track *track = ws_model_track(report->model, index);
    const struct ws_device *device = ws_track_device(report->model, track);
    json_t *object = json_object();
    int status = json_object_set_new(object, "device", track->device ? json_integer(track->device - 1) : json_null());
    status |= json_object_set_new(object, "name", text_or_null(device ? device->name.data : NULL));
    status |= json_object_set_new(object, "uuid", text_or_null(device ? device->uuid.data : NULL));
    if (status || add_results(report, WS_SCOPE_TRACK, index, object) || add_empty_lists(object)) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *process_json(const struct ws_report *report, size_t index)
{
    const struct ws_process *process = ws_model_process(report->model, index);
    json_t *object = json_object();
    json_t *devices = json_array();
    int status = json_object_set_new(object, "trace", ws_json_text(process->path));
    status |= add_results(report, WS_SCOPE_PROCESS, index, object);
    status |= json_object_set_new(object, "devices", devices);
    for (uint32_t i = 0; i < process->track_count && !status; i++)
        status = json_array_append_new(devices, track_json(report, process->first_track + i));
    if (status) {
        json_decref(object);
        return NULL;
    }
    return object;
}

json_t *ws_report_json(const struct ws_report *report)
{
    json_t *root = json_object();
    json_t *processes = json_array();
    int status = json_object_set_new(root, "schema", json_string("wallshim-report"));
    status |= json_object_set_new(root, "version", json_integer(JSON_VERSION));
    if (report->window)
        status |= json_object_set_new(root, "window", ws_report_window_json(report->window));
    status |= json_object_set_new(root, "processes", processes);
    for (size_t i = 0; i < report->model->processes.count && !status; i++)
        status = json_array_append_new(processes, process_json(report, i));
    if (status || add_results(report, WS_SCOPE_JOB, 0, root)) {
        json_decref(root);
        return NULL;
    }
    return root;
}
