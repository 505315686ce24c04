#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/sections.h"

/* What an NCCL call moves, as nccl-tests count it: size bytes in the algorithm, times a factor of the
 * number of ranks over the busiest link. */
enum factor { FACTOR_ONE, FACTOR_ALL_REDUCE, FACTOR_SHARE };

struct operation {
    const char *function;
    const char *name;
    enum factor factor;
    bool times_ranks; /* count is of one rank's part */
};

static const struct operation operations[] = {
    { "ncclAllReduce", "all-reduce", FACTOR_ALL_REDUCE, false },
    { "ncclReduceScatter", "reduce-scatter", FACTOR_SHARE, true },
    { "ncclAllGather", "all-gather", FACTOR_SHARE, true },
    { "ncclBroadcast", "broadcast", FACTOR_ONE, false },
    { "ncclBcast", "broadcast", FACTOR_ONE, false },
    { "ncclReduce", "reduce", FACTOR_ONE, false },
    { "ncclSend", "send", FACTOR_ONE, false },
    { "ncclRecv", "receive", FACTOR_ONE, false },
    { "ncclAlltoAll", "all-to-all", FACTOR_SHARE, true },
    { "ncclGather", "gather", FACTOR_SHARE, true },
    { "ncclScatter", "scatter", FACTOR_SHARE, true },
};
enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

struct collective_row {
    uint32_t operation; /* index into operations, OPERATIONS: another */
    uint32_t ranks;     /* 0: not known */
    uint64_t count, bytes;
    uint64_t timed; /* calls with at least one launch that has device times */
    uint64_t timed_bytes;
    int64_t total; /* from the first begin to the last end of each call's launches, summed */
};

struct track_collectives {
    struct ws_vector rows; /* struct collective_row, by total, longest first */
};

static unsigned type_bytes(uint32_t datatype)
{
    /* ncclDataType_t: int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 fp8 fp8 */
    static const uint8_t bytes[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };
    return datatype < sizeof(bytes) ? bytes[datatype] : 1;
}

static uint32_t operation_of(const struct ws_process *process, uint32_t id)
{
    const struct ws_driver_function *function = ws_rows_find(&process->driver_functions, id);
    uint32_t at = 0;
    while (function && at < OPERATIONS && strcmp(function->name.data, operations[at].function))
        at++;
    return function ? at : OPERATIONS;
}

/* Communication launches of the process, in order of their correlation. */
struct launch {
    uint64_t correlation;
    uint32_t op;
};

static int by_correlation(const void *a, const void *b)
{
    const struct launch *x = a, *y = b;
    return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

static int find_launches(const struct ws_process *process, struct ws_vector *launches)
{
    const struct ws_ops *ops = &process->ops;
    for (size_t i = 0; i < ops->count; i++) {
        if (!(ops->flags[i] & WS_OP_IN_COLLECTIVE) || !ws_op_is_timed(ops, i))
            continue;
        struct launch *launch = ws_vector_push(launches);
        if (!launch)
            return -ENOMEM;
        *launch = (struct launch){ ws_op_correlation(ops, i), (uint32_t)i };
    }
    if (launches->count)
        qsort(launches->data, launches->count, sizeof(struct launch), by_correlation);
    return 0;
}

/* From the first begin to the last end of a call's launches; false when none has times. */
static bool device_time(const struct ws_process *process, const struct ws_vector *launches,
                        const struct ws_collective *call, int64_t *length)
{
    const struct launch *list = launches->data;
    size_t low = 0, high = launches->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].correlation < call->first_launch)
            low = middle + 1;
        else
            high = middle;
    }
    int64_t begin = INT64_MAX, end = INT64_MIN;
    for (; low < launches->count && list[low].correlation <= call->last_launch; low++) {
        uint32_t op = list[low].op;
        begin = process->ops.begin[op] < begin ? process->ops.begin[op] : begin;
        end = ws_op_end(&process->ops, op) > end ? ws_op_end(&process->ops, op) : end;
    }
    *length = begin < end ? end - begin : 0;
    return begin <= end;
}

static struct collective_row *row_for(struct track_collectives *result, uint32_t operation, uint32_t ranks)
{
    struct collective_row *rows = result->rows.data;
    for (size_t i = 0; i < result->rows.count; i++)
        if (rows[i].operation == operation && rows[i].ranks == ranks)
            return &rows[i];
    struct collective_row *row = ws_vector_push(&result->rows);
    if (row)
        *row = (struct collective_row){ .operation = operation, .ranks = ranks };
    return row;
}

static int longest_first(const void *a, const void *b)
{
    const struct collective_row *x = a, *y = b;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    return x->operation != y->operation ? (x->operation > y->operation ? 1 : -1)
                                        : (x->ranks > y->ranks) - (x->ranks < y->ranks);
}

static int add_call(const struct ws_process *process, const struct ws_vector *launches,
                    const struct ws_collective *call, struct track_collectives *result)
{
    const struct ws_comm *comm = ws_rows_find(&process->comms, call->comm);
    uint32_t operation = operation_of(process, call->function);
    uint32_t ranks = comm ? comm->size : 0;
    struct collective_row *row = row_for(result, operation, ranks);
    int64_t length;
    if (!row)
        return -ENOMEM;
    uint64_t bytes = call->count * type_bytes(call->datatype);
    if (operation < OPERATIONS && operations[operation].times_ranks && ranks)
        bytes *= ranks;
    row->count++;
    row->bytes += bytes;
    if (call->first_launch && device_time(process, launches, call, &length)) {
        row->timed++;
        row->timed_bytes += bytes;
        row->total = (int64_t)((uint64_t)row->total + (uint64_t)length);
    }
    return 0;
}

