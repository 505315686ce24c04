#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "model/build.h"

static void init(struct ws_process *process, const char *path)
{
    *process = (struct ws_process){
        .path = path,
        .meta = WS_VECTOR(struct ws_meta_entry),
        .shapes = WS_VECTOR(struct ws_op_shape),
        .clocks = WS_VECTOR(struct ws_clock_map),
        .calls = WS_VECTOR(struct ws_call),
        .collectives = WS_VECTOR(struct ws_collective),
        .losses = WS_VECTOR(struct ws_loss),
    };
    ws_rows_init(&process->driver_functions, WS_FAMILY_driver_function);
    ws_rows_init(&process->devices, WS_FAMILY_device);
    ws_rows_init(&process->contexts, WS_FAMILY_context);
    ws_rows_init(&process->streams, WS_FAMILY_stream);
    ws_rows_init(&process->threads, WS_FAMILY_thread);
    ws_rows_init(&process->functions, WS_FAMILY_function);
    ws_rows_init(&process->comms, WS_FAMILY_comm);
    ws_rows_init(&process->shape_rows, WS_FAMILY_shape);
}

static struct ws_rows *dictionary_of(struct ws_process *process, enum ws_family family)
{
    switch (family) {
    case WS_FAMILY_driver_function:
        return &process->driver_functions;
    case WS_FAMILY_device:
        return &process->devices;
    case WS_FAMILY_context:
        return &process->contexts;
    case WS_FAMILY_stream:
        return &process->streams;
    case WS_FAMILY_thread:
        return &process->threads;
    case WS_FAMILY_function:
        return &process->functions;
    case WS_FAMILY_comm:
        return &process->comms;
    case WS_FAMILY_shape:
        return &process->shape_rows;
    default:
        return NULL;
    }
}

static struct ws_vector *list_of(struct ws_process *process, enum ws_family family)
{
    switch (family) {
    case WS_FAMILY_call:
        return &process->calls;
    case WS_FAMILY_collective:
        return &process->collectives;
    case WS_FAMILY_loss:
        return &process->losses;
    default:
        return NULL;
    }
}

/* Rows take about five bytes each in a file; memory that is asked for and not used costs nothing. */
static size_t first_capacity(const struct ws_process *process)
{
    return process->file_bytes / 4 < 4096 ? 4096 : process->file_bytes / 4;
}

static int grow_ops(struct ws_process *process, size_t count)
{
    struct ws_ops *ops = &process->ops;
    size_t capacity = ops->capacity ? ops->capacity : first_capacity(process);
    while (capacity < count)
        capacity *= 2;
    /* Indices of operations are 32 bits wide. */
    if (count >= UINT32_MAX)
        return -EFBIG;
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

static void tame(struct ws_process *process, int64_t *time)
{
    if (*time >= -WS_TIME_MOST && *time <= WS_TIME_MOST)
        return;
    *time = *time < 0 ? -WS_TIME_MOST : WS_TIME_MOST;
    process->odd_times++;
}

static int add_ops(struct ws_process *process, const struct ws_op *rows, uint32_t count)
{
    struct ws_ops *ops = &process->ops;
    if (ops->count + count > ops->capacity) {
        int error = grow_ops(process, ops->count + count);
        if (error)
            return error;
    }
#define COPY(type, name)                 \
    for (uint32_t i = 0; i < count; i++) \
        ops->name[ops->count + i] = rows[i].name;
    WS_OP_COLUMNS(COPY)
#undef COPY
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *flags = &ops->flags[ops->count + i];
        *flags &= ~(uint32_t)(WS_OP_TIMED | WS_OP_BACKWARDS | WS_OP_FAILED);
        if (rows[i].result)
            *flags |= WS_OP_FAILED;
        tame(process, &ops->host_begin[ops->count + i]);
        tame(process, &ops->host_end[ops->count + i]);
    }
    ops->count += count;
    return 0;
}

/* The same for the rows added last to a list. */
static void tame_rows(struct ws_process *process, enum ws_family family, size_t from)
{
    struct ws_call *calls = process->calls.data;
    struct ws_collective *collectives = process->collectives.data;
    for (size_t i = from; family == WS_FAMILY_call && i < process->calls.count; i++) {
        tame(process, &calls[i].host_begin);
        tame(process, &calls[i].host_end);
    }
    for (size_t i = from; family == WS_FAMILY_collective && i < process->collectives.count; i++) {
        tame(process, &collectives[i].host_begin);
        tame(process, &collectives[i].host_end);
    }
}

