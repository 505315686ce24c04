#include "model/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "base/salted.h"
#include "model/sort.h"

static int64_t host_begin_of(const struct ws_process *process, enum ws_host_kind kind, uint32_t index)
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

static int64_t host_end_of(const struct ws_process *process, enum ws_host_kind kind, uint32_t index)
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

static const struct ws_host_run *runs_of(const struct ws_host_list *list)
{
    return list->runs.data;
}

/* Appends adjacent rows to a list. If they follow the last run (group of adjacent rows) of the list, extends this
 * run. */
static int host_add(struct ws_host_list *list, uint32_t first, uint32_t count)
{
    const struct ws_host_run *last = list->count ? runs_of(list) + list->runs.count - 1 : NULL;
    if (!last || last->first + (list->count - last->before) != first) {
        struct ws_host_run *run = ws_vector_push(&list->runs);
        if (!run)
            return -ENOMEM;
        *run = (struct ws_host_run){ first, list->count };
    }
    list->count += count;
    return 0;
}

static int add_ops(struct ws_host_list *lists, const struct ws_ops *ops)
{
    int status = 0;
    for (size_t first = 0, end; first < ops->count && !status; first = end) {
        end = ws_sparse_next(&ops->row_threads, first + 1);
        end = ws_min(end, ops->count);
        status = host_add(&lists[ws_op_thread_place(ops, first)], (uint32_t)first, (uint32_t)(end - first));
    }
    return status;
}

/* Adds a call to the list of its thread. Only threads that made operations have lists. */
static int host_add_call(struct ws_host_list *lists, const struct ws_process *process, uint32_t thread, size_t row)
{
    const uint64_t *number = thread ? ws_salted_get(&process->ops.thread_numbers, (uint64_t)thread + 1) : NULL;
    return number ? host_add(&lists[*number - 1], (uint32_t)row, 1) : 0;
}

/* Adds the events of one kind, in file order, to the lists of their threads. */
static int add_kind(struct ws_host *host, enum ws_host_kind kind)
{
    const struct ws_process *process = host->process;
    const struct ws_call *calls = process->calls.data;
    const struct ws_collective *collectives = process->collectives.data;
    struct ws_host_list *lists = host->lists[kind];
    int status = 0;
    if (kind == WS_HOST_OP)
        return add_ops(lists, &process->ops);
    if (kind == WS_HOST_CALL)
        for (size_t i = 0; i < process->calls.count && !status; i++)
            status = host_add_call(lists, process, calls[i].thread, i);
    if (kind == WS_HOST_COLLECTIVE)
        for (size_t i = 0; i < process->collectives.count && !status; i++)
            status = host_add_call(lists, process, collectives[i].thread, i);
    return status;
}

static int end_runs(struct ws_host_list *list)
{
    struct ws_host_run *end = list->count ? ws_vector_push(&list->runs) : NULL;
    if (end)
        end->before = list->count;
    return end || !list->count ? 0 : -ENOMEM;
}

static bool host_in_order(const struct ws_process *process, enum ws_host_kind kind, const struct ws_host_list *list)
{
    const struct ws_host_run *run = runs_of(list);
    int64_t last = INT64_MIN;
    for (uint32_t place = 0; place < list->count; run++)
        for (uint32_t row = run->first; place < run[1].before; place++, row++) {
            int64_t begin = host_begin_of(process, kind, row);
            if (begin < last)
                return false;
            last = begin;
        }
    return true;
}

/* Sorts the list by start and rebuilds its runs (groups of adjacent rows). */
static int host_sort(const struct ws_process *process, enum ws_host_kind kind, struct ws_host_list *list)
{
    const struct ws_host_run *run = runs_of(list);
    size_t count = list->count;
    uint32_t *rows = malloc(2 * count * sizeof(*rows)), *order = rows ? rows + count : NULL;
    struct ws_times begins = { 0 };
    int status = rows ? ws_times_reach(&begins, 0, count) : -ENOMEM;
    for (uint32_t place = 0; place < count && !status; place++) {
        run += place == run[1].before;
        rows[place] = run->first + (place - run->before);
        order[place] = place;
        status = ws_times_append(&begins, place, host_begin_of(process, kind, rows[place]));
    }
    if (!status)
        status = ws_sort_by_time(order, count, &begins);
    list->count = 0;
    list->runs.count = 0;
    for (size_t i = 0; i < count && !status; i++)
        status = host_add(list, rows[order[i]], 1);
    if (!status)
        status = end_runs(list);
    free(rows);
    ws_times_finish(&begins);
    return status;
}

