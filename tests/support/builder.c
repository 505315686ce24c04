#include "builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "builder: %s: %s\n", what, why);
    exit(99);
}

static void check(int status, const char *what)
{
    if (status)
        fail(what, strerror(-status));
}

static struct ws_text text(const char *value)
{
    return (struct ws_text){ value, (uint32_t)strlen(value) };
}

void build_begin(struct builder *builder, const char *path)
{
    *builder = (struct builder){ 0 };
    check(ws_writer_create(&builder->writer, path), path);
}

void build_end(struct builder *builder)
{
    check(ws_writer_close(builder->writer), "close");
}

void build_row(struct builder *builder, enum ws_family family, const void *row)
{
    check(ws_writer_add(builder->writer, family, row), ws_family_name(family));
}

void build_meta(struct builder *builder, const char *key, const char *value)
{
    if (value)
        build_row(builder, WS_FAMILY_meta, &(struct ws_meta){ text(key), text(value) });
}

void build_device(struct builder *builder, uint32_t device, const char *name, int64_t offset, uint32_t error)
{
    builder->clock_offset = offset;
    struct ws_device row = { .id = device,
                             .cc_major = 9,
                             .sms = 132,
                             .memory_bytes = 80000000000,
                             .name = text(name),
                             .uuid = text("GPU-00000000-0000-0000-0000-000000000000"),
                             .pci = text("0000:01:00") };
    build_row(builder, WS_FAMILY_device, &row);
    build_row(builder, WS_FAMILY_context, &(struct ws_context){ .id = device, .device = device });
    struct ws_clock clock = { .context = device, .device_ns = 0, .host_ns = offset, .error_ns = error };
    build_row(builder, WS_FAMILY_clock, &clock);
    clock.device_ns += 1000000000;
    clock.host_ns += 1000000000;
    build_row(builder, WS_FAMILY_clock, &clock);
}

void build_stream(struct builder *builder, uint32_t stream, uint32_t context)
{
    struct ws_stream row = { .id = stream, .context = context, .kind = WS_STREAM_CREATED };
    build_row(builder, WS_FAMILY_stream, &row);
}

void build_thread(struct builder *builder, uint32_t thread, uint32_t tid, const char *name)
{
    build_row(builder, WS_FAMILY_thread, &(struct ws_thread){ .id = thread, .tid = tid, .name = text(name) });
}

/* Returns the identifier of a name: its place in the list, from 1. A new name is appended to the list. */
static uint32_t number_of(const char **names, uint32_t *count, uint32_t most, const char *name, bool *is_new)
{
    *is_new = false;
    for (uint32_t i = 0; i < *count; i++)
        if (!strcmp(names[i], name))
            return i + 1;
    if (*count == most)
        fail(name, "too many names");
    *is_new = true;
    names[*count] = name;
    return ++*count;
}

uint32_t build_driver_function(struct builder *builder, const char *name, enum ws_call_family family)
{
    bool is_new;
    uint32_t id = number_of(builder->driver_names, &builder->driver_functions, BUILD_CALLS, name, &is_new);
    struct ws_driver_function row = { .id = id, .family = family, .name = text(name) };
    if (is_new)
        build_row(builder, WS_FAMILY_driver_function, &row);
    return id;
}

uint32_t build_function(struct builder *builder, const char *name)
{
    bool is_new;
    uint32_t id = number_of(builder->names, &builder->functions, BUILD_NAMES, name, &is_new);
    if (is_new)
        build_row(builder, WS_FAMILY_function, &(struct ws_function){ .id = id, .name = text(name) });
    return id;
}

uint32_t build_shape(struct builder *builder, const struct ws_shape *shape)
{
    struct ws_shape row = *shape;
    for (uint32_t i = 0; i < builder->shapes; i++) {
        row.id = i + 1;
        if (!memcmp(&row, &builder->known[i], sizeof(row)))
            return row.id;
    }
    if (builder->shapes == BUILD_SHAPES)
        fail("shape", "too many of them");
    row.id = ++builder->shapes;
    builder->known[row.id - 1] = row;
    build_row(builder, WS_FAMILY_shape, &row);
    return row.id;
}

uint32_t build_params(struct builder *builder, const struct ws_param_word *words, uint32_t count)
{
    struct ws_params row = { .id = ++builder->params,
                             .words = { (const char *)words, count * (uint32_t)sizeof(words[0]) } };
    build_row(builder, WS_FAMILY_params, &row);
    return row.id;
}

static uint64_t next_correlation(struct builder *builder)
{
    return (uint64_t)1 << 40 | ++builder->launches;
}

static uint32_t or_default(uint32_t value, uint32_t otherwise)
{
    return value ? value : otherwise;
}

static uint32_t shape_of(struct builder *builder, const struct launch *launch)
{
    struct ws_shape shape = { .stream = or_default(launch->stream, 1) };
    if (launch->kernel) {
        shape.kind = WS_OP_KERNEL;
        shape.function = build_function(builder, launch->kernel);
        shape.driver_function =
            build_driver_function(builder, launch->call ? launch->call : "cuLaunchKernel", WS_CALL_LAUNCH);
        shape.grid_x = or_default(launch->grid, 64);
        shape.block_x = or_default(launch->block, 256);
        shape.grid_y = shape.grid_z = shape.block_y = shape.block_z = 1;
    } else {
        bool is_named = launch->from || launch->to;
        shape.kind = WS_OP_COPY;
        shape.from_space = is_named ? launch->from : WS_SPACE_PINNED;
        shape.to_space = is_named ? launch->to : WS_SPACE_DEVICE;
        shape.driver_function =
            build_driver_function(builder, launch->call ? launch->call : "cuMemcpyAsync", WS_CALL_COPY);
    }
    return build_shape(builder, &shape);
}

