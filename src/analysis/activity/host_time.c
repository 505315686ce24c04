#include "analysis/activity/host_time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"

/* Words in the names of ranges in which a program loads input data. PyTorch's profiler writes a range
 * "enumerate(DataLoader)#…__next__". The Python frames that it records have names such as
 * "torch/utils/data/dataloader.py(708): __next__". A training loop waits for its loader's workers in "queue.py(154):
 * get" and "multiprocessing/queues.py". The other words are from names of ranges that training frameworks and their
 * users set. */
static const char *const loaders[] = { "dataloader",
                                       "data_loader",
                                       "data loader",
                                       "torch/utils/data",
                                       "next(loader",
                                       "IteratorGetNext",
                                       "batch-generator",
                                       "get_batch",
                                       "next_batch",
                                       "load_batch",
                                       "fetch_batch",
                                       "data loading",
                                       "multiprocessing/queues.py" };

/* Does a range with this name load input data? */
static bool is_input_range(const char *name)
{
    for (size_t i = 0; i < sizeof(loaders) / sizeof(loaders[0]); i++)
        if (strcasestr(name, loaders[i]))
            return true;
    return strstr(name, "queue.py(") && strstr(name, "): get");
}

static enum ws_host_use use_of_family(uint32_t family)
{
    switch (family) {
    case WS_CALL_SYNC:
        return WS_USE_SYNC;
    case WS_CALL_MEMORY:
    case WS_CALL_MODULE:
    case WS_CALL_LIFETIME:
        return WS_USE_ALLOCATION;
    case WS_CALL_NCCL:
        return WS_USE_COMM;
    default:
        return WS_USE_LAUNCH;
    }
}

enum { OF_INPUT = 1 };

/* Returns an array indexed like ws_process.labels (the texts of the ranges' names): OF_INPUT if the text names a data
 * loader, else 0. */
static uint8_t *read_labels(const struct ws_process *process)
{
    const struct ws_label *labels = process->labels.rows.data;
    uint8_t *of = calloc(process->labels.rows.count + 1, 1);
    for (size_t i = 0; of && i < process->labels.rows.count; i++)
        of[i] = is_input_range(labels[i].text.data) ? OF_INPUT : 0;
    return of;
}

static int find_ranges(struct ws_host_time *time, const struct ws_process *process)
{
    const uint32_t *threads = process->ops.threads.data;
    uint8_t *labels = read_labels(process);
    int status = labels ? 0 : -ENOMEM;
    for (size_t thread = 0; thread < time->host.thread_count && !status; thread++) {
        const struct ws_thread_rows *of_thread = ws_rows_of_thread(&process->ranges.threads, threads[thread]);
        for (uint32_t i = 0; of_thread && i < of_thread->count && !status; i++) {
            const struct ws_range *range = ws_range(&process->ranges, of_thread->first + i);
            uint32_t label = ws_entries_place(&process->labels, range->name);
            if (range->kind == WS_RANGE_COMMUNICATION)
                status = ws_interval_set_add(&time->comm[thread], range->host_begin, range->host_end);
            else if (label != UINT32_MAX && labels[label] == OF_INPUT)
                status = ws_interval_set_add(&time->input[thread], range->host_begin, range->host_end);
        }
    }
    free(labels);
    return status;
}

/* Finds the first operation of each name. An operation refers to its shape (the set of operations with the same
 * static properties), and the shape to the name. So find_firsts finds the first operation of each shape, and then the
 * earliest of these operations for each name. */
static int find_firsts(struct ws_host_time *time, const struct ws_model *model, const struct ws_process *process)
{
    const struct ws_ops *ops = &process->ops;
    uint32_t *of_shape = malloc((process->shapes.count + 1) * sizeof(*of_shape));
    time->firsts = malloc((model->names.count + 1) * sizeof(*time->firsts));
    int status = of_shape && time->firsts ? 0 : -ENOMEM;
    for (size_t i = 0; i < process->shapes.count && !status; i++)
        of_shape[i] = UINT32_MAX;
    for (size_t i = 0; i < model->names.count && !status; i++)
        time->firsts[i] = UINT32_MAX;
    for (size_t i = ops->count; i-- > 0 && !status;)
        of_shape[ops->shape[i]] = (uint32_t)i;
    for (size_t i = 0; i < process->shapes.count && !status; i++) {
        uint32_t *first = &time->firsts[ws_process_shape(process, i)->name];
        *first = of_shape[i] < *first ? of_shape[i] : *first;
    }
    free(of_shape);
    return status;
}

static int host_time_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_process *process = ws_model_process(report->model, subject);
    const struct ws_driver_function *functions = process->driver_functions.rows.data;
    struct ws_host_time *time = memory;
    int status = ws_host_init(&time->host, process);
    if (!status)
        status = find_firsts(time, report->model, process);
    if (status)
        return status;
    time->functions = malloc(process->driver_functions.rows.count + 1);
    time->input = calloc(time->host.thread_count + 1, sizeof(*time->input));
    time->comm = calloc(time->host.thread_count + 1, sizeof(*time->comm));
    if (!time->functions || !time->input || !time->comm)
        return -ENOMEM;
    for (size_t i = 0; i < process->driver_functions.rows.count; i++)
        time->functions[i] = (uint8_t)use_of_family(functions[i].family);
    return find_ranges(time, process);
}

static void host_time_finish(void *memory)
{
    struct ws_host_time *time = memory;
    for (size_t i = 0; i < time->host.thread_count; i++) {
        if (time->input)
            ws_interval_set_finish(&time->input[i]);
        if (time->comm)
            ws_interval_set_finish(&time->comm[i]);
    }
    free(time->input);
    free(time->comm);
    free(time->functions);
    free(time->firsts);
    ws_host_finish(&time->host);
}