int ws_host_init(struct ws_host *host, const struct ws_process *process)
{
    int status = 0;
    *host = (struct ws_host){ .process = process, .thread_count = process->ops.threads.count };
    for (enum ws_host_kind kind = 0; kind < WS_HOST_KINDS && !status; kind++) {
        struct ws_host_list *lists = host->lists[kind] = calloc(host->thread_count + 1, sizeof(*lists));
        for (size_t i = 0; i < host->thread_count && lists; i++)
            lists[i].runs = WS_VECTOR(struct ws_host_run);
        status = lists ? add_kind(host, kind) : -ENOMEM;
        for (size_t i = 0; i < host->thread_count && !status; i++) {
            status = end_runs(&lists[i]);
            if (!status && !host_in_order(process, kind, &lists[i]))
                status = host_sort(process, kind, &lists[i]);
        }
    }
    return status;
}

void ws_host_finish(struct ws_host *host)
{
    for (int kind = 0; kind < WS_HOST_KINDS; kind++) {
        for (size_t i = 0; i < host->thread_count && host->lists[kind]; i++)
            ws_vector_finish(&host->lists[kind][i].runs);
        free(host->lists[kind]);
    }
}

/* Returns the index of the run (group of adjacent rows) that contains the list's event with index `place`. Starts the
 * search at run `near`. */
static size_t find_run(const struct ws_host_list *list, size_t near, size_t place)
{
    const struct ws_host_run *runs = runs_of(list);
    size_t low = 0, high = list->runs.count - 1;
    for (size_t step = 1;; step *= 2) {
        size_t at = near >= low && near < high ? near : low + (high - low) / 2;
        if (place < runs[at].before) {
            high = at;
            near = at > step ? at - step : 0;
        } else if (place >= runs[at + 1].before) {
            low = at + 1;
            near = at + step;
        } else {
            return at;
        }
    }
}

/* Returns the row of the list's event with index `place`. Sets *run to the run (group of adjacent rows) that holds
 * the event. The search begins at the run that *run held before the call. */
static uint32_t row_at(const struct ws_host_list *list, size_t place, size_t *run)
{
    const struct ws_host_run *near = runs_of(list) + *run;
    if (place < near->before || place >= near[1].before) {
        *run = find_run(list, *run, place);
        near = runs_of(list) + *run;
    }
    return near->first + ((uint32_t)place - near->before);
}

/* Returns the index of the list's first event that begins at or after `time`. Starts the search at the cursor's
 * position. */
static size_t host_find(const struct ws_host *host, enum ws_host_kind kind, const struct ws_host_list *list,
                        struct ws_host_cursor *cursor, int64_t time)
{
    size_t low = 0, high = list->count, near = cursor->place[kind];
    for (size_t step = 1; low < high; step *= 2) {
        size_t at = near >= low && near < high ? near : low + (high - low) / 2;
        if (host_begin_of(host->process, kind, row_at(list, at, &cursor->run[kind])) < time) {
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
        const struct ws_host_list *list = &host->lists[kind][cursor->thread];
        size_t place = host_find(host, kind, list, cursor, time);
        if (place && host_end_of(host->process, kind, row_at(list, place - 1, &cursor->run[kind])) > time)
            place--;
        cursor->place[kind] = place;
    }
}

bool ws_host_next(const struct ws_host *host, struct ws_host_cursor *cursor, int64_t until,
                  struct ws_host_event *event)
{
    enum ws_host_kind first = WS_HOST_KINDS;
    for (enum ws_host_kind kind = 0; kind < WS_HOST_KINDS; kind++) {
        const struct ws_host_list *list = &host->lists[kind][cursor->thread];
        if (cursor->place[kind] >= list->count)
            continue;
        uint32_t row = row_at(list, cursor->place[kind], &cursor->run[kind]);
        int64_t begin = host_begin_of(host->process, kind, row);
        if (begin >= until || (first != WS_HOST_KINDS && begin >= event->begin))
            continue;
        first = kind;
        event->begin = begin;
        event->index = row;
    }
    if (first == WS_HOST_KINDS)
        return false;
    cursor->place[first]++;
    event->kind = first;
    event->end = host_end_of(host->process, first, event->index);
    return true;
}