static int add_meta(struct ws_process *process, struct ws_arena *texts, const struct ws_meta *row)
{
    char *key = ws_arena_copy(texts, row->key.data, row->key.length);
    char *value = ws_arena_copy(texts, row->value.data, row->value.length);
    if (!key || !value)
        return -ENOMEM;
    const char *known = ws_process_meta(process, key);
    if (known && !strcmp(known, value))
        return 0;
    struct ws_meta_entry *entry = ws_vector_push(&process->meta);
    if (!entry)
        return -ENOMEM;
    *entry = (struct ws_meta_entry){ key, value };
    return 0;
}

static int add_clock(struct ws_process *process, const struct ws_clock *row)
{
    struct ws_clock_map *maps = process->clocks.data;
    struct ws_clock_map *map = NULL;
    for (size_t i = 0; i < process->clocks.count && !map; i++)
        if (maps[i].context == row->context)
            map = &maps[i];
    if (!map) {
        map = ws_vector_push(&process->clocks);
        if (!map)
            return -ENOMEM;
        *map = (struct ws_clock_map){ .context = row->context,
                                      .points = WS_VECTOR(struct ws_clock),
                                      .knots = WS_VECTOR(struct ws_clock) };
    }
    struct ws_clock *point = ws_vector_push(&map->points);
    if (!point)
        return -ENOMEM;
    *point = *row;
    return 0;
}

static int add_block(struct ws_process *process, struct ws_arena *texts, const struct ws_block *block,
                     bool references_only)
{
    int error = 0;
    if (block->family >= WS_FAMILY_COUNT)
        return 0;
    process->rows[block->family] += block->count;
    if (references_only &&
        (block->family == WS_FAMILY_op || block->family == WS_FAMILY_call || block->family == WS_FAMILY_collective))
        return 0;
    struct ws_rows *dictionary = dictionary_of(process, block->family);
    struct ws_vector *list = list_of(process, block->family);
    if (dictionary) {
        for (uint32_t i = 0; i < block->count && !error; i++)
            error = ws_rows_put(dictionary, texts, (const char *)block->rows + i * dictionary->rows.size);
    } else if (list) {
        size_t before = list->count;
        error = ws_vector_reach(list, before + block->count);
        if (!error) {
            memcpy((char *)list->data + before * list->size, block->rows, block->count * list->size);
            tame_rows(process, block->family, before);
        }
    } else if (block->family == WS_FAMILY_op) {
        error = add_ops(process, block->rows, block->count);
    } else if (block->family == WS_FAMILY_meta) {
        for (uint32_t i = 0; i < block->count && !error; i++)
            error = add_meta(process, texts, (const struct ws_meta *)block->rows + i);
    } else if (block->family == WS_FAMILY_clock) {
        for (uint32_t i = 0; i < block->count && !error; i++)
            error = add_clock(process, (const struct ws_clock *)block->rows + i);
    }
    return error;
}

int ws_process_load(struct ws_process *process, struct ws_arena *texts, const char *path,
                    const struct ws_model_options *options, char *message, size_t capacity)
{
    struct ws_reader *reader;
    struct ws_block block;
    uint64_t done;
    init(process, path);
    int status = ws_reader_open(&reader, path, message, capacity);
    if (status)
        return status;
    ws_reader_position(reader, &done, &process->file_bytes);
    while ((status = ws_reader_next(reader, &block)) > 0) {
        status = add_block(process, texts, &block, options && options->references_only);
        if (status)
            break;
        if (options && options->progress) {
            ws_reader_position(reader, &done, &process->file_bytes);
            options->progress(options->user, done, process->file_bytes);
        }
    }
    process->damage = *ws_reader_damage(reader);
    ws_reader_position(reader, &done, &process->file_bytes);
    ws_reader_close(reader);
    if (status == -ENOMEM)
        snprintf(message, capacity, "%s: needs more memory than there is", path);
    else if (status == -EFBIG)
        snprintf(message, capacity, "%s: holds more than 4 billion operations; record a shorter time", path);
    else if (status < 0)
        snprintf(message, capacity, "%s: cannot be read to its end: %s", path, strerror(-status));
    return status;
}

void ws_process_finish(struct ws_process *process)
{
    struct ws_clock_map *maps = process->clocks.data;
    for (size_t i = 0; i < process->clocks.count; i++) {
        ws_vector_finish(&maps[i].points);
        ws_vector_finish(&maps[i].knots);
    }
    for (int family = 0; family < WS_FAMILY_COUNT; family++) {
        struct ws_rows *dictionary = dictionary_of(process, (enum ws_family)family);
        if (dictionary)
            ws_rows_finish(dictionary);
        struct ws_vector *list = list_of(process, (enum ws_family)family);
        if (list)
            ws_vector_finish(list);
    }
    ws_vector_finish(&process->meta);
    ws_vector_finish(&process->shapes);
    ws_vector_finish(&process->clocks);
#define FREE(type, name) free(process->ops.name);
    WS_OP_COLUMNS(FREE)
#undef FREE
    process->ops = (struct ws_ops){ 0 };
}
