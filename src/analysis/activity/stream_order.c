#include "analysis/activity/stream_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NEITHER, RECORDS, WAITS };

static int by_event(const void *a, const void *b)
{
    const struct ws_order_entry *x = a, *y = b;
    if (x->event != y->event)
        return x->event < y->event ? -1 : 1;
    return (x->time > y->time) - (x->time < y->time);
}

static int by_stream(const void *a, const void *b)
{
    const struct ws_order_entry *x = a, *y = b;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return (x->time > y->time) - (x->time < y->time);
}

/* Tells from a function's name whether the function records an event, makes a stream wait for an event, or does
 * neither. Some imported traces have functions of the runtime (cudaEventRecord) instead of the driver
 * (cuEventRecord). */
static int role_of(const char *function)
{
    if (strstr(function, "StreamWaitEvent"))
        return WAITS;
    return strstr(function, "EventRecord") ? RECORDS : NEITHER;
}

static int stream_order_add(struct ws_vector *list, const struct ws_order_entry *entry)
{
    struct ws_order_entry *place = ws_vector_push(list);
    if (!place)
        return -ENOMEM;
    *place = *entry;
    return 0;
}

static int add_calls(struct ws_stream_order *order, const struct ws_process *process)
{
    const struct ws_call *calls = process->calls.data;
    uint32_t last = 0;
    int role = NEITHER, status = 0;
    for (size_t i = 0; i < process->calls.count && !status; i++) {
        if (calls[i].function != last) {
            const struct ws_driver_function *function =
                ws_entries_find(&process->driver_functions, calls[i].function);
            role = function ? role_of(function->name.data) : NEITHER;
            last = calls[i].function;
        }
        if (role == NEITHER || calls[i].result || !calls[i].object || !calls[i].stream)
            continue;
        status = stream_order_add(
            role == WAITS ? &order->waits : &order->records,
            &(struct ws_order_entry){
                .stream = calls[i].stream, .op = WS_NOWHERE, .event = calls[i].object, .time = calls[i].host_begin });
    }
    return status;
}

/* Does the operation block its stream without using the device? Host functions and waits for memory values block
 * their stream. Writes of memory values do not block it. */
static bool holds_up(const struct ws_model *model, const struct ws_process *process, const struct ws_op_shape *shape)
{
    const struct ws_driver_function *function =
        ws_entries_find(&process->driver_functions, shape->row.driver_function);
    return ws_model_name(model, shape->name)->activity == WS_ACTIVITY_NONE && shape->row.stream &&
           !(function && strstr(function->name.data, "WriteValue"));
}

static bool has_passive(const struct ws_model *model, const struct ws_process *process)
{
    for (uint32_t i = 0; i < process->track_count; i++)
        if (ws_model_track(model, process->first_track + i)->passive)
            return true;
    return false;
}

static int add_holds(struct ws_stream_order *order, const struct ws_model *model, const struct ws_process *process)
{
    const struct ws_ops *ops = &process->ops;
    bool *holds = calloc(process->shapes.count + 1, sizeof(*holds));
    int status = holds ? 0 : -ENOMEM;
    for (size_t i = 0; i < process->shapes.count && !status; i++)
        holds[i] = holds_up(model, process, ws_process_shape(process, i));
    for (size_t i = 0; i < ops->count && !status; i++)
        if (holds[ops->shape[i]] && !(ops->flags[i] & (WS_OP_FAILED | WS_OP_CAPTURED)) && ws_op_has_call(ops, i))
            status = stream_order_add(
                &order->holds,
                &(struct ws_order_entry){ .stream = ws_process_shape(process, ops->shape[i])->row.stream,
                                          .op = (uint32_t)i,
                                          .time = ws_op_host_begin(ops, i) });
    free(holds);
    return status;
}

static void stream_order_sort(struct ws_vector *list, int (*compare)(const void *, const void *))
{
    if (list->count)
        qsort(list->data, list->count, sizeof(struct ws_order_entry), compare);
}

static int stream_order_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_process *process = ws_model_process(report->model, subject);
    struct ws_stream_order *order = memory;
    *order = (struct ws_stream_order){ WS_VECTOR(struct ws_order_entry), WS_VECTOR(struct ws_order_entry),
                                       WS_VECTOR(struct ws_order_entry) };
    int status = add_calls(order, process);
    if (!status && has_passive(report->model, process))
        status = add_holds(order, report->model, process);
    stream_order_sort(&order->records, by_event);
    stream_order_sort(&order->waits, by_stream);
    stream_order_sort(&order->holds, by_stream);
    return status;
}

static void stream_order_finish(void *memory)
{
    struct ws_stream_order *order = memory;
    ws_vector_finish(&order->records);
    ws_vector_finish(&order->waits);
    ws_vector_finish(&order->holds);
}

const struct ws_analysis ws_analysis_stream_order = {
    .name = "stream_order",
    .scope = WS_SCOPE_PROCESS,
    .result_size = sizeof(struct ws_stream_order),
    .run = stream_order_run,
    .finish = stream_order_finish,
};

/* Returns the last entry that is less than the key, or NULL. The list must be sorted by `compare`. */
static const struct ws_order_entry *stream_order_last_before(const struct ws_vector *list,
                                                             const struct ws_order_entry *key,
                                                             int (*compare)(const void *, const void *))
{
    const struct ws_order_entry *entries = list->data;
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&entries[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &entries[low - 1] : NULL;
}

const struct ws_order_entry *ws_order_record_before(const struct ws_stream_order *order, uint64_t event, int64_t time)
{
    const struct ws_order_entry key = { .event = event, .time = time };
    const struct ws_order_entry *entry = stream_order_last_before(&order->records, &key, by_event);
    return entry && entry->event == event ? entry : NULL;
}

static const struct ws_order_entry *of_stream(const struct ws_vector *list, uint32_t stream, int64_t time)
{
    const struct ws_order_entry key = { .stream = stream, .time = time };
    const struct ws_order_entry *entry = stream_order_last_before(list, &key, by_stream);
    return entry && entry->stream == stream ? entry : NULL;
}

const struct ws_order_entry *ws_order_wait_before(const struct ws_stream_order *order, uint32_t stream, int64_t time)
{
    return of_stream(&order->waits, stream, time);
}

const struct ws_order_entry *ws_order_hold_before(const struct ws_stream_order *order, uint32_t stream, int64_t time)
{
    return of_stream(&order->holds, stream, time);
}
