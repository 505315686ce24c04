#include "model/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "model/sort.h"

static int64_t begin_of(const struct ws_process *process, enum ws_host_kind kind, uint32_t index)
{
    switch (kind) {
    case WS_HOST_OP:
        return ws_op_host_begin(&process->ops, index);
    case WS_HOST_CALL:
        return ((const struct ws_call *)process->calls.data)[index].host_begin;
    default:
        return ((const struct ws_collective *)process->collectives.data)[index].host_begin;
    }
}

static int64_t end_of(const struct ws_process *process, enum ws_host_kind kind, uint32_t index)
{
    switch (kind) {
    case WS_HOST_OP:
        return ws_op_host_end(&process->ops, index);
    case WS_HOST_CALL:
        return ((const struct ws_call *)process->calls.data)[index].host_end;
    default:
        return ((const struct ws_collective *)process->collectives.data)[index].host_end;
    }
}

/* Events by thread and begin; threads are those of the operations where NULL. Threads beyond the last have none that
 * count. */
static int order(const struct ws_host *host, struct ws_host_list *list, const uint16_t *threads,
                 const int64_t *begins, size_t count)
{
    const struct ws_ops *ops = &host->process->ops;
    size_t kept = 0, thread_count = host->thread_count;
    list->starts = calloc(thread_count + 2, sizeof(*list->starts));
    if (!list->starts)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        uint32_t thread = threads ? threads[i] : ws_op_thread_place(ops, i);
        if (thread < thread_count) {
            list->starts[thread + 2]++;
            kept++;
        }
    }
    for (size_t i = 0; i + 2 < thread_count + 2; i++)
        list->starts[i + 2] += list->starts[i + 1];
    list->items = ws_pages_alloc((kept + 1) * sizeof(*list->items));
    if (!list->items)
        return -ENOMEM;
    /* starts[thread + 1] counts up from the thread's begin to its end, which is the next one's begin. */
    for (size_t i = 0; i < count; i++) {
        uint32_t thread = threads ? threads[i] : ws_op_thread_place(ops, i);
        if (thread < thread_count)
            list->items[list->starts[thread + 1]++] = (uint32_t)i;
    }
    for (size_t i = 0; i < thread_count; i++)
        if (ws_sort_by_time(list->items + list->starts[i], list->starts[i + 1] - list->starts[i], begins))
            return -ENOMEM;
    return 0;
}

/* Calls are rows, not columns: takes their threads and begins out of them. */
static int order_rows(struct ws_host *host, enum ws_host_kind kind, size_t count)
{
    const struct ws_process *process = host->process;
    const struct ws_call *calls = process->calls.data;
    const struct ws_collective *collectives = process->collectives.data;
    uint16_t *threads = malloc((count + 1) * sizeof(*threads));
    int64_t *begins = malloc((count + 1) * sizeof(*begins));
    int status = threads && begins ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && !status; i++) {
        uint32_t thread = kind == WS_HOST_CALL ? calls[i].thread : collectives[i].thread;
        const uint64_t *number = thread ? ws_map_get(&process->ops.thread_numbers, (uint64_t)thread + 1) : NULL;
        threads[i] = number ? (uint16_t)(*number - 1) : UINT16_MAX;
        begins[i] = begin_of(process, kind, (uint32_t)i);
    }
    if (!status)
        status = order(host, &host->lists[kind], threads, begins, count);
    free(threads);
    free(begins);
    return status;
}

int ws_host_init(struct ws_host *host, const struct ws_process *process)
{
    const struct ws_ops *ops = &process->ops;
    *host = (struct ws_host){ .process = process, .thread_count = ops->threads.count };
    int status = order(host, &host->lists[WS_HOST_OP], NULL, ops->host_begin, ops->count);
    if (!status)
        status = order_rows(host, WS_HOST_CALL, process->calls.count);
    if (!status)
        status = order_rows(host, WS_HOST_COLLECTIVE, process->collectives.count);
    return status;
}

void ws_host_finish(struct ws_host *host)
{
    for (int kind = 0; kind < WS_HOST_KINDS; kind++) {
        free(host->lists[kind].items);
        free(host->lists[kind].starts);
    }
}

/* The first place in [low, high) whose event begins at `time` or later, looked for from `near` on. */
static size_t find(const struct ws_host *host, enum ws_host_kind kind, size_t low, size_t high, size_t near,
                   int64_t time)
{
    const uint32_t *items = host->lists[kind].items;
    for (size_t step = 1; low < high; step *= 2) {
        size_t at = near >= low && near < high ? near : low + (high - low) / 2;
        if (begin_of(host->process, kind, items[at]) < time) {
            low = at + 1;
            near = at + step;
        } else {
            high = at;
            near = at > step ? at - step : 0;
        }
    }
    return low;
}

void ws_host_seek(const struct ws_host *host, struct ws_host_cursor *cursor, int64_t time)
{
    for (enum ws_host_kind kind = 0; kind < WS_HOST_KINDS; kind++) {
        const struct ws_host_list *list = &host->lists[kind];
        size_t first = list->starts[cursor->thread], end = list->starts[cursor->thread + 1];
        size_t place = find(host, kind, first, end, cursor->place[kind], time);
        if (place > first && end_of(host->process, kind, list->items[place - 1]) > time)
            place--;
        cursor->place[kind] = place;
    }
}

bool ws_host_next(const struct ws_host *host, struct ws_host_cursor *cursor, int64_t until,
                  struct ws_host_event *event)
{
    enum ws_host_kind first = WS_HOST_KINDS;
    for (enum ws_host_kind kind = 0; kind < WS_HOST_KINDS; kind++) {
        const struct ws_host_list *list = &host->lists[kind];
        if (cursor->place[kind] >= list->starts[cursor->thread + 1])
            continue;
        int64_t begin = begin_of(host->process, kind, list->items[cursor->place[kind]]);
        if (begin >= until || (first != WS_HOST_KINDS && begin >= event->begin))
            continue;
        first = kind;
        event->begin = begin;
    }
    if (first == WS_HOST_KINDS)
        return false;
    event->kind = first;
    event->index = host->lists[first].items[cursor->place[first]++];
    event->end = end_of(host->process, first, event->index);
    return true;
}
