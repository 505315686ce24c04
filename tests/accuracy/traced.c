#include "truth.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/reader.h"

/* The trace's dictionaries, indexed by identifier. The trace of one process uses no identifier twice. */
enum { MOST = 1 << 16 };

struct dictionaries {
    uint32_t tids[MOST], context_devices[MOST], stream_contexts[MOST];
    uint64_t streams[MOST];
    char names[MOST][24];
    struct ws_shape shapes[MOST];
};

static int compare(const void *a, const void *b)
{
    const struct traced_op *one = a, *two = b;
    if (one->tid != two->tid)
        return one->tid < two->tid ? -1 : 1;
    return one->order < two->order ? -1 : one->order > two->order;
}

static void *one_more(void *items, size_t count, size_t size)
{
    if (count & (count - 1))
        return items;
    return realloc(items, (count ? 2 * count : 1) * size);
}

static void add_op(struct traced *traced, const struct dictionaries *known, const struct ws_op *row)
{
    const struct ws_shape *shape = &known->shapes[row->shape % MOST];
    if (shape->kind != WS_OP_KERNEL && shape->kind != WS_OP_COPY && shape->kind != WS_OP_MEMSET)
        return;
    traced->ops = one_more(traced->ops, traced->count, sizeof(*traced->ops));
    if (!traced->ops)
        abort();
    struct traced_op *op = &traced->ops[traced->count++];
    uint32_t context = known->stream_contexts[shape->stream % MOST] % MOST;
    *op = (struct traced_op){ .tid = known->tids[row->thread % MOST],
                              .device = known->context_devices[context] - 1,
                              .context = context,
                              .order = (uint64_t)row->host_begin,
                              .stream = known->streams[shape->stream % MOST],
                              .stream_life = shape->stream % MOST,
                              .row = *row,
                              .kind = (enum ws_op_kind)shape->kind };
    if (context > traced->most_context)
        traced->most_context = context;
    if (shape->kind == WS_OP_KERNEL)
        memcpy(op->name, known->names[shape->function % MOST], sizeof(op->name));
}

static void add_clock(struct traced *traced, const struct ws_clock *row)
{
    traced->clocks = one_more(traced->clocks, traced->clock_count, sizeof(*traced->clocks));
    if (!traced->clocks)
        abort();
    traced->clocks[traced->clock_count++] = (struct traced_clock){ .context = row->context % MOST, .row = *row };
}

static void take(struct traced *traced, struct dictionaries *known, const struct ws_block *block)
{
#define EACH(family)                             \
    const struct ws_##family *row = block->rows; \
    for (uint32_t i = 0; i < block->count; i++, row++)
    switch (block->family) {
    case WS_FAMILY_thread: {
        EACH(thread)
        known->tids[row->id % MOST] = row->tid;
        break;
    }
    case WS_FAMILY_context: {
        EACH(context)
        known->context_devices[row->id % MOST] = row->device;
        break;
    }
    case WS_FAMILY_stream: {
        EACH(stream)
        {
            known->stream_contexts[row->id % MOST] = row->context;
            known->streams[row->id % MOST] = row->handle;
        }
        break;
    }
    case WS_FAMILY_function: {
        EACH(function)
        snprintf(known->names[row->id % MOST], 24, "%.*s", (int)(row->name.length < 23 ? row->name.length : 23),
                 row->name.data);
        break;
    }
    case WS_FAMILY_shape: {
        EACH(shape)
        known->shapes[row->id % MOST] = *row;
        break;
    }
    case WS_FAMILY_clock: {
        EACH(clock)
        add_clock(traced, row);
        break;
    }
    case WS_FAMILY_op: {
        EACH(op)
        add_op(traced, known, row);
        break;
    }
    case WS_FAMILY_loss: {
        EACH(loss)
        {
            fprintf(stderr, "the trace says: %llu %s\n", (unsigned long long)row->count, ws_loss_text(row->reason));
            traced->lost += row->count;
            traced->counted += row->reason == WS_LOSS_OVERHEAD ? row->count : 0;
        }
        break;
    }
    default:
        break;
    }
#undef EACH
}

int traced_load(struct traced *traced, const char *path)
{
    char message[256];
    struct ws_reader *reader;
    struct ws_block block;
    int status;
    *traced = (struct traced){ 0 };
    struct dictionaries *known = calloc(1, sizeof(*known));
    if (!known)
        return -1;
    if (ws_reader_open(&reader, path, message, sizeof(message))) {
        fprintf(stderr, "%s\n", message);
        free(known);
        return -1;
    }
    while ((status = ws_reader_next(reader, &block)) > 0)
        take(traced, known, &block);
    const struct ws_damage *damage = ws_reader_damage(reader);
    bool hurt = damage->lost_frames || damage->lost_bytes || damage->torn_bytes || damage->no_footer;
    if (status || hurt)
        fprintf(stderr, "%s: %s\n", path, status ? strerror(-status) : "the trace is not whole");
    ws_reader_close(reader);
    free(known);
    if (traced->count)
        qsort(traced->ops, traced->count, sizeof(*traced->ops), compare);
    return status || hurt ? -1 : 0;
}

void traced_finish(struct traced *traced)
{
    free(traced->ops);
    free(traced->clocks);
    *traced = (struct traced){ 0 };
}
