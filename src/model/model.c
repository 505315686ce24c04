#include "model/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/build.h"

int ws_model_create(struct ws_model **result, const char *const *paths, size_t count,
                    const struct ws_model_options *options, char *message, size_t capacity)
{
    struct ws_build build = { .model = calloc(1, sizeof(struct ws_model)) };
    int status = build.model ? 0 : -ENOMEM;
    if (!build.model)
        goto out;
    *build.model = (struct ws_model){ .processes = WS_VECTOR(struct ws_process),
                                      .tracks = WS_VECTOR(struct ws_track),
                                      .names = WS_VECTOR(struct ws_op_name) };
    for (size_t i = 0; i < count; i++) {
        struct ws_process *process = ws_vector_push(&build.model->processes);
        if (!process) {
            status = -ENOMEM;
            goto out;
        }
        status = ws_process_load(process, &build.model->texts, paths[i], options, message, capacity);
        if (status)
            goto failed;
        status = ws_process_resolve(&build, (uint32_t)i);
        if (status)
            goto out;
    }
out:
    if (status)
        snprintf(message, capacity, "out of memory");
failed:
    ws_map_finish(&build.names);
    if (status)
        ws_model_destroy(build.model);
    else
        *result = build.model;
    return status;
}

void ws_model_destroy(struct ws_model *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < model->tracks.count; i++)
        free(ws_model_track(model, i)->order);
    for (size_t i = 0; i < model->processes.count; i++)
        ws_process_finish(ws_model_process(model, i));
    ws_vector_finish(&model->processes);
    ws_vector_finish(&model->tracks);
    ws_vector_finish(&model->names);
    ws_arena_finish(&model->texts);
    free(model);
}

const char *ws_process_meta(const struct ws_process *process, const char *key)
{
    const struct ws_meta_entry *entries = process->meta.data;
    for (size_t i = process->meta.count; i-- > 0;)
        if (!strcmp(entries[i].key, key))
            return entries[i].value;
    return NULL;
}

bool ws_process_uses_device(const struct ws_process *process, uint32_t device)
{
    const struct ws_context *contexts = process->contexts.rows.data;
    for (size_t i = 0; i < process->contexts.rows.count; i++)
        if (contexts[i].device == device)
            return true;
    return false;
}

const struct ws_device *ws_track_device(const struct ws_model *model, const struct ws_track *track)
{
    return ws_rows_find(&ws_model_process(model, track->process)->devices, track->device);
}
