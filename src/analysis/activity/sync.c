#include "analysis/activity/sync.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/host_time.h"
#include "base/minmax.h"
#include "base/salted.h"

static int sync_longest_first(const void *a, const void *b)
{
    const struct ws_sync_row *x = a, *y = b;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    return (x->thread > y->thread) - (x->thread < y->thread);
}

static int add_wait(struct ws_process_sync *result, struct ws_map *places, uint32_t function, uint32_t thread,
                    int64_t length)
{
    uint64_t key = (uint64_t)function << 32 | thread;
    uint64_t *place = ws_salted_put(places, key ? key : UINT64_MAX); /* a map cannot hold the key 0 */
    if (!place)
        return -ENOMEM;
    if (!*place) {
        struct ws_sync_row *row = ws_vector_push(&result->rows);
        if (!row)
            return -ENOMEM;
        row->function = function;
        row->thread = thread;
        *place = result->rows.count;
    }
    struct ws_sync_row *row = (struct ws_sync_row *)result->rows.data + (*place - 1);
    row->count++;
    if (length > 0) {
        row->total = ws_sum(row->total, length);
        if (length > row->longest)
            row->longest = length;
    }
    return 0;
}

/* Counts calls that wait for the device, and launches and copies whose call returned only after the operation had
 * ended. */
static int sync_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_process *process = ws_model_process(report->model, subject);
    const struct ws_call *calls = process->calls.data;
    const struct ws_ops *ops = &process->ops;
    struct ws_process_sync *result = memory;
    struct ws_map places = { 0 };
    result->rows = WS_VECTOR(struct ws_sync_row);
    int status = 0;
    for (size_t i = 0; i < process->calls.count && !status; i++) {
        const struct ws_driver_function *function = ws_entries_find(&process->driver_functions, calls[i].function);
        if (function && function->family == WS_CALL_SYNC)
            status = add_wait(result, &places, calls[i].function, calls[i].thread,
                              calls[i].host_end - calls[i].host_begin);
    }
    for (size_t i = 0; i < ops->count && !status; i++)
        if (ws_op_blocks(process, (uint32_t)i))
            status = add_wait(result, &places, ws_process_shape(process, ops->shape[i])->row.driver_function,
                              ws_op_thread(ops, i), ws_op_host_length(ops, i));
    ws_map_finish(&places);
    const struct ws_sync_row *rows = result->rows.data;
    for (size_t i = 0; i < result->rows.count; i++)
        result->total = ws_sum(result->total, rows[i].total);
    if (result->rows.count)
        qsort(result->rows.data, result->rows.count, sizeof(*rows), sync_longest_first);
    return status;
}

static void sync_finish(void *memory)
{
    struct ws_process_sync *result = memory;
    ws_vector_finish(&result->rows);
}

const struct ws_analysis ws_analysis_sync = {
    .name = "sync",
    .title = "Where the host waited for the device",
    .host_times = true,
    .scope = WS_SCOPE_PROCESS,
    .result_size = sizeof(struct ws_process_sync),
    .run = sync_run,
    .finish = sync_finish,
    .text = ws_sync_text,
    .json = ws_sync_json,
};
