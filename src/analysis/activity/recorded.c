#include "analysis/activity/recorded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/host_time.h"
#include "base/minmax.h"

/* A trace by Wallshim counts as complete if at most one in LOST_MOST operations was lost. The value is our choice. */
enum { LOST_MOST = 1000 };

/* ws_recorded_apart sorts at most this many correlation ids. That is enough to find the median difference between
 * consecutive ids. */
enum { MOST_IDS = 1000000 };

/* Does a loss for this reason mean that the device ran operations whose times are not in the trace? Returns false for
 * operations that ran while recording was paused: unrecorded.c leaves these pauses out of busy and idle time. */
static bool is_lost_work(uint32_t reason)
{
    switch (reason) {
    case WS_LOSS_RING_FULL:
    case WS_LOSS_POOL_DRY:
    case WS_LOSS_DRIVER_REFUSED:
    case WS_LOSS_CAPTURE_UNKNOWN:
    case WS_LOSS_NO_THREAD_SLOT:
    case WS_LOSS_WRITE_FAILED:
    case WS_LOSS_BYPASSED:
    case WS_LOSS_NESTED:
    case WS_LOSS_DAMAGED:
    case WS_LOSS_NO_ROOM:
        return true;
    default:
        return false;
    }
}

static bool is_whole(const struct ws_process *process)
{
    const struct ws_loss *losses = process->losses.data;
    uint64_t lost = 0;
    for (size_t i = 0; i < process->losses.count; i++)
        lost += is_lost_work(losses[i].reason) ? ws_min(losses[i].count, UINT32_MAX) : 0;
    return !ws_process_meta(process, "import") && !process->damage.lost_frames && !process->damage.lost_bytes &&
           lost <= process->ops.count / LOST_MOST;
}

/* Returns CUPTI's correlation id, which is in the lower 32 bits. The importers of other profilers' traces put the
 * thread's number above these bits (ws_gather_correlation). */
static uint32_t number_of(uint64_t correlation)
{
    return (uint32_t)correlation;
}

static uint32_t smallest_number(const struct ws_process *process)
{
    const struct ws_ops *ops = &process->ops;
    const struct ws_call *calls = process->calls.data;
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < ops->count; i++) {
        uint32_t number = ws_op_has_call(ops, i) ? number_of(ws_op_correlation(ops, i)) : 0;
        least = number && number < least ? number : least;
    }
    for (size_t i = 0; i < process->calls.count; i++) {
        uint32_t number = number_of(calls[i].correlation);
        least = number && number < least ? number : least;
    }
    return least == UINT32_MAX ? 0 : least;
}

bool ws_launched_before(const struct ws_process_recorded *recorded, const struct ws_ops *ops, uint32_t op)
{
    uint32_t number = recorded->first_id && !ws_op_has_call(ops, op) ? number_of(ws_op_correlation(ops, op)) : 0;
    return number && number < recorded->first_id;
}

enum { OTHER_CALL, LAUNCH_CALL, CAPTURE_BEGINS, CAPTURE_ENDS };

static uint8_t *read_functions(const struct ws_process *process)
{
    const struct ws_driver_function *functions = process->driver_functions.rows.data;
    size_t count = process->driver_functions.rows.count;
    uint8_t *kinds = calloc(count + 1, 1);
    for (size_t i = 0; kinds && i < count; i++)
        kinds[i] = functions[i].family == WS_CALL_LAUNCH                  ? LAUNCH_CALL
                   : strstr(functions[i].name.data, "StreamBeginCapture") ? CAPTURE_BEGINS
                   : strstr(functions[i].name.data, "StreamEndCapture")   ? CAPTURE_ENDS
                                                                          : OTHER_CALL;
    return kinds;
}

/* Finds launch calls whose operations are not in the trace. Skips launches made while a stream was captured, because
 * they launch nothing. The calls are in order of time, so find_alone counts the calls that begin and end captures to
 * know when a stream was captured. Ignores launches after the last launch that has an operation, because their
 * operations may have run after the trace's end. */
