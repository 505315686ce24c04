#include "model/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/build.h"

static bool may_leave_out(const struct ws_model_options *options, size_t index, int status, const char *message)
{
    return status != -ENOMEM && options && options->leave_out && options->leave_out(options->user, index, message);
}

/* Adds the processes of a file. If the file cannot be read, asks the caller (options->leave_out) whether to continue
 * without it. */
static int add_file(struct ws_build *build, const char *path, size_t index, const struct ws_model_options *options,
                    char *message, size_t capacity)
{
    struct ws_vector *processes = &build->model->processes;
    const char *file = options && options->files ? options->files[index] : path;
    int status = 0;
    for (size_t part = 0, parts = 1; part < parts && !status; part++) {
        struct ws_process *process = ws_vector_push(processes);
        snprintf(message, capacity, "out of memory");
        if (!process)
            return -ENOMEM;
        status = ws_process_load(process, &build->model->texts, path, file, part, NULL, options, message, capacity);
        parts = process->parts;
        if (status && may_leave_out(options, index, status, message)) {
            ws_process_finish(process);
            processes->count--;
            status = 0;
        } else if (!status && ws_process_resolve(build, (uint32_t)processes->count - 1)) {
            snprintf(message, capacity, "out of memory");
            status = -ENOMEM;
        }
    }
    return status;
}

/* Adds the part of a process that is in the time window. */
static int model_add_window(struct ws_build *build, const struct ws_window *window,
                            const struct ws_model_options *options, char *message, size_t capacity)
{
    struct ws_vector *processes = &build->model->processes;
    struct ws_process *process = ws_vector_push(processes);
    int status = process ? ws_process_load(process, &build->model->texts, window->path, window->file, window->part,
                                           window, options, message, capacity)
                         : -ENOMEM;
    if (!status && ws_process_resolve(build, (uint32_t)processes->count - 1))
        status = -ENOMEM;
    if (status == -ENOMEM)
        snprintf(message, capacity, "out of memory");
    return status;
}

int ws_model_create(struct ws_model **result, const char *const *paths, size_t count,
                    const struct ws_model_options *options, char *message, size_t capacity)
{
    struct ws_build build = { .model = calloc(1, sizeof(struct ws_model)) };
    int status = build.model ? 0 : -ENOMEM;
    snprintf(message, capacity, "out of memory");
    if (!build.model)
        return status;
    *build.model = (struct ws_model){ .processes = WS_VECTOR(struct ws_process),
                                      .tracks = WS_VECTOR(struct ws_track),
                                      .names = WS_VECTOR(struct ws_op_name) };
    size_t windows = options && options->windows ? options->window_count : 0;
    for (size_t i = 0; i < windows && !status; i++)
        status = model_add_window(&build, &options->windows[i], options, message, capacity);
    for (size_t i = 0; i < count && !windows && !status; i++)
        status = add_file(&build, paths[i], i, options, message, capacity);
    if (!status && count && !build.model->processes.count) {
        snprintf(message, capacity, "none of the %zu traces can be read", count);
        status = -ENODATA;
    }
    ws_map_finish(&build.names);
    if (status)
        ws_model_destroy(build.model);
    else
        *result = build.model;
    return status;
}

/* Moves a process and its tracks within the model, and updates the indices that refer to them. */
static void move(struct ws_model *model, size_t from, size_t to, uint32_t first_track)
{
    struct ws_process *process = ws_model_process(model, from);
    struct ws_op_shape *shapes = process->shapes.data;
    struct ws_track *tracks = ws_model_track(model, first_track);
    uint32_t shift = process->first_track - first_track;
    memmove(tracks, ws_model_track(model, process->first_track), process->track_count * sizeof(*tracks));
    for (uint32_t i = 0; i < process->track_count; i++)
        tracks[i].process = (uint32_t)to;
    for (size_t i = 0; i < process->shapes.count; i++)
        shapes[i].track -= shapes[i].track != WS_NOWHERE ? shift : 0;
    process->first_track = first_track;
    memmove(ws_model_process(model, to), process, sizeof(*process));
}

void ws_model_keep(struct ws_model *model, const uint32_t *numbers, uint32_t number)
{
    size_t kept = 0;
    uint32_t tracks = 0;
    for (size_t i = 0; i < model->processes.count; i++) {
        struct ws_process *process = ws_model_process(model, i);
        if (numbers[i] != number) {
            ws_process_finish(process);
            continue;
        }
        uint32_t count = process->track_count;
        move(model, i, kept++, tracks);
        tracks += count;
    }
    model->processes.count = kept;
    model->tracks.count = tracks;
}

void ws_model_destroy(struct ws_model *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < model->processes.count; i++)
        ws_process_finish(ws_model_process(model, i));
    ws_vector_finish(&model->processes);
    ws_vector_finish(&model->tracks);
    ws_vector_finish(&model->names);
    ws_arena_finish(&model->texts);
    free(model);
}

bool ws_process_uses_device(const struct ws_model *model, const struct ws_process *process, uint32_t device)
{
    if (!device || !process->track_count)
        return false;
    return ws_model_track(model, ws_process_find_track(model, process, device))->device == device;
}

const struct ws_device *ws_track_device(const struct ws_model *model, const struct ws_track *track)
{
    return ws_entries_find(&ws_model_process(model, track->process)->devices, track->device);
}
