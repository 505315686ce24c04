#include "manifest.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/build.h"
#include "wire/process_stat.h"

#define STILL "still recording"

static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

static char *manifest_path(const char *trace)
{
    char *path;
    return asprintf(&path, "%.*smanifest.json", (int)folder_length(trace), trace) < 0 ? NULL : path;
}

bool tool_manifest_is_beside(const char *path)
{
    char *manifest = manifest_path(path);
    bool found = manifest && !access(manifest, F_OK);
    free(manifest);
    return found;
}

/* Does the collector still run that wrote this? Elsewhere or before a boot, nobody here can know. */
static const char *collector_state(const json_t *root)
{
    char boot[WS_BOOT_ID_SIZE];
    const json_t *writer = json_object_get(root, "collector");
    const char *its_boot = json_string_value(json_object_get(writer, "boot_id"));
    ws_boot_id(boot);
    if (!its_boot || strcmp(boot, its_boot) != 0)
        return "its manifest says that the process still records, but was written on another machine or before the "
               "last boot";
    if (ws_process_is_alive((int)json_integer_value(json_object_get(writer, "pid")),
                            (uint64_t)json_integer_value(json_object_get(writer, "start_time"))))
        return "the process still records; this is the trace so far";
    return "the collector was killed before the trace ended; what came later is missing";
}

static const char *ended_text(const json_t *root, const char *file)
{
    const json_t *clients = json_object_get(root, "clients");
    for (size_t i = 0; i < json_array_size(clients); i++) {
        const json_t *client = json_array_get(clients, i);
        const char *name = json_string_value(json_object_get(client, "file"));
        const char *ended = json_string_value(json_object_get(client, "ended"));
        if (!name || !ended || strcmp(name, file) != 0)
            continue;
        return !strcmp(ended, STILL)       ? collector_state(root)
               : !strcmp(ended, "goodbye") ? NULL
               : !strcmp(ended, "gone without goodbye")
                   ? "gone without goodbye: what the process had not sent yet is missing"
                   : ended;
    }
    return NULL;
}

int tool_manifest_apply(struct ws_model *model)
{
    json_t *root = NULL;
    const char *before = ""; /* the trace whose folder `root` is of */
    int status = 0;
    for (size_t i = 0; i < model->processes.count && !status; i++) {
        struct ws_process *process = ws_model_process(model, i);
        const char *path = process->path;
        size_t length = folder_length(path);
        if (!i || length != folder_length(before) || memcmp(path, before, length) != 0) {
            char *manifest = manifest_path(path);
            json_decref(root);
            root = manifest ? json_load_file(manifest, 0, NULL) : NULL;
            free(manifest);
            before = path;
        }
        const char *ended = process->damage.no_footer ? ended_text(root, path + length) : NULL;
        const char *copy = ended ? ws_arena_copy(&model->texts, ended, strlen(ended)) : NULL;
        if (ended)
            status = copy ? ws_process_set_meta(process, "collector_ended", copy) : -ENOMEM;
    }
    json_decref(root);
    return status;
}
