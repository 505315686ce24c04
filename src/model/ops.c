#include "model/ops.h"

#include <errno.h>
#include <stdlib.h>

#include "base/minmax.h"
#include "base/pages.h"
#include "base/salted.h"
#include "model/prefault.h"

_Static_assert((int)WS_OP_IN_COLLECTIVE <= (int)WS_OP_OF_TRACE, "the trace's flags leave room for the model's");

/* Makes the compiler inline add_rows at both of its calls. At each call rows->row_size is a constant, which makes
 * the loop faster. */
#define INLINE inline __attribute__((always_inline))

enum { FIRST_CAPACITY = 4096, MOST_THREADS = UINT16_MAX };

void ws_ops_expect(struct ws_ops *ops, size_t count)
{
    const struct ws_prefault_array arrays[] = {
#define ARRAY(type, name) { ops->name, sizeof(type) },
        WS_OP_COLUMNS(ARRAY)
#undef ARRAY
            { ops->begin.offsets, sizeof(*ops->begin.offsets) },
        { ops->host_begin.offsets, sizeof(*ops->host_begin.offsets) },
    };
    if (!ops->ahead)
        ops->ahead =
            ws_prefault_start(arrays, sizeof(arrays) / sizeof(arrays[0]), ops->count, ws_min(count, ops->capacity));
}

void ws_ops_complete(struct ws_ops *ops)
{
    ws_prefault_stop(ops->ahead);
    ops->ahead = NULL;
}

