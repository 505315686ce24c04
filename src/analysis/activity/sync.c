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
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Adds a wait of the thread that began at the host time `begin`. rows: the numbers of rows by their keys. */
static int add_wait(struct ws_process_sync *result, struct ws_map *rows, const struct ws_process *process,
                    uint32_t function, uint32_t thread, int64_t begin, int64_t length)
{
    uint32_t place = ws_stacks_at(&process->stacks, thread, begin, 0);
    const uint32_t key[] = { function, thread, place };
    uint64_t *number = ws_map_put(rows, ws_salted_key(key, sizeof(key)));
    if (!number)
        return -ENOMEM;
    if (!*number) {
        struct ws_sync_row *row = ws_vector_push(&result->rows);
        if (!row)
            return -ENOMEM;
        *row = (struct ws_sync_row){ .function = function, .thread = thread, .place = place };
        *number = result->rows.count;
    }
    struct ws_sync_row *row = (struct ws_sync_row *)result->rows.data + (*number - 1);
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
    struct ws_map numbers = { 0 };
    result->rows = WS_VECTOR(struct ws_sync_row);
    int status = 0;
    for (size_t i = 0; i < process->calls.count && !status; i++) {
        const struct ws_driver_function *function = ws_entries_find(&process->driver_functions, calls[i].function);
        if (function && function->family == WS_CALL_SYNC)
            status = add_wait(result, &numbers, process, calls[i].function, calls[i].thread, calls[i].host_begin,
                              calls[i].host_end - calls[i].host_begin);
    }
    for (size_t i = 0; i < ops->count && !status; i++)
        if (ws_op_blocks(process, (uint32_t)i))
            status =
                add_wait(result, &numbers, process, ws_process_shape(process, ops->shape[i])->row.driver_function,
                         ws_op_thread(ops, i), ws_op_host_begin(ops, i), ws_op_host_length(ops, i));
    ws_map_finish(&numbers);
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
