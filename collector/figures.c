#include "collector/figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/figures_stream.h"

enum { FIGURES_MEMORY_MAX = 64 << 20 };

struct figures *figures_create(uint64_t now_ms)
{
    struct figures *figures = calloc(1, sizeof(*figures));
    if (figures)
        *figures = (struct figures){ .memory.limit = FIGURES_MEMORY_MAX, .now_ms = now_ms };
    return figures;
}

static void free_process(struct figures_process *process)
{
    for (struct figures_device *device = process->devices, *next; device; device = next) {
        next = device->next;
        figures_device_finish(device, &process->all->memory);
        free(device);
        process->all->device_count--;
    }
    figures_waits_finish(&process->waits, &process->all->memory);
    process->all->count--;
    free(process);
}

void figures_destroy(struct figures *figures)
{
    if (!figures)
        return;
    for (struct figures_process *process = figures->first, *next; process; process = next) {
        next = process->next;
        free_process(process);
    }
    ws_payload_finish(&figures->payload);
    free(figures->rows.bytes);
    free(figures->decoder_memory.bytes);
    free(figures);
}

/* --- processes ---------------------------------------------------------------------------------- */

/* Labels come from clients. Characters other than printable ASCII become '?', and long texts are cut. */
static void copy_label(char label[FIGURES_LABEL_SIZE], const char *text)
{
    size_t i = 0;
    for (; i < FIGURES_LABEL_SIZE - 1 && text[i]; i++)
        label[i] = (char)(text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
    label[i] = 0;
}

static void name_process(struct figures_process *process, const struct figures_source *source)
{
    copy_label(process->job, source->job);
    copy_label(process->host, source->host);
    copy_label(process->rank, source->rank);
    process->pid = source->pid;
}

/* Processes with equal labels share their figures, because no set of labels may occur twice in the metrics. */
static bool is_same(const struct figures_process *a, const struct figures_process *b)
{
    return a->pid == b->pid && !strcmp(a->job, b->job) && !strcmp(a->host, b->host) && !strcmp(a->rank, b->rank);
}

static void forget(struct figures *figures, struct figures_process *process)
{
    struct figures_process **link = &figures->first;
    while (*link != process)
        link = &(*link)->next;
    *link = process->next;
    free_process(process);
}

/* Makes room for one more process by dropping the figures of the process that ended first. Returns whether there is
 * room. */
static bool make_room(struct figures *figures)
{
    struct figures_process *oldest = NULL;
    if (figures->count < FIGURES_PROCESSES_MAX)
        return true;
    for (struct figures_process *process = figures->first; process; process = process->next)
        if (!process->streams && (!oldest || process->ended_ms < oldest->ended_ms))
            oldest = process;
    if (oldest)
        forget(figures, oldest);
    return oldest != NULL;
}

struct figures_process *figures_process_of(struct figures *figures, const struct figures_source *source)
{
    struct figures_process names = { 0 };
    name_process(&names, source);
    for (struct figures_process *process = figures->first; process; process = process->next)
        if (is_same(process, &names))
            return process;
    struct figures_process *process = make_room(figures) ? calloc(1, sizeof(*process)) : NULL;
    if (!process) {
        figures->untracked++;
        return NULL;
    }
    name_process(process, source);
    process->all = figures;
    process->next = figures->first;
    figures->first = process;
    figures->count++;
    return process;
}

void figures_salvage(struct figures *figures, const struct figures_source *source, uint64_t records)
{
    struct figures_process names = { 0 };
    name_process(&names, source);
    for (struct figures_process *process = figures ? figures->first : NULL; process; process = process->next)
        if (is_same(process, &names))
            process->salvaged += records;
}

/* --- devices ------------------------------------------------------------------------------------ */

/* The UUID becomes a label in the metrics. Only texts in the form of a UUID are accepted, so that clients cannot put
 * arbitrary texts into the metrics. */
static bool is_uuid(const char *text)
{
    size_t length = strlen(text);
    return length < FIGURES_UUID_SIZE && (!strncmp(text, "GPU-", 4) || !strncmp(text, "MIG-", 4)) &&
           strspn(text + 4, "0123456789abcdefABCDEF-") == length - 4 && length > 4;
}

struct figures_device *figures_device_of(struct figures_process *process, const char *uuid)
{
    const char *name = is_uuid(uuid) ? uuid : "unknown";
    for (struct figures_device *device = process->devices; device; device = device->next)
        if (!strcmp(device->uuid, name))
            return device;
    struct figures_device *device =
        process->all->device_count < FIGURES_DEVICES_MAX ? calloc(1, sizeof(*device)) : NULL;
    if (!device)
        return NULL;
    snprintf(device->uuid, sizeof(device->uuid), "%s", name);
    device->next = process->devices;
    process->devices = device;
    process->all->device_count++;
    return device;
}

/* --- time --------------------------------------------------------------------------------------- */

void figures_process_settle(struct figures_process *process)
{
    for (struct figures_device *device = process->devices; device; device = device->next)
        figures_device_settle(device, &process->waits);
}

void figures_tick(struct figures *figures, uint64_t now_ms)
{
    figures->now_ms = now_ms;
    for (struct figures_process *process = figures->first, *next; process; process = next) {
        next = process->next;
        if (!process->streams && now_ms - process->ended_ms > FIGURES_KEPT_MS) {
            forget(figures, process);
            continue;
        }
        for (struct figures_device *device = process->devices; device && process->streams; device = device->next)
            figures_device_tick(device, &process->waits);
    }
}