static int ops_grow(struct ws_ops *ops, size_t count, size_t expected)
{
    size_t capacity = ops->capacity ? ops->capacity : ws_max(expected, FIRST_CAPACITY);
    while (capacity < count)
        capacity *= 2;
    if (count >= UINT32_MAX)
        return -EFBIG;
    ws_ops_complete(ops); /* stops the helper thread, because the columns may now move */
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

int64_t ws_clamp_time(int64_t time, uint64_t *odd)
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

/* Stores a length in its 32-bit column, or in `wide` if the length does not fit. */
static int set_length(struct ws_ops *ops, size_t op, enum ws_op_wide column, uint32_t *narrow, int64_t length)
{
    return ws_op_fit_length(narrow, length) ? 0 : set_wide(ops, op, column, length);
}

/* Returns the index of a thread in ops->threads, or a negative error. Threads beyond the maximum share the last
 * index. */
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

/* Stores the thread of a row if it differs from the thread of the row before. Most rows have the thread of the row
 * before, because records come in blocks of one thread. */
static int add_thread(struct ws_ops *ops, size_t op, uint32_t id)
{
    if (op && id == ops->last_thread)
        return 0;
    int place = thread_number(ops, id);
    ops->last_thread = id;
    return place < 0 ? place : ws_sparse_add(&ops->row_threads, op, (uint64_t)place);
}

/* Stores correlation − row number if this difference has changed since the row before. Most rows have the same
 * difference as the row before, because a thread numbers its operations consecutively. */
static int add_correlation(struct ws_ops *ops, size_t op, uint64_t correlation)
{
    uint64_t beyond = correlation - op;
    if (op && beyond == ops->last_correlation)
        return 0;
    ops->last_correlation = beyond;
    return ws_sparse_add(&ops->correlations, op, beyond);
}

/* Stores the start times of an operation. Times are stored relative to the base of a block of rows (times.h). In each
 * block, the first operation with an interval (a valid start and end on the device) sets the base. Operations without
 * an interval may have any times. So they do not set the base, and their start on the device is not stored. */
static int set_times(struct ws_ops *ops, size_t op, int64_t begin, int64_t host_begin, bool interval)
{
    if (op % WS_TIMES_BLOCK == 0)
        ws_times_base(&ops->begin, op, host_begin);
    if (interval && op / WS_TIMES_BLOCK * WS_TIMES_BLOCK >= ops->based) {
        ws_times_base(&ops->begin, op, begin);
        ops->based = op + 1;
    }
    int status = ws_times_append(&ops->host_begin, op, host_begin);
    if (!interval)
        ops->begin.offsets[op] = 0;
    else if (!status)
        status = ws_times_set(&ops->begin, op, begin);
    return status;
}

/* Sets the device times and host times of a row, and the flags that depend on these times. */
static INLINE int add_times(struct ws_ops *ops, size_t op, const struct ws_op_columns *rows, size_t row)
{
    int64_t begin = WS_OP_AT(rows, begin, row), end = WS_OP_AT(rows, end, row);
    int64_t host_begin = ws_clamp_time(WS_OP_AT(rows, host_begin, row), &ops->odd_times);
    int64_t host_end = ws_clamp_time(WS_OP_AT(rows, host_end, row), &ops->odd_times);
    uint32_t flags = WS_OP_AT(rows, flags, row);
    bool interval = end >= begin && begin >= -WS_TIME_MOST && end <= WS_TIME_MOST;
    bool timed = interval && (flags & WS_OP_BEGIN_QUALITY) && (flags & WS_OP_END_QUALITY);
    if (!interval)
        ops->flags[op] |= WS_OP_BACKWARDS;
    int status = set_times(ops, op, begin, host_begin, timed);
    if (!status)
        status = set_length(ops, op, WS_WIDE_LENGTH, &ops->length[op], interval ? end - begin : 0);
    return status ? status : set_length(ops, op, WS_WIDE_HOST_LENGTH, &ops->host_length[op], host_end - host_begin);
}

/* Adds the values of a row that most rows lack or share with the row before. */
static INLINE int add_sparse(struct ws_ops *ops, size_t op, const struct ws_op_columns *rows, size_t row)
{
    uint64_t bytes = WS_OP_AT(rows, bytes, row), params = WS_OP_AT(rows, params, row);
    int status = add_thread(ops, op, WS_OP_AT(rows, thread, row));
    if (!status)
        status = add_correlation(ops, op, WS_OP_AT(rows, correlation, row));
    if (!status && bytes)
        status = ws_sparse_add(&ops->bytes, op, bytes);
    if (!status && params)
        status = ws_sparse_add(&ops->params, op, params);
    if (!status && WS_OP_AT(rows, flags, row) & WS_OP_COUNTED)
        status = ws_sparse_add(&ops->counted, op, 1);
    return status;
}

static INLINE uint16_t flags_of(const struct ws_op_columns *rows, size_t row)
{
    return (uint16_t)((WS_OP_AT(rows, flags, row) & WS_OP_OF_TRACE) |
                      (WS_OP_AT(rows, result, row) ? WS_OP_FAILED : 0) |
                      (WS_OP_AT(rows, thread, row) ? WS_OP_CALLED : 0));
}

/* Adds rows. ws_ops_add calls this function in one place for columns that are arrays, and in another place for
 * columns that are fields of rows. */
static INLINE int add_rows(struct ws_ops *ops, const struct ws_op_columns *rows, uint32_t count)
{
    size_t first = ops->count;
    int status = 0;
    for (size_t row = 0; row < count && !status; row++) {
        size_t op = first + row;
        ops->shape[op] = WS_OP_AT(rows, shape, row);
        ops->begin_error[op] = ws_error_keep(WS_OP_AT(rows, begin_error, row));
        ops->end_error[op] = ws_error_keep(WS_OP_AT(rows, end_error, row));
        ops->flags[op] = flags_of(rows, row);
        status = add_times(ops, op, rows, row);
        if (!status)
            status = add_sparse(ops, op, rows, row);
        ops->count += !status;
    }
    return status;
}

int ws_ops_add(struct ws_ops *ops, const struct ws_op_columns *rows, uint32_t count, size_t expected)
{
    struct ws_op_columns columns = *rows;
    if (ops->count + count > ops->capacity) {
        int status = ops_grow(ops, ops->count + count, expected);
        if (status)
            return status;
    }
    if (columns.row_size) {
        columns.row_size = sizeof(struct ws_op);
        return add_rows(ops, &columns, count);
    }
    columns.row_size = 0;
    return add_rows(ops, &columns, count);
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