static uint32_t device_of(const struct ws_process *process, const struct ws_collective *call)
{
    const struct ws_comm *comm = ws_rows_find(&process->comms, call->comm);
    if (comm)
        return comm->device;
    const struct ws_stream *stream = ws_rows_find(&process->streams, call->stream);
    const struct ws_context *context = stream ? ws_rows_find(&process->contexts, stream->context) : NULL;
    return context ? context->device : 0;
}

static int run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_collective *calls = process->collectives.data;
    struct track_collectives *result = memory;
    result->rows = WS_VECTOR(struct collective_row);
    if (!process->collectives.count)
        return 0;
    struct ws_vector launches = WS_VECTOR(struct launch);
    int status = find_launches(process, &launches);
    for (size_t i = 0; i < process->collectives.count && !status; i++)
        if (!calls[i].result && device_of(process, &calls[i]) == track->device)
            status = add_call(process, &launches, &calls[i], result);
    ws_vector_finish(&launches);
    if (result->rows.count)
        qsort(result->rows.data, result->rows.count, sizeof(struct collective_row), longest_first);
    return status;
}

static void finish(void *memory)
{
    struct track_collectives *result = memory;
    ws_vector_finish(&result->rows);
}

static const char *operation_name(const struct collective_row *row)
{
    return row->operation < OPERATIONS ? operations[row->operation].name : "other";
}

static double algorithm_rate(const struct collective_row *row)
{
    return row->total > 0 ? (double)row->timed_bytes / (double)row->total : 0;
}

static double bus_factor(const struct collective_row *row)
{
    enum factor factor = row->operation < OPERATIONS ? operations[row->operation].factor : FACTOR_ONE;
    if (factor == FACTOR_ONE || !row->ranks)
        return 1;
    double share = (double)(row->ranks - 1) / row->ranks;
    return factor == FACTOR_ALL_REDUCE ? 2 * share : share;
}

static void text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "operation", true, false }, { "ranks", false, false }, { "calls", false, false },
        { "bytes", false, false },    { "total", false, false }, { "algorithm", false, WS_NARROW_LEAVE_OUT },
        { "bus", false, false },
    };
    const struct track_collectives *result = memory;
    const struct collective_row *rows = result->rows.data;
    struct ws_table table;
    (void)report;
    (void)subject;
    if (!result->rows.count) {
        ws_page_text(page, "None.");
        return;
    }
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < result->rows.count; i++) {
        ws_table_cell(&table, "%s", operation_name(&rows[i]));
        if (rows[i].ranks)
            ws_table_cell(&table, "%u", rows[i].ranks);
        else
            ws_table_cell(&table, "?");
        ws_table_count(&table, rows[i].count);
        ws_table_bytes(&table, rows[i].bytes);
        if (rows[i].timed) {
            ws_table_time(&table, rows[i].total);
            ws_table_cell(&table, "%.2f GB/s", algorithm_rate(&rows[i]));
            ws_table_cell(&table, "%.2f GB/s", algorithm_rate(&rows[i]) * bus_factor(&rows[i]));
        } else {
            for (int column = 0; column < 3; column++)
                ws_table_cell(&table, "?");
        }
    }
    ws_table_finish(&table);
    ws_page_text(page,
                 "Bandwidths as nccl-tests define them; the time of a call includes waiting for the slowest rank. "
                 "Calls of one group share its launches, so theirs overlap.");
}

static int json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct track_collectives *result = memory;
    const struct collective_row *rows = result->rows.data;
    json_t *list = json_array();
    (void)report;
    (void)subject;
    int status = json_object_set_new(object, "collectives", list);
    for (size_t i = 0; i < result->rows.count && !status; i++) {
        json_t *row = json_object();
        status |= json_object_set_new(row, "operation", json_string(operation_name(&rows[i])));
        status |= ws_json_set(row, "ranks", rows[i].ranks);
        status |= ws_json_set(row, "count", (int64_t)rows[i].count);
        status |= ws_json_set(row, "bytes", (int64_t)rows[i].bytes);
        status |= ws_json_set(row, "timed", (int64_t)rows[i].timed);
        status |= ws_json_set(row, "total_ns", rows[i].total);
        if (rows[i].total > 0) {
            status |= json_object_set_new(row, "algorithm_gb_per_s", json_real(algorithm_rate(&rows[i])));
            status |=
                json_object_set_new(row, "bus_gb_per_s", json_real(algorithm_rate(&rows[i]) * bus_factor(&rows[i])));
        }
        status |= json_array_append_new(list, row);
    }
    return status ? -ENOMEM : 0;
}

const struct ws_analysis ws_analysis_collectives = {
    .name = "collectives",
    .title = "Communication",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct track_collectives),
    .run = run,
    .finish = finish,
    .text = text,
    .json = json,
};