struct ws_op build_op_of(struct builder *builder, uint32_t shape, int64_t begin, int64_t end)
{
    int64_t begin_on_host = begin + builder->clock_offset;
    return (struct ws_op){
        .shape = shape,
        .thread = 1,
        .correlation = next_correlation(builder),
        .host_begin = begin_on_host - 10000,
        .host_end = begin_on_host - 6000,
        .begin = begin,
        .end = end,
        .flags = WS_TIME_MEASURED | WS_TIME_MEASURED << 2,
    };
}

struct ws_op build_op(struct builder *builder, const struct launch *launch)
{
    struct ws_op op = build_op_of(builder, shape_of(builder, launch), launch->begin, launch->end);
    op.thread = or_default(launch->thread, 1);
    if (launch->host_begin || launch->host_end) {
        op.host_begin = launch->host_begin;
        op.host_end = launch->host_end;
    }
    op.begin_error = op.end_error = launch->error;
    op.flags |= launch->flags;
    op.params = launch->params;
    op.bytes = launch->bytes;
    return op;
}

uint32_t build_launch(struct builder *builder, const struct launch *launch)
{
    struct ws_op op = build_op(builder, launch);
    build_row(builder, WS_FAMILY_op, &op);
    return op.shape;
}

void build_kernel(struct builder *builder, uint32_t stream, const char *name, int64_t begin, int64_t end)
{
    build_launch(builder, &(struct launch){ .kernel = name, .stream = stream, .begin = begin, .end = end });
}

void build_copy(struct builder *builder, uint32_t stream, enum ws_space from, enum ws_space to, uint64_t bytes,
                int64_t begin, int64_t end)
{
    build_launch(builder, &(struct launch){
                              .from = from, .to = to, .stream = stream, .bytes = bytes, .begin = begin, .end = end });
}

void build_call_row(struct builder *builder, const char *function, enum ws_call_family family,
                    const struct ws_call *row)
{
    struct ws_call call = *row;
    call.function = build_driver_function(builder, function, family);
    call.thread = or_default(call.thread, 1);
    call.correlation = next_correlation(builder);
    build_row(builder, WS_FAMILY_call, &call);
}

void build_call(struct builder *builder, const char *function, enum ws_call_family family, int64_t begin, int64_t end)
{
    build_call_row(builder, function, family, &(struct ws_call){ .host_begin = begin, .host_end = end });
}

static uint32_t label(struct builder *builder, const char *value)
{
    struct ws_label row = { .id = ++builder->labels, .text = text(value) };
    build_row(builder, WS_FAMILY_label, &row);
    return row.id;
}

void build_range(struct builder *builder, enum ws_range_kind kind, uint32_t thread, const char *name, int64_t begin,
                 int64_t end)
{
    struct ws_range row = {
        .name = label(builder, name), .thread = thread, .host_begin = begin, .host_end = end, .kind = kind
    };
    build_row(builder, WS_FAMILY_range, &row);
}

void build_operator(struct builder *builder, const char *operator, const char * inputs, const char *kernel,
                    int64_t begin, int64_t length)
{
    uint32_t name = label(builder, operator), given = label(builder, inputs);
    struct ws_range row = { .name = name,
                            .inputs = given,
                            .thread = 1,
                            .host_begin = begin - 10100,
                            .host_end = begin - 9900,
                            .kind = WS_RANGE_OPERATOR };
    build_row(builder, WS_FAMILY_range, &row);
    build_kernel(builder, 1, kernel, begin, begin + length);
}

void build_comm(struct builder *builder, uint32_t id, uint32_t rank, uint32_t size, uint64_t hash)
{
    struct ws_comm row = { .id = id, .rank = rank, .size = size, .device = 1, .name_hash = hash };
    build_row(builder, WS_FAMILY_comm, &row);
}

void build_collective(struct builder *builder, const char *function, uint32_t comm, uint64_t sequence, uint64_t count,
                      int64_t begin, int64_t end)
{
    enum { STREAM = 2 };
    build_kernel(builder, STREAM, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", begin, end);
    uint64_t launch = (uint64_t)1 << 40 | builder->launches;
    struct ws_collective row = { .function = build_driver_function(builder, function, WS_CALL_NCCL),
                                 .thread = 1,
                                 .correlation = next_correlation(builder),
                                 .host_begin = begin - 10000,
                                 .host_end = begin - 5000,
                                 .comm = comm,
                                 .stream = STREAM,
                                 .count = count,
                                 .datatype = 7,
                                 .peer = -1,
                                 .sequence = sequence,
                                 .first_launch = launch,
                                 .last_launch = launch };
    build_row(builder, WS_FAMILY_collective, &row);
}

void build_all_reduce(struct builder *builder, int64_t begin, int64_t end)
{
    build_collective(builder, "ncclAllReduce", 1, ++builder->collectives, 1000000, begin, end);
}
