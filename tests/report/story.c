#include "story.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int status, const char *what)
{
    if (!status)
        return;
    fprintf(stderr, "story: %s: %s\n", what, strerror(-status));
    exit(99);
}

static struct ws_text text(const char *value)
{
    return (struct ws_text){ value, (uint32_t)strlen(value) };
}

void story_begin(struct story *story, const char *path)
{
    *story = (struct story){ 0 };
    check(ws_writer_create(&story->writer, path), path);
}

void story_end(struct story *story)
{
    check(ws_writer_close(story->writer), "close");
}

void story_add(struct story *story, enum ws_family family, const void *row)
{
    check(ws_writer_add(story->writer, family, row), ws_family_name(family));
}

void story_meta(struct story *story, const char *key, const char *value)
{
    story_add(story, WS_FAMILY_meta, &(struct ws_meta){ text(key), text(value) });
}

void story_device(struct story *story, uint32_t device, const char *name, int64_t offset, uint32_t error)
{
    story->clock_offset = offset;
    struct ws_device row = { .id = device,
                             .cc_major = 9,
                             .sms = 132,
                             .memory_bytes = 80000000000,
                             .name = text(name),
                             .uuid = text("GPU-00000000-0000-0000-0000-000000000000"),
                             .pci = text("0000:01:00") };
    story_add(story, WS_FAMILY_device, &row);
    story_add(story, WS_FAMILY_context, &(struct ws_context){ .id = device, .device = device });
    struct ws_clock clock = { .context = device, .device_ns = 0, .host_ns = offset, .error_ns = error };
    story_add(story, WS_FAMILY_clock, &clock);
    clock.device_ns += 1000000000;
    clock.host_ns += 1000000000;
    story_add(story, WS_FAMILY_clock, &clock);
}

void story_stream(struct story *story, uint32_t stream, uint32_t context)
{
    struct ws_stream row = { .id = stream, .context = context, .kind = WS_STREAM_CREATED };
    story_add(story, WS_FAMILY_stream, &row);
}

void story_thread(struct story *story, uint32_t thread, uint32_t tid, const char *name)
{
    story_add(story, WS_FAMILY_thread, &(struct ws_thread){ .id = thread, .tid = tid, .name = text(name) });
}

uint32_t story_driver_function(struct story *story, const char *name, enum ws_call_family family)
{
    for (uint32_t i = 0; i < story->driver_functions; i++)
        if (!strcmp(story->driver_names[i], name))
            return i + 1;
    story->driver_names[story->driver_functions++] = name;
    struct ws_driver_function row = { .id = story->driver_functions, .family = family, .name = text(name) };
    story_add(story, WS_FAMILY_driver_function, &row);
    return row.id;
}

uint32_t story_function(struct story *story, const char *name)
{
    for (uint32_t i = 0; i < story->functions; i++)
        if (!strcmp(story->names[i], name))
            return i + 1;
    story->names[story->functions++] = name;
    struct ws_function row = { .id = story->functions, .name = text(name) };
    story_add(story, WS_FAMILY_function, &row);
    return row.id;
}

uint32_t story_shape(struct story *story, const struct ws_shape *shape)
{
    struct ws_shape row = *shape;
    for (uint32_t i = 0; i < story->shapes; i++) {
        row.id = i + 1;
        if (!memcmp(&row, &story->known[i], sizeof(row)))
            return row.id;
    }
    row.id = ++story->shapes;
    story->known[row.id - 1] = row;
    story_add(story, WS_FAMILY_shape, &row);
    return row.id;
}

struct ws_op story_op(struct story *story, uint32_t shape, int64_t begin, int64_t end)
{
    return (struct ws_op){
        .shape = shape,
        .thread = 1,
        .correlation = (uint64_t)1 << 40 | ++story->launches,
        .host_begin = begin + story->clock_offset - 10000,
        .host_end = begin + story->clock_offset - 6000,
        .begin = begin,
        .end = end,
        .flags = WS_TIME_MEASURED | WS_TIME_MEASURED << 2,
    };
}

void story_kernel(struct story *story, uint32_t stream, const char *name, int64_t begin, int64_t end)
{
    struct ws_shape shape = { .kind = WS_OP_KERNEL,
                              .stream = stream,
                              .function = story_function(story, name),
                              .driver_function = story_driver_function(story, "cuLaunchKernel", WS_CALL_LAUNCH),
                              .grid_x = 64,
                              .grid_y = 1,
                              .grid_z = 1,
                              .block_x = 256,
                              .block_y = 1,
                              .block_z = 1 };
    struct ws_op op = story_op(story, story_shape(story, &shape), begin, end);
    story_add(story, WS_FAMILY_op, &op);
}

void story_copy(struct story *story, uint32_t stream, enum ws_space from, enum ws_space to, uint64_t bytes,
                int64_t begin, int64_t end)
{
    struct ws_shape shape = { .kind = WS_OP_COPY,
                              .stream = stream,
                              .from_space = from,
                              .to_space = to,
                              .driver_function = story_driver_function(story, "cuMemcpyAsync", WS_CALL_COPY) };
    struct ws_op op = story_op(story, story_shape(story, &shape), begin, end);
    op.bytes = bytes;
    story_add(story, WS_FAMILY_op, &op);
}

void story_call(struct story *story, const char *function, enum ws_call_family family, int64_t begin, int64_t end)
{
    struct ws_call row = { .function = story_driver_function(story, function, family),
                           .thread = 1,
                           .correlation = (uint64_t)1 << 40 | ++story->launches,
                           .host_begin = begin,
                           .host_end = end };
    story_add(story, WS_FAMILY_call, &row);
}

void story_range(struct story *story, enum ws_range_kind kind, uint32_t thread, const char *name, int64_t begin,
                 int64_t end)
{
    struct ws_label label = { .id = ++story->labels, .text = { name, (uint32_t)strlen(name) } };
    struct ws_range range = {
        .name = label.id, .thread = thread, .host_begin = begin, .host_end = end, .kind = kind
    };
    story_add(story, WS_FAMILY_label, &label);
    story_add(story, WS_FAMILY_range, &range);
}

void story_operate(struct story *story, const char *operator, const char * inputs, const char *kernel, int64_t begin,
                   int64_t length)
{
    struct ws_label name = { .id = ++story->labels, .text = { operator,(uint32_t) strlen(operator) } };
    struct ws_label given = { .id = ++story->labels, .text = { inputs, (uint32_t)strlen(inputs) } };
    struct ws_range range = { .name = name.id,
                              .inputs = given.id,
                              .thread = 1,
                              .host_begin = begin - 10100,
                              .host_end = begin - 9900,
                              .kind = WS_RANGE_OPERATOR };
    story_add(story, WS_FAMILY_label, &name);
    story_add(story, WS_FAMILY_label, &given);
    story_add(story, WS_FAMILY_range, &range);
    story_kernel(story, 1, kernel, begin, begin + length);
}
