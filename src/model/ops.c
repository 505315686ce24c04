#include "model/ops.h"

#include <errno.h>
#include <stdlib.h>

#include "base/salted.h"
#include "base/pages.h"
#include "model/ahead.h"

_Static_assert((int)WS_OP_IN_COLLECTIVE <= (int)WS_OP_OF_TRACE, "the trace's flags leave room for the model's");

enum { FIRST_CAPACITY = 4096, MOST_THREADS = UINT16_MAX };

void ws_ops_expect(struct ws_ops *ops, size_t count)
{
    const struct ws_ahead_array arrays[] = {
#define ARRAY(type, name) { ops->name, sizeof(type) },
        WS_OP_COLUMNS(ARRAY)
#undef ARRAY
            { ops->begin.offsets, sizeof(*ops->begin.offsets) },
        { ops->host_begin.offsets, sizeof(*ops->host_begin.offsets) },
    };
    if (!ops->ahead)
        ops->ahead = ws_ahead_start(arrays, sizeof(arrays) / sizeof(arrays[0]), ops->count,
                                    count < ops->capacity ? count : ops->capacity);
}

void ws_ops_complete(struct ws_ops *ops)
{
    ws_ahead_stop(ops->ahead);
    ops->ahead = NULL;
}

static int grow(struct ws_ops *ops, size_t count, size_t expected)
{
    size_t capacity = ops->capacity ? ops->capacity : expected > FIRST_CAPACITY ? expected : FIRST_CAPACITY;
    while (capacity < count)
        capacity *= 2;
    if (count >= UINT32_MAX)
        return -EFBIG;
    ws_ops_complete(ops); /* columns must not move under it */
#define GROW(type, name)                                                                            \
    {                                                                                               \
        type *grown = ws_pages_grow(ops->name, ops->count * sizeof(type), capacity * sizeof(type)); \
        if (!grown)                                                                                 \
            return -ENOMEM;                                                                         \
        ops->name = grown;                                                                          \
    }
    WS_OP_COLUMNS(GROW)
#undef GROW
    if (ws_times_reach(&ops->begin, ops->count, capacity) || ws_times_reach(&ops->host_begin, ops->count, capacity))
        return -ENOMEM;
    ops->capacity = capacity;
    return 0;
}

uint16_t ws_error_keep(uint32_t error_ns)
{
    uint64_t digits = error_ns;
    unsigned shift = 0;
    for (; digits >= 1 << WS_ERROR_DIGITS; shift++)
        digits = (digits + 1) / 2;
    return (uint16_t)(shift << WS_ERROR_DIGITS | digits);
}

int64_t ws_tame_time(int64_t time, uint64_t *odd)
{
    if (time >= -WS_TIME_MOST && time <= WS_TIME_MOST)
        return time;
    ++*odd;
    return time < 0 ? -WS_TIME_MOST : WS_TIME_MOST;
}

static uint64_t wide_key(size_t op, enum ws_op_wide column)
{
    return (uint64_t)op * WS_WIDE_COUNT + column + 1;
}

int64_t ws_ops_wide_value(const struct ws_ops *ops, size_t op, enum ws_op_wide column)
{
    const uint64_t *value = ws_salted_get(&ops->wide, wide_key(op, column));
    return value ? (int64_t)*value : 0;
}

static int set_wide(struct ws_ops *ops, size_t op, enum ws_op_wide column, int64_t value)
{
    uint64_t *place = ws_salted_put(&ops->wide, wide_key(op, column));
    if (!place)
        return -ENOMEM;
    *place = (uint64_t)value;
    return 0;
}

/* Fits a length into its column, or puts it aside. */
static int set_length(struct ws_ops *ops, size_t op, enum ws_op_wide column, uint32_t *narrow, int64_t length)
{
    return ws_op_fit_length(narrow, length) ? 0 : set_wide(ops, op, column, length);
}

/* The threads' numbers; all beyond the last share it. Returns a negative error or the number. */
static int thread_number(struct ws_ops *ops, uint32_t id)
{
    uint64_t *place = ws_salted_put(&ops->thread_numbers, (uint64_t)id + 1);
    if (!place)
        return -ENOMEM;
    if (!*place && ops->threads.count == MOST_THREADS)
        *place = MOST_THREADS;
    if (!*place) {
        if (!ops->threads.size)
            ops->threads = WS_VECTOR(uint32_t);
        uint32_t *thread = ws_vector_push(&ops->threads);
        if (!thread)
            return -ENOMEM;
        *thread = id;
        *place = ops->threads.count;
    }
    return (int)(*place - 1);
}

