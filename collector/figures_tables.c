#include "collector/figures_tables.h"

#include <stdlib.h>
#include <string.h>

enum { SHAPES_MAX = 1 << 17, STREAMS_MAX = 1 << 14, FUNCTIONS_MAX = 1 << 17, CALLS_MAX = 4096, FIRST_ROWS = 64 };

/* Returns the table's row with this id, after growing the table if necessary. New rows are all zero. Returns NULL if
 * the id is too large, or if the memory budget or the system's memory is exhausted. */
static void *reach(struct figures_table *table, struct figures_memory *memory, uint32_t id, uint32_t most,
                   size_t size)
{
    if (id >= most)
        return NULL;
    if (id >= table->count) {
        uint32_t count = table->count ? table->count : FIRST_ROWS;
        while (count <= id)
            count *= 2;
        char *rows = figures_resize(memory, table->rows, table->count * size, count * size);
        if (!rows)
            return NULL;
        memset(rows + table->count * size, 0, (count - table->count) * size);
        table->rows = rows;
        table->count = count;
    }
    return (char *)table->rows + id * size;
}

static void finish(struct figures_table *table, struct figures_memory *memory, size_t size)
{
    memory->used -= table->count * size;
    free(table->rows);
    *table = (struct figures_table){ 0 };
}

void figures_tables_finish(struct figures_tables *tables, struct figures_memory *memory)
{
    finish(&tables->shapes, memory, sizeof(struct figures_shape));
    finish(&tables->streams, memory, sizeof(uint16_t));
    finish(&tables->functions, memory, sizeof(uint8_t));
    finish(&tables->calls, memory, sizeof(uint8_t));
}

static bool add_device(struct figures_tables *tables, struct figures_process *process, const struct ws_device *row)
{
    char uuid[FIGURES_UUID_SIZE] = "";
    if (row->id >= FIGURES_ORDINALS_MAX)
        return false;
    /* An empty text may have data NULL, which memcpy forbids. */
    if (row->uuid.length && row->uuid.length < sizeof(uuid))
        memcpy(uuid, row->uuid.data, row->uuid.length);
    tables->devices[row->id] = figures_device_of(process, uuid);
    return tables->devices[row->id] != NULL;
}

static bool add_context(struct figures_tables *tables, struct figures_process *process, const struct ws_context *row)
{
    if (row->id >= FIGURES_CONTEXTS_MAX)
        return false;
    struct figures_device *device = row->device < FIGURES_ORDINALS_MAX ? tables->devices[row->device] : NULL;
    tables->contexts[row->id].device = device ? device : figures_device_of(process, "");
    return tables->contexts[row->id].device != NULL;
}

static bool add_stream(struct figures_tables *tables, struct figures_memory *memory, const struct ws_stream *row)
{
    uint16_t *context = reach(&tables->streams, memory, row->id, STREAMS_MAX, sizeof(*context));
    if (!context || row->context >= FIGURES_CONTEXTS_MAX)
        return false;
    *context = (uint16_t)row->context;
    return true;
}

/* Notes whether the function is a kernel of NCCL. Such kernels have names like ncclDevKernel_… and ncclKernel_… */
static bool add_function(struct figures_tables *tables, struct figures_memory *memory, const struct ws_function *row)
{
    uint8_t *is_comm = reach(&tables->functions, memory, row->id, FUNCTIONS_MAX, sizeof(*is_comm));
    if (is_comm)
        *is_comm = row->name.length && memmem(row->name.data, row->name.length, "nccl", 4);
    return is_comm != NULL;
}

static bool add_call(struct figures_tables *tables, struct figures_memory *memory,
                     const struct ws_driver_function *row)
{
    uint8_t *family = reach(&tables->calls, memory, row->id, CALLS_MAX, sizeof(*family));
    if (family)
        *family = (uint8_t)(row->family < WS_CALL_FAMILY_COUNT ? row->family : WS_CALL_OTHER);
    return family != NULL;
}