uint32_t ws_host_event_function(const struct ws_process *process, const struct ws_host_event *event)
{
    switch (event->kind) {
    case WS_HOST_OP:
        return ws_process_shape(process, process->ops.shape[event->index])->row.driver_function;
    case WS_HOST_CALL:
        return ((const struct ws_call *)process->calls.data)[event->index].function;
    default:
        return ((const struct ws_collective *)process->collectives.data)[event->index].function;
    }
}

bool ws_op_blocks(const struct ws_process *process, uint32_t op)
{
    const struct ws_ops *ops = &process->ops;
    if (ops->flags[op] & WS_OP_BLOCKING)
        return true;
    return ws_op_host_length(ops, op) > WS_COPY_CALL_MOST && ws_op_is_timed(ops, op) &&
           ws_process_shape(process, ops->shape[op])->row.kind == WS_OP_COPY &&
           ws_op_begin(ops, op) >= ws_op_host_begin(ops, op) && ws_op_end(ops, op) <= ws_op_host_end(ops, op);
}

bool ws_launches_graph(const struct ws_process *process, uint32_t driver_function)
{
    const struct ws_driver_function *function = ws_entries_find(&process->driver_functions, driver_function);
    return function && strstr(function->name.data, "GraphLaunch");
}

enum ws_host_use ws_host_time_use(const struct ws_host_time *time, const struct ws_host_event *event)
{
    const struct ws_process *process = time->host.process;
    if (event->kind == WS_HOST_COLLECTIVE)
        return WS_USE_COMM;
    if (event->kind == WS_HOST_OP) {
        if (ws_op_blocks(process, event->index))
            return WS_USE_SYNC;
        const struct ws_op_shape *shape = ws_process_shape(process, process->ops.shape[event->index]);
        bool loads = event->end - event->begin > WS_LAUNCH_MOST && shape->row.kind == WS_OP_KERNEL &&
                     time->firsts[shape->name] == event->index &&
                     !ws_launches_graph(process, shape->row.driver_function);
        return loads ? WS_USE_ALLOCATION : WS_USE_LAUNCH;
    }
    uint32_t place = ws_entries_place(&process->driver_functions, ws_host_event_function(process, event));
    return place == UINT32_MAX ? WS_USE_LAUNCH : (enum ws_host_use)time->functions[place];
}

static void host_time_add(struct ws_host_window *window, enum ws_host_use use, const struct ws_host_event *event,
                          int64_t from, int64_t to)
{
    if (to <= from)
        return;
    window->used[use] += to - from;
    if (to - from > window->longest[use].length) {
        window->longest[use].length = to - from;
        window->longest[use].event = *event;
    }
}

/* Adds to `window` a period in which the thread was in no call. Divides the period by the ranges that the thread was
 * in: data loading, collectives, or neither. */
static void add_pause(const struct ws_host_time *time, size_t thread, struct ws_host_window *window, int64_t from,
                      int64_t to)
{
    if (to <= from)
        return;
    int64_t input = time->input[thread].count ? ws_interval_set_within(&time->input[thread], from, to) : 0;
    int64_t comm = time->comm[thread].count ? ws_interval_set_within(&time->comm[thread], from, to) : 0;
    if (comm > to - from - input)
        comm = to - from - input;
    struct ws_host_event pause = { .begin = from, .end = to };
    host_time_add(window, WS_USE_INPUT, &pause, from, from + input);
    host_time_add(window, WS_USE_COMM, &pause, from, from + comm);
    host_time_add(window, WS_USE_OWN, &pause, from, to - input - comm);
}

/* Moves the cursor to the first events (host calls) that may touch a window which begins at `from`. The cursor goes
 * back over at most MOST_BACK events of each kind before `from`. Without this limit, a large clock error (`slack`)
 * would move the cursor back to the start of the recording for every window. */
static void seek_back(const struct ws_host *host, struct ws_host_cursor *cursor, int64_t from, int64_t slack)
{
    enum { MOST_BACK = 64 };
    ws_host_seek(host, cursor, from);
    struct ws_host_cursor near = *cursor;
    ws_host_seek(host, cursor, from - slack);
    for (int kind = 0; kind < WS_HOST_KINDS; kind++)
        if (near.place[kind] - cursor->place[kind] > MOST_BACK)
            cursor->place[kind] = near.place[kind] - MOST_BACK;
}

void ws_host_time_window(const struct ws_host_time *time, struct ws_host_cursor *cursor, int64_t from, int64_t to,
                         int64_t slack, struct ws_host_window *window)
{
    struct ws_host_event event;
    int64_t covered = from;
    *window = (struct ws_host_window){ 0 };
    seek_back(&time->host, cursor, from, slack);
    while (ws_host_next(&time->host, cursor, to, &event)) {
        if (event.end < from - slack)
            continue;
        enum ws_host_use use = ws_host_time_use(time, &event);
        int64_t begin = ws_max(event.begin, covered), end = ws_min(event.end, to);
        window->calls++;
        if (event.end > event.begin && window->whole[use] < WS_TIME_MOST)
            window->whole[use] += ws_min(event.end - event.begin, WS_TIME_MOST);
        add_pause(time, cursor->thread, window, covered, begin);
        host_time_add(window, use, &event, begin, end);
        covered = ws_max(end, covered);
    }
    add_pause(time, cursor->thread, window, covered, to);
}

const struct ws_analysis ws_analysis_host_time = {
    .name = "host_time",
    .scope = WS_SCOPE_PROCESS,
    .result_size = sizeof(struct ws_host_time),
    .run = host_time_run,
    .finish = host_time_finish,
};
