#include "model/ops.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/pages.h"

_Static_assert((int)WS_OP_IN_COLLECTIVE <= (int)WS_OP_OF_TRACE, "the trace's flags leave room for the model's");

enum { FIRST_CAPACITY = 4096, MOST_THREADS = UINT16_MAX, HELPED_ROWS = 1 << 20, TOUCHED_ROWS = 1 << 18 };

struct ws_ops_helper {
    pthread_t thread;
    atomic_bool stop;
    struct ws_ops ops; /* where the columns are */
    size_t to;
};

static void *touch_columns(void *user)
{
    struct ws_ops_helper *helper = user;
    const struct ws_ops *ops = &helper->ops;
    for (size_t row = ops->count; row < helper->to && !atomic_load(&helper->stop); row += TOUCHED_ROWS) {
        size_t end = row + TOUCHED_ROWS < helper->to ? row + TOUCHED_ROWS : helper->to;
#define TOUCH(type, name)                                                  \
    if (ws_pages_touch(ops->name, row * sizeof(type), end * sizeof(type))) \
        return NULL;
        WS_OP_COLUMNS(TOUCH)
#undef TOUCH
    }
    return NULL;
}

void ws_ops_expect(struct ws_ops *ops, size_t count)
{
    size_t to = count < ops->capacity ? count : ops->capacity;
    if (ops->helper || to < ops->count + HELPED_ROWS)
        return;
    struct ws_ops_helper *helper = calloc(1, sizeof(*helper));
    if (!helper)
        return;
    helper->ops = *ops;
    helper->to = to;
    if (pthread_create(&helper->thread, NULL, touch_columns, helper))
        free(helper);
    else
        ops->helper = helper;
}

void ws_ops_complete(struct ws_ops *ops)
{
    if (!ops->helper)
        return;
    atomic_store(&ops->helper->stop, true);
    pthread_join(ops->helper->thread, NULL);
    free(ops->helper);
    ops->helper = NULL;
}

static int grow(struct ws_ops *ops, size_t count, size_t expected)
{
    size_t capacity = ops->capacity ? ops->capacity : expected > FIRST_CAPACITY ? expected : FIRST_CAPACITY;
    while (capacity < count)
        capacity *= 2;
    if (count >= UINT32_MAX)
        return -EFBIG;
    ws_ops_complete(ops); /* the helper must not see columns move */
#define GROW(type, name)                                                                            \
    {                                                                                               \
        type *grown = ws_pages_grow(ops->name, ops->count * sizeof(type), capacity * sizeof(type)); \
        if (!grown)                                                                                 \
            return -ENOMEM;                                                                         \
        ops->name = grown;                                                                          \
    }
    WS_OP_COLUMNS(GROW)
#undef GROW
    ops->capacity = capacity;
    return 0;
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
    const uint64_t *value = ws_map_get(&ops->wide, wide_key(op, column));
    return value ? (int64_t)*value : 0;
}

static int set_wide(struct ws_ops *ops, size_t op, enum ws_op_wide column, int64_t value)
{
    uint64_t *place = ws_map_put(&ops->wide, wide_key(op, column));
    if (!place)
        return -ENOMEM;
    *place = (uint64_t)value;
    return 0;
}

/* Fits a length into its column, or puts it aside. */
static int set_length(struct ws_ops *ops, size_t op, enum ws_op_wide column, uint32_t *narrow, int64_t length)
{
    if (length >= 0 && length < WS_NARROW_MOST) {
        *narrow = (uint32_t)length;
        return 0;
    }
    *narrow = WS_NARROW_MOST;
    return set_wide(ops, op, column, length);
}

/* The threads' numbers; all beyond the last share it. Returns a negative error or the number. */
static int thread_number(struct ws_ops *ops, uint32_t id)
{
    const uint32_t *threads = ops->threads.data;
    /* Mostly the thread of the row before. */
    if (ops->count && threads[ops->thread[ops->count - 1]] == id)
        return ops->thread[ops->count - 1];
    uint64_t *place = ws_map_put(&ops->thread_numbers, (uint64_t)id + 1);
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

static int set_aside(struct ws_map *map, size_t op, uint64_t value)
{
    uint64_t *place = ws_map_put(map, op + 1);
    if (!place)
        return -ENOMEM;
    *place = value;
    return 0;
}

static int add_row(struct ws_ops *ops, const struct ws_op *row)
{
    size_t op = ops->count;
    int thread = thread_number(ops, row->thread);
    if (thread < 0)
        return thread;
    int64_t host_begin = ws_tame_time(row->host_begin, &ops->odd_times);
    int64_t host_end = ws_tame_time(row->host_end, &ops->odd_times), length = 0;
    uint16_t flags = row->flags & WS_OP_OF_TRACE;
    if (row->result)
        flags |= WS_OP_FAILED;
    if (row->end < row->begin || row->begin < -WS_TIME_MOST || row->end > WS_TIME_MOST)
        flags |= WS_OP_BACKWARDS;
    else
        length = row->end - row->begin;
    ops->thread[op] = (uint16_t)thread;
    if (row->correlation != ((uint64_t)row->thread << 40 | (uint32_t)row->correlation) ||
        ws_op_thread(ops, op) != row->thread)
        flags |= WS_OP_CORRELATED_WIDE;
    ops->begin[op] = row->begin;
    ops->host_begin[op] = host_begin;
    ops->number[op] = (uint32_t)row->correlation;
    ops->shape[op] = row->shape;
    ops->begin_error[op] = row->begin_error;
    ops->end_error[op] = row->end_error;
    ops->flags[op] = flags;
    int status = set_length(ops, op, WS_WIDE_LENGTH, &ops->length[op], length);
    if (!status)
        status = set_length(ops, op, WS_WIDE_HOST_LENGTH, &ops->host_length[op], host_end - host_begin);
    if (!status && (flags & WS_OP_CORRELATED_WIDE))
        status = set_wide(ops, op, WS_WIDE_CORRELATION, (int64_t)row->correlation);
    if (!status && row->bytes)
        status = set_aside(&ops->bytes, op, row->bytes);
    if (!status && row->params)
        status = set_aside(&ops->params, op, row->params);
    if (!status && row->flags & WS_OP_COUNTED)
        status = set_aside(&ops->counted, op, 1);
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
    ops->begin[op] = begin;
    return set_length(ops, op, WS_WIDE_LENGTH, &ops->length[op], end - begin);
}

void ws_ops_finish(struct ws_ops *ops)
{
    ws_ops_complete(ops);
#define FREE(type, name) free(ops->name);
    WS_OP_COLUMNS(FREE)
#undef FREE
    ws_vector_finish(&ops->threads);
    ws_map_finish(&ops->thread_numbers);
    ws_map_finish(&ops->wide);
    ws_map_finish(&ops->bytes);
    ws_map_finish(&ops->params);
    ws_map_finish(&ops->counted);
    *ops = (struct ws_ops){ 0 };
}
