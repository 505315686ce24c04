#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/salted.h"
#include "input/source.h"
#include "model/build.h"

static void init(struct ws_process *process, const char *path, const char *file)
{
    *process = (struct ws_process){
        .path = path,
        .file = file,
        .parts = 1,
        .meta = WS_VECTOR(struct ws_meta_entry),
        .shapes = WS_VECTOR(struct ws_op_shape),
        .clocks = WS_VECTOR(struct ws_clock_map),
        .calls = WS_VECTOR(struct ws_call),
        .collectives = WS_VECTOR(struct ws_collective),
        .losses = WS_VECTOR(struct ws_loss),
        .graph_nodes = WS_VECTOR(struct ws_graph_node),
        .counters = WS_VECTOR(struct ws_counter),
        .health = WS_VECTOR(struct ws_health),
        .ranges.rows = WS_VECTOR(struct ws_range),
    };
    ws_entries_init(&process->driver_functions, WS_FAMILY_driver_function);
    ws_entries_init(&process->devices, WS_FAMILY_device);
    ws_entries_init(&process->contexts, WS_FAMILY_context);
    ws_entries_init(&process->streams, WS_FAMILY_stream);
    ws_entries_init(&process->threads, WS_FAMILY_thread);
    ws_entries_init(&process->functions, WS_FAMILY_function);
    ws_entries_init(&process->comms, WS_FAMILY_comm);
    ws_entries_init(&process->params, WS_FAMILY_params);
    ws_entries_init(&process->labels, WS_FAMILY_label);
    ws_entries_init(&process->metrics, WS_FAMILY_metric);
    ws_entries_init(&process->shape_rows, WS_FAMILY_shape);
    ws_stacks_init(&process->stacks);
}

static struct ws_entries *dictionary_of(struct ws_process *process, enum ws_family family)
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
    case WS_FAMILY_params:
        return &process->params;
    case WS_FAMILY_label:
        return &process->labels;
    case WS_FAMILY_metric:
        return &process->metrics;
    case WS_FAMILY_shape:
        return &process->shape_rows;
    case WS_FAMILY_code:
        return &process->stacks.codes;
    case WS_FAMILY_frame:
        return &process->stacks.frames;
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
    case WS_FAMILY_graph_node:
        return &process->graph_nodes;
    case WS_FAMILY_counter:
        return &process->counters;
    case WS_FAMILY_health:
        return &process->health;
    case WS_FAMILY_range:
        return &process->ranges.rows;
    case WS_FAMILY_stack:
        return &process->stacks.rows;
    default:
        return NULL;
    }
}

/* Limits the host times in the rows of this family (kind of record) to ± WS_TIME_MOST, from index `from` on. */
static void clamp_host_times(struct ws_process *process, enum ws_family family, size_t from)
{
    struct ws_call *calls = process->calls.data;
    struct ws_collective *collectives = process->collectives.data;
    struct ws_range *ranges = process->ranges.rows.data;
    struct ws_health *health = process->health.data;
    struct ws_stack *stacks = process->stacks.rows.data;
    for (size_t i = from; family == WS_FAMILY_stack && i < process->stacks.rows.count; i++)
        stacks[i].host_ns = ws_clamp_time(stacks[i].host_ns, &process->odd_times);
    for (size_t i = from; family == WS_FAMILY_health && i < process->health.count; i++)
        health[i].host_ns = ws_clamp_time(health[i].host_ns, &process->odd_times);
    for (size_t i = from; family == WS_FAMILY_call && i < process->calls.count; i++) {
        calls[i].host_begin = ws_clamp_time(calls[i].host_begin, &process->odd_times);
        calls[i].host_end = ws_clamp_time(calls[i].host_end, &process->odd_times);
    }
    for (size_t i = from; family == WS_FAMILY_collective && i < process->collectives.count; i++) {
        collectives[i].host_begin = ws_clamp_time(collectives[i].host_begin, &process->odd_times);
        collectives[i].host_end = ws_clamp_time(collectives[i].host_end, &process->odd_times);
    }
    for (size_t i = from; family == WS_FAMILY_range && i < process->ranges.rows.count; i++) {
        ranges[i].host_begin = ws_clamp_time(ranges[i].host_begin, &process->odd_times);
        ranges[i].host_end = ws_clamp_time(ranges[i].host_end, &process->odd_times);
    }
}

/* Looks at the rows of the list from index `from` on, which are all of this family. Removes the rows that are outside
 * the process's time window, and cuts ranges that cross an edge of the window. */
static void keep_window(const struct ws_process *process, enum ws_family family, struct ws_vector *list, size_t from)
{
    size_t kept = from;
    for (size_t i = from; i < list->count; i++) {
        char *row = (char *)list->data + i * list->size, *place = (char *)list->data + kept * list->size;
        if (!ws_window_take(process->window, family, row))
            continue;
        if (place != row)
            memcpy(place, row, list->size);
        kept++;
    }
    list->count = kept;
}

/* Adds the operations of a block. If only a time window of the process is read, adds only the operations in the
 * window. */
static int load_add_ops(struct ws_process *process, const struct ws_block *block, size_t expected)
{
    const struct ws_op_columns ops = ws_block_ops(block);
    int status = 0;
    if (!process->window)
        return ws_ops_add(&process->ops, &ops, block->count, expected);
    for (uint32_t first = 0, end; first < block->count && !status; first = end) {
        bool within = ws_window_holds(process->window, WS_OP_AT(&ops, host_begin, first));
        for (end = first + 1; end < block->count; end++)
            if (ws_window_holds(process->window, WS_OP_AT(&ops, host_begin, end)) != within)
                break;
        const struct ws_op_columns run = ws_op_columns_from(&ops, first);
        if (within)
            status = ws_ops_add(&process->ops, &run, end - first, expected);
    }
    return status;
}

