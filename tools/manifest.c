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

/* Returns a text on whether the writer of the manifest (a collector, or attach --all) still runs. Whether it still
 * runs is not known if it ran on another machine or before the last boot. */
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

/* Returns the manifest's row of a trace; NULL: the manifest has no such row. */
static const json_t *client_of(const json_t *root, const char *file)
{
    const json_t *clients = json_object_get(root, "clients");
    for (size_t i = 0; i < json_array_size(clients); i++) {
        const json_t *client = json_array_get(clients, i);
        const char *name = json_string_value(json_object_get(client, "file"));
        if (name && !strcmp(name, file))
            return client;
    }
    return NULL;
}

static const char *ended_text(const json_t *root, const json_t *client)
{
    const char *ended = json_string_value(json_object_get(client, "ended"));
    return !ended                      ? NULL
           : !strcmp(ended, STILL)     ? collector_state(root)
           : !strcmp(ended, "goodbye") ? NULL
           : !strcmp(ended, "gone without goodbye")
               ? "gone without goodbye: what the process had not sent yet is missing"
               : ended;
}

static int manifest_add_meta(struct ws_model *model, struct ws_process *process, const char *key, const char *value)
{
    const char *copy = value ? ws_arena_copy(&model->texts, value, strlen(value)) : NULL;
    return !value ? 0 : copy ? ws_process_set_meta(process, key, copy) : -ENOMEM;
}

int tool_manifest_apply(struct ws_model *model)
{
    json_t *root = NULL;
    const char *before = ""; /* path of a trace in the folder whose manifest is `root` */
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
        const json_t *client = client_of(root, path + length);
        status = manifest_add_meta(model, process, "collector_ended",
                                   process->damage.no_footer ? ended_text(root, client) : NULL);
        if (!status)
            status =
                manifest_add_meta(model, process, "together", json_string_value(json_object_get(client, "together")));
    }
    json_decref(root);
    return status;
}
