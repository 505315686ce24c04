#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/salted.h"
#include "analysis/label.h"
#include "analysis/sections.h"
#include "analysis/times.h"

/* Host time spent waiting for the device, by function and thread. */
struct sync_row {
    uint32_t function; /* family driver_function; 0 with blocking copies */
    uint32_t thread;
    uint64_t count;
    int64_t total, longest;
};

struct process_sync {
    struct ws_vector rows; /* struct sync_row, by total, longest first */
    int64_t total;
};

static int longest_first(const void *a, const void *b)
{
    const struct sync_row *x = a, *y = b;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    return (x->thread > y->thread) - (x->thread < y->thread);
}

static int add_wait(struct process_sync *result, struct ws_map *places, uint32_t function, uint32_t thread,
                    int64_t length)
{
    uint64_t key = (uint64_t)function << 32 | thread;
    uint64_t *place = ws_salted_put(places, key ? key : UINT64_MAX); /* 0 is not a key */
    if (!place)
        return -ENOMEM;
    if (!*place) {
        struct sync_row *row = ws_vector_push(&result->rows);
        if (!row)
            return -ENOMEM;
        row->function = function;
        row->thread = thread;
        *place = result->rows.count;
    }
    struct sync_row *row = (struct sync_row *)result->rows.data + (*place - 1);
    row->count++;
    if (length > 0) {
        row->total = ws_sum(row->total, length);
        if (length > row->longest)
            row->longest = length;
    }
    return 0;
}

/* Calls that wait, and operations whose call returns only when they are done. */
static int run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_process *process = ws_model_process(report->model, subject);
    const struct ws_call *calls = process->calls.data;
    const struct ws_ops *ops = &process->ops;
    struct process_sync *result = memory;
    struct ws_map places = { 0 };
    result->rows = WS_VECTOR(struct sync_row);
    int status = 0;
    for (size_t i = 0; i < process->calls.count && !status; i++) {
        const struct ws_driver_function *function = ws_rows_find(&process->driver_functions, calls[i].function);
        if (function && function->family == WS_CALL_SYNC)
            status = add_wait(result, &places, calls[i].function, calls[i].thread,
                              calls[i].host_end - calls[i].host_begin);
    }
    for (size_t i = 0; i < ops->count && !status; i++)
        if (ops->flags[i] & WS_OP_BLOCKING)
            status = add_wait(result, &places, ws_process_shape(process, ops->shape[i])->row.driver_function,
                              ws_op_thread(ops, i), ws_op_host_length(ops, i));
    ws_map_finish(&places);
    const struct sync_row *rows = result->rows.data;
    for (size_t i = 0; i < result->rows.count; i++)
        result->total = ws_sum(result->total, rows[i].total);
    if (result->rows.count)
        qsort(result->rows.data, result->rows.count, sizeof(*rows), longest_first);
    return status;
}

static void finish(void *memory)
{
    struct process_sync *result = memory;
    ws_vector_finish(&result->rows);
}

static const char *function_name(const struct ws_process *process, uint32_t id)
{
    const struct ws_driver_function *function = ws_rows_find(&process->driver_functions, id);
    return function ? function->name.data : "?";
}

static void text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "waited", false, false },  { "count", false, false }, { "mean", false, WS_NARROW_LEAVE_OUT },
        { "longest", false, false }, { "thread", true, false }, { "function", true, true },
    };
    const struct ws_process *process = ws_model_process(report->model, subject);
    const struct process_sync *result = memory;
    const struct sync_row *rows = result->rows.data;
    struct ws_table table;
    if (!result->rows.count) {
        ws_page_text(page, "No call that waits for the device is in the trace.");
        return;
    }
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < ws_page_rows(page, result->rows.count); i++) {
        ws_table_time(&table, rows[i].total);
        ws_table_count(&table, rows[i].count);
        ws_table_time(&table, rows[i].total / (int64_t)rows[i].count);
        ws_table_time(&table, rows[i].longest);
        ws_table_thread(&table, process, rows[i].thread);
        ws_table_cell(&table, "%s", function_name(process, rows[i].function));
    }
    ws_table_finish(&table);
    ws_page_more(page, result->rows.count, "");
}

static int json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_process *process = ws_model_process(report->model, subject);
    const struct process_sync *result = memory;
    const struct sync_row *rows = result->rows.data;
    json_t *list = json_array();
    int status = json_object_set_new(object, "synchronisation", list);
    for (size_t i = 0; i < result->rows.count && !status; i++) {
        const struct ws_thread *thread = ws_rows_find(&process->threads, rows[i].thread);
        json_t *row = json_object();
        status |= json_object_set_new(row, "function", ws_json_text(function_name(process, rows[i].function)));
        status |= json_object_set_new(row, "tid", thread ? json_integer(thread->tid) : json_null());
        status |= ws_json_set(row, "count", (int64_t)rows[i].count);
        status |= ws_json_set(row, "total_ns", rows[i].total);
        status |= ws_json_set(row, "max_ns", rows[i].longest);
        status |= json_array_append_new(list, row);
    }
    return status ? -ENOMEM : 0;
}

const struct ws_analysis ws_analysis_sync = {
    .name = "sync",
    .title = "Where the host waited for the device",
    .scope = WS_SCOPE_PROCESS,
    .result_size = sizeof(struct process_sync),
    .run = run,
    .finish = finish,
    .text = text,
    .json = json,
};
