/* Joins operations with the calls that launched them, and outputs the rows of operations and calls in order of host
 * time. */
#include <errno.h>
#include <stdlib.h>

#include "base/salted.h"
#include "input/gather.h"

enum { SLICE = 4096 };
#define CALL_MADE_OPERATIONS 0x80000000u
#define AMBIGUOUS UINT64_MAX

/* A shape (static properties that many operations share), with the driver function that launched the operations. */
struct final_shape {
    uint32_t shape, driver_function;
};

struct ws_gather_join {
    uint32_t *ops, *calls;   /* indices of operations and of calls, ordered by host time */
    size_t op, call, memory; /* indices of the next operation, call and memory row to output */
    bool started;
};

static struct ws_gather_op *join_op_at(const struct ws_gather *gather, size_t index)
{
    return (struct ws_gather_op *)gather->ops.data + index;
}

static struct ws_gather_call *call_at(const struct ws_gather *gather, size_t index)
{
    return (struct ws_gather_call *)gather->calls.data + index;
}

/* Returns the start of the call that launched the operation. If the file lacks this call, returns the operation's
 * start on the device. */
static int64_t host_time(const struct ws_gather *gather, size_t op)
{
    uint32_t call = join_op_at(gather, op)->call;
    return call ? call_at(gather, call - 1)->begin : join_op_at(gather, op)->begin;
}

/* Finds the call of each operation: the outermost call with the same correlation id. In a file merged from several
 * processes, calls of different processes may share a correlation id. It is then unknown which process launched an
 * operation with this id, so the operation gets no call. */
static int match_calls(struct ws_gather *gather)
{
    struct ws_map calls = { 0 }; /* correlation id of an operation → index + 1 of its call */
    for (size_t i = 0; i < gather->ops.count; i++) {
        uint64_t correlation = join_op_at(gather, i)->correlation;
        if (correlation && !ws_salted_put(&calls, correlation)) {
            ws_map_finish(&calls);
            return -ENOMEM;
        }
    }
    for (size_t i = 0; i < gather->calls.count; i++) {
        const struct ws_gather_call *call = call_at(gather, i);
        uint64_t *place = ws_salted_get(&calls, call->correlation);
        if (place && *place && *place != AMBIGUOUS &&
            !ws_gather_share_process(gather, call->thread, call_at(gather, *place - 1)->thread))
            *place = AMBIGUOUS;
        else if (place && *place != AMBIGUOUS && (!*place || call->begin < call_at(gather, *place - 1)->begin))
            *place = i + 1;
    }
    for (size_t i = 0; i < gather->ops.count; i++) {
        struct ws_gather_op *op = join_op_at(gather, i);
        const uint64_t *place = ws_salted_get(&calls, op->correlation);
        if (place && *place && *place != AMBIGUOUS) {
            op->call = (uint32_t)*place;
            call_at(gather, *place - 1)->function |= CALL_MADE_OPERATIONS;
        } else {
            gather->losses[WS_LOSS_NO_CALL]++;
        }
    }
    ws_map_finish(&calls);
    return 0;
}

static int by_op_time(const void *a, const void *b, void *user)
{
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    int64_t x = host_time(user, i), y = host_time(user, j);
    return x != y ? (x > y) - (x < y) : (i > j) - (i < j);
}

static int by_call_time(const void *a, const void *b, void *user)
{
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    int64_t x = call_at(user, i)->begin, y = call_at(user, j)->begin;
    return x != y ? (x > y) - (x < y) : (i > j) - (i < j);
}

static uint32_t *sorted(struct ws_gather *gather, size_t count, int (*compare)(const void *, const void *, void *))
{
    uint32_t *order = count < UINT32_MAX ? malloc((count + 1) * sizeof(*order)) : NULL;
    bool in_order = true;
    if (!order)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        order[i] = (uint32_t)i;
        in_order = in_order && (!i || compare(&order[i - 1], &order[i], gather) < 0);
    }
    if (!in_order)
        qsort_r(order, count, sizeof(*order), compare, gather);
    return order;
}

void ws_gather_finish(struct ws_gather *gather)
{
    struct ws_gather_join *join = gather->error ? NULL : calloc(1, sizeof(*join));
    gather->final_shapes = WS_INTERN(struct final_shape);
    if (!join || match_calls(gather)) {
        free(join);
        gather->error = -ENOMEM;
        return;
    }
    gather->join = join;
    join->ops = sorted(gather, gather->ops.count, by_op_time);
    join->calls = sorted(gather, gather->calls.count, by_call_time);
    if (!join->ops || !join->calls || ws_gather_tie_collectives(gather, join->ops))
        gather->error = -ENOMEM;
}

static uint32_t shape_id(struct ws_gather *gather, const struct ws_gather_op *op, uint32_t driver_function)
{
    struct final_shape key = { op->shape, driver_function };
    bool fresh;
    uint32_t id = ws_intern_key(&gather->final_shapes, &key, &fresh);
    if (!id)
        gather->error = -ENOMEM;
    if (id && fresh) {
        struct ws_shape row = *(const struct ws_shape *)ws_intern_item(&gather->shapes, op->shape);
        row.id = id;
        row.driver_function = driver_function;
        ws_gather_row(gather, WS_FAMILY_shape, &row);
    }
    return id;
}