static int add_meta(struct ws_process *process, struct ws_arena *texts, const struct ws_meta *row)
{
    char *key = ws_arena_copy(texts, row->key.data, row->key.length);
    char *value = ws_arena_copy(texts, row->value.data, row->value.length);
    return key && value ? ws_process_set_meta(process, key, value) : -ENOMEM;
}

struct ws_clock_map *ws_process_clock(struct ws_process *process, uint32_t context)
{
    uint64_t *place = ws_salted_put(&process->clock_of, (uint64_t)context + 1);
    if (!place)
        return NULL;
    if (!*place) {
        struct ws_clock_map *map = ws_vector_push(&process->clocks);
        if (!map)
            return NULL;
        *map = (struct ws_clock_map){ .context = context,
                                      .points = WS_VECTOR(struct ws_clock),
                                      .knots = WS_VECTOR(struct ws_clock) };
        *place = process->clocks.count;
    }
    return (struct ws_clock_map *)process->clocks.data + (*place - 1);
}

static int add_clock(struct ws_process *process, const struct ws_clock *row)
{
    struct ws_clock_map *map = ws_process_clock(process, row->context);
    if (!map)
        return -ENOMEM;
    struct ws_clock *point = ws_vector_push(&map->points);
    if (!point)
        return -ENOMEM;
    *point = *row;
    return 0;
}

static int load_add_block(struct ws_process *process, struct ws_arena *texts, const struct ws_block *block,
                          size_t expected_ops, bool references_only)
{
    int error = 0;
    if (block->family >= WS_FAMILY_COUNT)
        return 0;
    process->rows[block->family] += block->count;
    if (references_only && (block->family == WS_FAMILY_op || block->family == WS_FAMILY_call ||
                            block->family == WS_FAMILY_collective || block->family == WS_FAMILY_range))
        return 0;
    struct ws_entries *dictionary = dictionary_of(process, block->family);
    struct ws_vector *list = list_of(process, block->family);
    if (dictionary) {
        for (uint32_t i = 0; i < block->count && !error; i++)
            error = ws_entries_put(dictionary, texts, (const char *)block->rows + i * dictionary->rows.size);
    } else if (list) {
        size_t before = list->count;
        error = ws_vector_reach(list, before + block->count);
        if (!error) {
            memcpy((char *)list->data + before * list->size, block->rows, block->count * list->size);
            clamp_host_times(process, block->family, before);
            if (process->window)
                keep_window(process, block->family, list, before);
        }
    } else if (block->family == WS_FAMILY_op) {
        /* expected_ops may be too high: the memory for rows that never come is reserved but never used. */
        error = load_add_ops(process, block, expected_ops);
    } else if (block->family == WS_FAMILY_meta) {
        for (uint32_t i = 0; i < block->count && !error; i++)
            error = add_meta(process, texts, (const struct ws_meta *)block->rows + i);
    } else if (block->family == WS_FAMILY_clock) {
        for (uint32_t i = 0; i < block->count && !error; i++)
            error = add_clock(process, (const struct ws_clock *)block->rows + i);
    }
    return error;
}

int ws_process_load(struct ws_process *process, struct ws_arena *texts, const char *path, const char *file,
                    size_t part, const struct ws_window *window, const struct ws_model_options *options,
                    char *message, size_t capacity)
{
    struct ws_source *source;
    struct ws_block block;
    uint64_t done;
    bool expected = false;
    init(process, path, file);
    int status = ws_source_open(&source, file, path, message, capacity);
    if (status)
        return status;
    process->window = window;
    process->part = part;
    process->parts = ws_source_processes(source);
    if (process->parts > 1)
        ws_source_choose(source, part);
    ws_source_want_columns(source);
    ws_source_position(source, &done, &process->file_bytes);
    while ((status = ws_source_next(source, &block, message, capacity)) > 0) {
        status = load_add_block(process, texts, &block, ws_source_expected_ops(source),
                                options && options->references_only);
        if (status)
            break;
        ws_source_position(source, &done, &process->file_bytes);
        if (options && options->progress)
            options->progress(options->user, done, process->file_bytes);
        if (!expected && done > process->file_bytes / 32) {
            expected = true;
            ws_ops_expect(&process->ops,
                          (size_t)((double)process->ops.count / (double)done * (double)process->file_bytes));
        }
    }
    ws_ops_complete(&process->ops);
    process->odd_times += process->ops.odd_times;
    process->damage = *ws_source_damage(source);
    ws_source_position(source, &done, &process->file_bytes);
    ws_source_close(source);
    if (status == -ENOMEM)
        snprintf(message, capacity, "%s: needs more memory than there is", path);
    else if (status == -EFBIG)
        snprintf(message, capacity, "%s: holds more than 4 billion operations; record a shorter time", path);
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
        struct ws_entries *dictionary = dictionary_of(process, (enum ws_family)family);
        if (dictionary)
            ws_entries_finish(dictionary);
        struct ws_vector *list = list_of(process, (enum ws_family)family);
        if (list)
            ws_vector_finish(list);
    }
    ws_ranges_finish(&process->ranges);
    ws_stacks_finish(&process->stacks);
    ws_vector_finish(&process->meta);
    ws_map_finish(&process->meta_places);
    ws_vector_finish(&process->shapes);
    ws_vector_finish(&process->clocks);
    ws_map_finish(&process->clock_of);
    ws_ops_finish(&process->ops);
    free(process->order);
}
