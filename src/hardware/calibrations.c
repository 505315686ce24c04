#include "hardware/calibrations.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool ws_calibrations_folder(char *path, size_t capacity)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data && *data == '/') /* a relative path counts as unset (XDG base directory specification) */
        snprintf(path, capacity, "%s/wallshim/gpus", data);
    else if (home && *home)
        snprintf(path, capacity, "%s/.local/share/wallshim/gpus", home);
    else
        *path = 0;
    return *path != 0;
}

void ws_calibration_file_name(const char *name, const char *uuid, char *text, size_t capacity)
{
    size_t at = 0;
    snprintf(text, capacity, "%s-%s.json", name, uuid);
    for (const char *from = text; *from; from++) {
        bool plain = isalnum((unsigned char)*from) || *from == '.' || *from == '-';
        if (plain || (at && text[at - 1] != '-'))
            text[at++] = (char)(plain ? *from : '-');
    }
    text[at] = 0;
}

static int is_json(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && dot && !strcmp(dot, ".json");
}

static int calibrations_newest(const void *a, const void *b)
{
    const struct ws_gpu_file *const *x = a, *const *y = b;
    return strcmp((*y)->calibrated, (*x)->calibrated);
}

static int calibrations_add(struct ws_calibrations *calibrations, const char *name)
{
    char path[1024];
    struct ws_gpu_file *file = calloc(1, sizeof(*file));
    struct ws_gpu_file **place = file ? ws_vector_push(&calibrations->files) : NULL;
    snprintf(path, sizeof(path), "%s/%s", calibrations->folder, name);
    if (place && !ws_gpu_read(file, path, calibrations->unread, sizeof(calibrations->unread)) && *file->calibrated) {
        *place = file;
        return 0;
    }
    if (place)
        calibrations->files.count--;
    free(file);
    return place ? 0 : -ENOMEM;
}

int ws_calibrations_init(struct ws_calibrations *calibrations)
{
    struct dirent **names;
    int status = 0;
    *calibrations = (struct ws_calibrations){ .files = WS_VECTOR(struct ws_gpu_file *) };
    if (!ws_calibrations_folder(calibrations->folder, sizeof(calibrations->folder)))
        return 0;
    int count = scandir(calibrations->folder, &names, is_json, alphasort);
    for (int i = 0; i < count; i++) {
        status = status ? status : calibrations_add(calibrations, names[i]->d_name);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    if (calibrations->files.count)
        qsort(calibrations->files.data, calibrations->files.count, sizeof(struct ws_gpu_file *), calibrations_newest);
    if (status)
        ws_calibrations_finish(calibrations);
    return status;
}

void ws_calibrations_finish(struct ws_calibrations *calibrations)
{
    struct ws_gpu_file **files = calibrations->files.data;
    for (size_t i = 0; i < calibrations->files.count; i++)
        free(files[i]);
    ws_vector_finish(&calibrations->files);
}

static bool is_it(const char *ours, const char *asked)
{
    return asked && *asked && !strcasecmp(ours, asked);
}

const struct ws_gpu_file *ws_calibrations_find(const struct ws_calibrations *calibrations, const char *uuid,
                                               const char *name, enum ws_gpu_match *match)
{
    struct ws_gpu_file *const *files = calibrations->files.data;
    *match = WS_GPU_CALIBRATED;
    for (size_t i = 0; i < calibrations->files.count; i++)
        if (is_it(files[i]->uuid, uuid) && (!name || !*name || is_it(files[i]->name, name)))
            return files[i];
    *match = WS_GPU_CALIBRATED_ON_ANOTHER;
    for (size_t i = 0; i < calibrations->files.count; i++)
        if (is_it(files[i]->name, name))
            return files[i];
    *match = WS_GPU_UNKNOWN;
    return NULL;
}