static void join_put_op(struct ws_gather *gather, const struct ws_gather_op *op)
{
    const struct ws_gather_call *call = op->call ? call_at(gather, op->call - 1) : NULL;
    uint32_t function = call ? call->function & ~CALL_MADE_OPERATIONS : 0, thread = call ? call->thread : 0;
    const struct ws_call_kind *kinds = gather->attributes.data;
    struct ws_op row = {
        .shape = shape_id(gather, op, function),
        .thread = thread,
        .correlation = ws_gather_correlation(thread, op->correlation),
        .host_begin = call ? call->begin : op->begin,
        .host_end = call ? call->end : op->begin,
        .begin = op->begin,
        .end = op->end,
        .flags = op->flags | WS_TIME_MEASURED | WS_TIME_MEASURED << 2,
        .bytes = op->bytes,
    };
    if (function && kinds[function - 1].blocks)
        row.flags |= WS_OP_BLOCKING;
    ws_gather_row(gather, WS_FAMILY_op, &row);
}

static void join_put_call(struct ws_gather *gather, const struct ws_gather_call *call)
{
    const struct ws_gather_detail *detail = ws_gather_use_detail(gather, call->correlation);
    if (call->function & CALL_MADE_OPERATIONS)
        return;
    const struct ws_call_kind *kinds = gather->attributes.data;
    if (kinds[call->function - 1].family == WS_CALL_LAUNCH)
        gather->losses[WS_LOSS_NO_OPERATION]++;
    struct ws_call row = {
        .function = call->function,
        .thread = call->thread,
        .correlation = ws_gather_correlation(call->thread, call->correlation),
        .host_begin = call->begin,
        .host_end = call->end,
    };
    if (detail) {
        row.context = detail->context;
        row.stream = detail->stream;
        row.object = detail->object;
        row.address = detail->address;
        row.bytes = detail->bytes;
        row.result = detail->result;
    }
    ws_gather_row(gather, WS_FAMILY_call, &row);
}

static void put_memory(struct ws_gather *gather, const struct ws_gather_memory *memory)
{
    struct ws_call row = {
        .function = memory->function,
        .thread = memory->thread,
        .correlation = ws_gather_correlation(memory->thread, 0),
        .host_begin = memory->time,
        .host_end = memory->time,
        .context = ws_gather_context_of(gather, memory->ordinal),
        .object = memory->total,
        .address = memory->address,
        .bytes = memory->bytes,
    };
    ws_gather_row(gather, WS_FAMILY_call, &row);
}

/* Writes clock comparisons (pairs of a device time and a host time). The times of a pair are equal, because imported
 * files give device times on the host's clock. */
static void put_clocks(struct ws_gather *gather)
{
    const struct ws_gather_span *spans = gather->spans.data;
    for (size_t i = 0; i < gather->spans.count; i++) {
        if (spans[i].first > spans[i].last)
            continue;
        struct ws_clock row = { .context = (uint32_t)i + 1, .device_ns = spans[i].first, .host_ns = spans[i].first };
        ws_gather_row(gather, WS_FAMILY_clock, &row);
        row.device_ns = row.host_ns = spans[i].last;
        ws_gather_row(gather, WS_FAMILY_clock, &row);
    }
}

static void put_losses(struct ws_gather *gather)
{
    gather->losses[WS_LOSS_NO_CALL] += ws_gather_lone_details(gather);
    for (uint32_t reason = 0; reason < WS_LOSS_COUNT; reason++) {
        struct ws_loss row = { .reason = reason, .count = gather->losses[reason] };
        if (row.count)
            ws_gather_row(gather, WS_FAMILY_loss, &row);
        gather->losses[reason] = 0;
    }
}

static bool has_rows(const struct ws_gather *gather)
{
    for (int family = 0; family < WS_FAMILY_COUNT; family++)
        if (gather->rows[family].count)
            return true;
    return false;
}

int ws_gather_join_more(struct ws_gather *gather)
{
    struct ws_gather_join *join = gather->join;
    if (!join->started) {
        join->started = true;
        put_clocks(gather);
    }
    for (size_t i = 0; join->op < gather->ops.count && i < SLICE; i++)
        join_put_op(gather, join_op_at(gather, join->ops[join->op++]));
    /* A call that launched an operation gets no row of its own, because the row of the operation describes the call
     * too. So SLICE calls may give no row at all. If this function made no row, ws_gather_next would report the end
     * of all rows too early. Therefore the loop goes on until there is a row. */
    for (size_t i = 0; join->call < gather->calls.count && (i < SLICE || !has_rows(gather)); i++)
        join_put_call(gather, call_at(gather, join->calls[join->call++]));
    const struct ws_gather_memory *memory = gather->memory.data;
    for (size_t i = 0; join->memory < gather->memory.count && i < SLICE; i++)
        put_memory(gather, &memory[join->memory++]);
    if (join->op == gather->ops.count && join->call == gather->calls.count && join->memory == gather->memory.count)
        put_losses(gather);
    return gather->error ? gather->error : has_rows(gather);
}

void ws_gather_join_destroy(struct ws_gather_join *join)
{
    if (!join)
        return;
    free(join->ops);
    free(join->calls);
    free(join);
}