static int find_alone(const struct ws_process *process, struct ws_process_recorded *result)
{
    const struct ws_ops *ops = &process->ops;
    const struct ws_call *calls = process->calls.data;
    uint8_t *kinds = read_functions(process);
    int64_t last = INT64_MIN;
    int capturing = 0, status = kinds ? 0 : -ENOMEM;
    for (size_t i = 0; i < ops->count; i++)
        last = ws_op_has_call(ops, i) ? ws_max(last, ws_op_host_begin(ops, i)) : last;
    for (size_t i = 0; i < process->calls.count && !status; i++) {
        uint32_t place = ws_entries_place(&process->driver_functions, calls[i].function);
        uint8_t kind = place == UINT32_MAX ? OTHER_CALL : kinds[place];
        capturing += kind == CAPTURE_BEGINS ? 1 : kind == CAPTURE_ENDS && capturing ? -1 : 0;
        if (kind != LAUNCH_CALL || capturing || calls[i].result || calls[i].host_begin >= last)
            continue;
        int64_t *time = ws_vector_push(&result->alone);
        status = time ? 0 : -ENOMEM;
        if (time)
            *time = calls[i].host_begin;
    }
    if (result->alone.count)
        qsort(result->alone.data, result->alone.count, sizeof(int64_t), ws_ascending);
    free(kinds);
    return status;
}

bool ws_lacks_launch(const struct ws_process_recorded *recorded, int64_t from, int64_t to)
{
    const int64_t *times = recorded->alone.data;
    size_t low = 0, high = recorded->alone.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (times[middle] <= from)
            low = middle + 1;
        else
            high = middle;
    }
    return low < recorded->alone.count && times[low] < to;
}

static int recorded_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_process *process = ws_model_process(report->model, subject);
    struct ws_process_recorded *result = memory;
    result->whole = is_whole(process);
    result->alone = WS_VECTOR(int64_t);
    if (!ws_process_meta(process, "import"))
        return 0;
    result->first_id = smallest_number(process);
    for (size_t i = 0; i < process->ops.count; i++)
        result->before += ws_launched_before(result, &process->ops, (uint32_t)i);
    return find_alone(process, result);
}

static void recorded_finish(void *memory)
{
    struct ws_process_recorded *result = memory;
    ws_vector_finish(&result->alone);
}

static int recorded_ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int ws_recorded_apart(const struct ws_process *process, uint32_t *apart)
{
    const struct ws_ops *ops = &process->ops;
    const struct ws_call *calls = process->calls.data;
    uint32_t *numbers = malloc((MOST_IDS + 1) * sizeof(*numbers));
    size_t count = 0, kept = 0;
    *apart = 0;
    if (!numbers)
        return -ENOMEM;
    for (size_t i = 0; i < ops->count && count < MOST_IDS; i++)
        if (ws_op_has_call(ops, i) && number_of(ws_op_correlation(ops, i)))
            numbers[count++] = number_of(ws_op_correlation(ops, i));
    for (size_t i = 0; i < process->calls.count && count < MOST_IDS; i++)
        if (number_of(calls[i].correlation))
            numbers[count++] = number_of(calls[i].correlation);
    qsort(numbers, count, sizeof(*numbers), recorded_ascending);
    for (size_t i = 1; i < count; i++) /* every operation of a call has the call's correlation id, so ids repeat */
        if (numbers[i] != numbers[i - 1])
            numbers[kept++] = numbers[i] - numbers[i - 1];
    qsort(numbers, kept, sizeof(*numbers), recorded_ascending);
    *apart = kept ? numbers[kept / 2] : 0;
    free(numbers);
    return 0;
}

int64_t ws_op_queued_from(const struct ws_process *process, uint32_t op)
{
    const struct ws_shape *shape = &ws_process_shape(process, process->ops.shape[op])->row;
    bool waits = shape->kind == WS_OP_COPY && !ws_is_host_to_device(shape) && ws_op_blocks(process, op);
    return waits ? ws_op_host_begin(&process->ops, op) : ws_op_host_end(&process->ops, op);
}

const struct ws_analysis ws_analysis_recorded = {
    .name = "recorded",
    .scope = WS_SCOPE_PROCESS,
    .result_size = sizeof(struct ws_process_recorded),
    .run = recorded_run,
    .finish = recorded_finish,
};