static enum figures_direction direction_of(const struct ws_shape *row)
{
    bool from_host = ws_space_is_host(row->from_space), to_host = ws_space_is_host(row->to_space);
    bool from_device = ws_space_is_device(row->from_space), to_device = ws_space_is_device(row->to_space);
    return from_host && to_device     ? FIGURES_HOST_TO_DEVICE
           : from_device && to_host   ? FIGURES_DEVICE_TO_HOST
           : from_device && to_device ? FIGURES_DEVICE_TO_DEVICE
           : from_host && to_host     ? FIGURES_HOST_TO_HOST
                                      : FIGURES_UNKNOWN_DIRECTION;
}

static enum figures_group group_of(const struct figures_tables *tables, const struct ws_shape *row)
{
    switch (row->kind) {
    case WS_OP_COPY:
    case WS_OP_MEMSET:
    case WS_OP_PREFETCH:
    case WS_OP_DECOMPRESS:
        return FIGURES_MEMORY;
    case WS_OP_KERNEL:
        return row->function < tables->functions.count && ((const uint8_t *)tables->functions.rows)[row->function]
                   ? FIGURES_COMMUNICATION
                   : FIGURES_COMPUTE;
    default:
        return FIGURES_COMPUTE;
    }
}

/* Does an operation of this kind occupy the device? Host functions, waits for memory values and interop operations
 * occupy only a stream. */
static bool is_timed(uint32_t kind)
{
    return kind != WS_OP_HOST_FUNCTION && kind != WS_OP_MEMORY_OP && kind != WS_OP_INTEROP;
}

static bool add_shape(struct figures_tables *tables, struct figures_process *process, const struct ws_shape *row)
{
    const uint16_t *streams = tables->streams.rows;
    uint32_t context = row->stream < tables->streams.count ? streams[row->stream] : 0;
    struct figures_shape *shape = reach(&tables->shapes, &process->all->memory, row->id, SHAPES_MAX, sizeof(*shape));
    struct figures_device *device = tables->contexts[context].device;
    if (!shape)
        return false;
    enum figures_group group = group_of(tables, row);
    uint32_t kind = row->kind < WS_OP_KIND_COUNT ? row->kind : (uint32_t)WS_OP_UNKNOWN;
    *shape = (struct figures_shape){ .device = device ? device : figures_device_of(process, ""),
                                     .clock = &tables->contexts[context].clock,
                                     .stream = row->stream,
                                     .class = (uint8_t)(group == FIGURES_COMMUNICATION ? FIGURES_CLASS_COMMUNICATION
                                                                                       : kind),
                                     .group = (uint8_t)group,
                                     .direction = (uint8_t)direction_of(row),
                                     .timed = is_timed(row->kind) };
    return shape->device != NULL;
}

static bool add_clock(struct figures_tables *tables, const struct ws_clock *row)
{
    if (row->context >= FIGURES_CONTEXTS_MAX)
        return false;
    figures_clock_add(&tables->contexts[row->context].clock, row);
    return true;
}

bool figures_tables_want(uint32_t family)
{
    return family == WS_FAMILY_device || family == WS_FAMILY_context || family == WS_FAMILY_stream ||
           family == WS_FAMILY_function || family == WS_FAMILY_driver_function || family == WS_FAMILY_shape ||
           family == WS_FAMILY_clock;
}

static bool add_row(struct figures_tables *tables, struct figures_process *process, uint32_t family, const void *row)
{
    struct figures_memory *memory = &process->all->memory;
    switch (family) {
    case WS_FAMILY_device:
        return add_device(tables, process, row);
    case WS_FAMILY_context:
        return add_context(tables, process, row);
    case WS_FAMILY_stream:
        return add_stream(tables, memory, row);
    case WS_FAMILY_function:
        return add_function(tables, memory, row);
    case WS_FAMILY_driver_function:
        return add_call(tables, memory, row);
    case WS_FAMILY_shape:
        return add_shape(tables, process, row);
    default:
        return add_clock(tables, row);
    }
}

uint32_t figures_tables_add(struct figures_tables *tables, struct figures_process *process, uint32_t family,
                            const void *rows, uint32_t count)
{
    size_t size = ws_layout(family)->row_size;
    uint32_t refused = 0;
    for (uint32_t i = 0; i < count; i++)
        refused += !add_row(tables, process, family, (const char *)rows + i * size);
    return refused;
}