/* Records come from a thread at a time, so most rows have that of the one before. */
static int add_thread(struct ws_ops *ops, size_t op, uint32_t id)
{
    if (op && id == ops->last_thread)
        return 0;
    int place = thread_number(ops, id);
    ops->last_thread = id;
    return place < 0 ? place : ws_sparse_add(&ops->row_threads, op, (uint64_t)place);
}

/* Threads number what they do one by one, so most rows follow from the one before. */
static int add_correlation(struct ws_ops *ops, size_t op, uint64_t correlation)
{
    uint64_t beyond = correlation - op;
    if (op && beyond == ops->last_correlation)
        return 0;
    ops->last_correlation = beyond;
    return ws_sparse_add(&ops->correlations, op, beyond);
}

static bool has_times(const struct ws_op *row)
{
    return ws_op_begin_quality(row) != WS_TIME_NONE && ws_op_end_quality(row) != WS_TIME_NONE;
}

/* Operations without an interval, whose times may be anything, give no base and have no begin. */
static int set_times(struct ws_ops *ops, size_t op, const struct ws_op *row, int64_t host_begin, bool interval)
{
    if (op % WS_TIMES_BLOCK == 0)
        ws_times_base(&ops->begin, op, host_begin);
    if (interval && op / WS_TIMES_BLOCK * WS_TIMES_BLOCK >= ops->based) {
        ws_times_base(&ops->begin, op, row->begin);
        ops->based = op + 1;
    }
    int status = ws_times_append(&ops->host_begin, op, host_begin);
    if (!interval)
        ops->begin.offsets[op] = 0;
    else if (!status)
        status = ws_times_set(&ops->begin, op, row->begin);
    return status;
}

static int add_row(struct ws_ops *ops, const struct ws_op *row)
{
    size_t op = ops->count;
    int64_t host_begin = ws_tame_time(row->host_begin, &ops->odd_times);
    int64_t host_end = ws_tame_time(row->host_end, &ops->odd_times), length = 0;
    uint16_t flags = row->flags & WS_OP_OF_TRACE;
    if (row->result)
        flags |= WS_OP_FAILED;
    if (row->thread)
        flags |= WS_OP_CALLED;
    bool interval = row->end >= row->begin && row->begin >= -WS_TIME_MOST && row->end <= WS_TIME_MOST;
    if (interval)
        length = row->end - row->begin;
    else
        flags |= WS_OP_BACKWARDS;
    ops->shape[op] = row->shape;
    ops->begin_error[op] = ws_error_keep(row->begin_error);
    ops->end_error[op] = ws_error_keep(row->end_error);
    ops->flags[op] = flags;
    int status = set_times(ops, op, row, host_begin, interval && has_times(row));
    if (!status)
        status = set_length(ops, op, WS_WIDE_LENGTH, &ops->length[op], length);
    if (!status)
        status = set_length(ops, op, WS_WIDE_HOST_LENGTH, &ops->host_length[op], host_end - host_begin);
    if (!status)
        status = add_thread(ops, op, row->thread);
    if (!status)
        status = add_correlation(ops, op, row->correlation);
    if (!status && row->bytes)
        status = ws_sparse_add(&ops->bytes, op, row->bytes);
    if (!status && row->params)
        status = ws_sparse_add(&ops->params, op, row->params);
    if (!status && row->flags & WS_OP_COUNTED)
        status = ws_sparse_add(&ops->counted, op, 1);
    if (!status)
        ops->count++;
    return status;
}

int ws_ops_add(struct ws_ops *ops, const struct ws_op *rows, uint32_t count, size_t expected)
{
    int status = 0;
    if (ops->count + count > ops->capacity)
        status = grow(ops, ops->count + count, expected);
    for (uint32_t i = 0; i < count && !status; i++)
        status = add_row(ops, &rows[i]);
    return status;
}

int ws_ops_set_interval(struct ws_ops *ops, size_t op, int64_t begin, int64_t end)
{
    int status = ws_times_set(&ops->begin, op, begin);
    return status ? status : set_length(ops, op, WS_WIDE_LENGTH, &ops->length[op], end - begin);
}

void ws_ops_finish(struct ws_ops *ops)
{
    ws_ops_complete(ops);
#define FREE(type, name) free(ops->name);
    WS_OP_COLUMNS(FREE)
#undef FREE
    ws_times_finish(&ops->begin);
    ws_times_finish(&ops->host_begin);
    ws_vector_finish(&ops->threads);
    ws_map_finish(&ops->thread_numbers);
    ws_map_finish(&ops->wide);
    ws_sparse_finish(&ops->row_threads);
    ws_sparse_finish(&ops->correlations);
    ws_sparse_finish(&ops->bytes);
    ws_sparse_finish(&ops->params);
    ws_sparse_finish(&ops->counted);
    *ops = (struct ws_ops){ 0 };
}
