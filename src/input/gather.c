#include "input/gather.h"

#include <errno.h>
#include <string.h>

#include "base/minmax.h"
#include "base/salted.h"
#include "wire/columns.h"

enum { MOST_TEXT = 65536 }; /* maximum length of a name in bytes; longer names are cut */

struct function_key {
    uint32_t name, registers, static_shared_bytes;
};

struct thread_key {
    int64_t pid, tid;
};

struct context_key {
    int64_t handle;
    uint32_t device, zero;
};

struct stream_key {
    int64_t handle;
    uint32_t context, zero;
};

void ws_gather_init(struct ws_gather *gather)
{
    *gather = (struct ws_gather){
        .handed = -1,
        .labels = WS_INTERN(struct ws_text),
        .names = WS_INTERN(struct ws_text),
        .driver_functions = WS_INTERN(struct ws_text),
        .functions = WS_INTERN(struct function_key),
        .threads = WS_INTERN(struct thread_key),
        .contexts = WS_INTERN(struct context_key),
        .streams = WS_INTERN(struct stream_key),
        .shapes = WS_INTERN(struct ws_shape),
        .attributes = WS_VECTOR(struct ws_call_kind),
        .communicates = WS_VECTOR(bool),
        .spans = WS_VECTOR(struct ws_gather_span),
        .ops = WS_VECTOR(struct ws_gather_op),
        .calls = WS_VECTOR(struct ws_gather_call),
        .comms = WS_VECTOR(struct ws_comm),
        .collectives = WS_VECTOR(struct ws_gather_collective),
        .memory = WS_VECTOR(struct ws_gather_memory),
        .details = WS_VECTOR(struct ws_gather_detail),
    };
    for (int family = 0; family < WS_FAMILY_COUNT; family++)
        gather->rows[family].size = ws_layout((enum ws_family)family)->row_size;
}

static void *gather_push(struct ws_gather *gather, struct ws_vector *vector)
{
    void *item = gather->error ? NULL : ws_vector_push(vector);
    if (!item)
        gather->error = -ENOMEM;
    return item;
}

void ws_gather_row(struct ws_gather *gather, enum ws_family family, const void *row)
{
    void *place = gather_push(gather, &gather->rows[family]);
    if (place)
        memcpy(place, row, gather->rows[family].size);
}

/* Returns the length to which a long text is cut. The cut is between two UTF-8 characters. */
static size_t gather_cut(const char *text, size_t length)
{
    if (length <= MOST_TEXT)
        return length;
    length = MOST_TEXT;
    while (length > MOST_TEXT - 4 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    return length;
}

struct ws_text ws_gather_text(struct ws_gather *gather, const char *text, size_t length)
{
    char *copy = ws_arena_copy(&gather->texts, text, gather_cut(text, length));
    if (!copy)
        gather->error = -ENOMEM;
    return (struct ws_text){ copy, copy ? (uint32_t)gather_cut(text, length) : 0 };
}

/* Stores the number of a text in *id. Returns whether the text is new. For a new text, the caller must write a row of
 * the trace. */
static bool is_new_text(struct ws_gather *gather, struct ws_intern *intern, const char *text, size_t length,
                        uint32_t *id)
{
    bool fresh;
    *id = ws_intern_text(intern, &gather->texts, text, gather_cut(text, length), &fresh);
    if (!*id)
        gather->error = -ENOMEM;
    return *id && fresh;
}

static bool is_new_key(struct ws_gather *gather, struct ws_intern *intern, const void *key, uint32_t *id)
{
    bool fresh;
    *id = ws_intern_key(intern, key, &fresh);
    if (!*id)
        gather->error = -ENOMEM;
    return *id && fresh;
}

static struct ws_text gather_text_of(const struct ws_intern *intern, uint32_t id)
{
    return *(const struct ws_text *)ws_intern_item(intern, id);
}

uint32_t ws_gather_label(struct ws_gather *gather, const char *text, size_t length)
{
    uint32_t id;
    if (is_new_text(gather, &gather->labels, text, length, &id)) {
        struct ws_label row = { .id = id, .text = gather_text_of(&gather->labels, id) };
        ws_gather_row(gather, WS_FAMILY_label, &row);
    }
    return id;
}

uint32_t ws_gather_driver_function(struct ws_gather *gather, const char *name, size_t length)
{
    uint32_t id;
    if (is_new_text(gather, &gather->driver_functions, name, length, &id)) {
        struct ws_call_kind *kind = gather_push(gather, &gather->attributes);
        if (!kind)
            return 0;
        *kind = ws_call_kind_of(name, length);
        struct ws_driver_function row = { .id = id,
                                          .family = kind->family,
                                          .name = gather_text_of(&gather->driver_functions, id) };
        ws_gather_row(gather, WS_FAMILY_driver_function, &row);
    }
    return id;
}

uint32_t ws_gather_function(struct ws_gather *gather, const char *name, size_t length, uint32_t registers,
                            uint32_t static_shared_bytes)
{
    struct function_key key = { .registers = registers, .static_shared_bytes = static_shared_bytes };
    uint32_t id;
    is_new_text(gather, &gather->names, name, length, &key.name);
    if (key.name && is_new_key(gather, &gather->functions, &key, &id)) {
        bool *communicates = gather_push(gather, &gather->communicates);
        if (communicates)
            *communicates = memmem(name, length, "nccl", 4) || memmem(name, length, "rccl", 4);
        struct ws_function row = { .id = id,
                                   .registers = registers,
                                   .static_shared_bytes = static_shared_bytes,
                                   .name = gather_text_of(&gather->names, key.name) };
        ws_gather_row(gather, WS_FAMILY_function, &row);
    }
    return key.name ? id : 0;
}

uint32_t ws_gather_thread(struct ws_gather *gather, int64_t pid, int64_t tid)
{
    struct thread_key key = { pid, tid };
    uint32_t id;
    if (is_new_key(gather, &gather->threads, &key, &id)) {
        struct ws_thread row = { .id = id, .tid = (uint32_t)tid };
        ws_gather_row(gather, WS_FAMILY_thread, &row);
    }
    return id;
}

void ws_gather_thread_name(struct ws_gather *gather, int64_t pid, int64_t tid, const char *name, size_t length)
{
    struct thread_key key = { pid, tid };
    uint32_t id = ws_intern_find(&gather->threads, &key);
    if (!id)
        return;
    struct ws_thread row = { .id = id, .tid = (uint32_t)tid, .name = ws_gather_text(gather, name, length) };
    ws_gather_row(gather, WS_FAMILY_thread, &row);
}

static struct context_key context_key(int64_t ordinal, int64_t handle)
{
    return (struct context_key){ .handle = handle,
                                 .device = ordinal >= 0 && ordinal < INT32_MAX ? (uint32_t)ordinal + 1 : 0 };
}

static uint32_t find_context(struct ws_gather *gather, int64_t ordinal, int64_t handle)
{
    struct context_key key = context_key(ordinal, handle);
    uint32_t id;
    if (is_new_key(gather, &gather->contexts, &key, &id)) {
        struct ws_context row = { .id = id, .device = key.device, .handle = (uint64_t)handle };
        struct ws_gather_span *span = gather_push(gather, &gather->spans);
        if (span)
            *span = (struct ws_gather_span){ INT64_MAX, INT64_MIN };
        uint64_t *first = key.device ? ws_salted_put(&gather->context_of, key.device) : NULL;
        if (first && !*first)
            *first = id;
        else if (key.device && !first)
            gather->error = -ENOMEM;
        ws_gather_row(gather, WS_FAMILY_context, &row);
    }
    return id;
}

uint32_t ws_gather_stream(struct ws_gather *gather, int64_t ordinal, int64_t context, int64_t stream)
{
    struct stream_key key = { .handle = stream, .context = find_context(gather, ordinal, context) };
    uint32_t id;
    if (is_new_key(gather, &gather->streams, &key, &id)) {
        struct ws_stream row = {
            .id = id, .context = key.context, .kind = WS_STREAM_UNKNOWN, .handle = (uint64_t)stream
        };
        ws_gather_row(gather, WS_FAMILY_stream, &row);
    }
    return id;
}

uint32_t ws_gather_known_context(const struct ws_gather *gather, int64_t ordinal, int64_t context)
{
    struct context_key key = context_key(ordinal, context);
    uint32_t id = ws_intern_find(&gather->contexts, &key);
    return id ? id : ws_gather_context_of(gather, ordinal);
}

uint32_t ws_gather_known_stream(struct ws_gather *gather, int64_t ordinal, int64_t context, int64_t stream)
{
    struct context_key key = context_key(ordinal, context);
    return ws_intern_find(&gather->contexts, &key) ? ws_gather_stream(gather, ordinal, context, stream) : 0;
}

uint32_t ws_gather_shape(struct ws_gather *gather, const struct ws_shape *shape)
{
    uint32_t number;
    is_new_key(gather, &gather->shapes, shape, &number);
    return number;
}

void ws_gather_meta(struct ws_gather *gather, const char *key, const char *value, size_t length)
{
    struct ws_meta row = { .key = ws_gather_text(gather, key, strlen(key)),
                           .value = ws_gather_text(gather, value, length) };
    ws_gather_row(gather, WS_FAMILY_meta, &row);
}

/* Extends the context's span of device times to include the operation. join.c writes a clock comparison (a device
 * time and the equal host time) for each end of the span. */
static void widen_span(struct ws_gather *gather, const struct ws_gather_op *op)
{
    const struct ws_shape *shape = ws_intern_item(&gather->shapes, op->shape);
    const struct stream_key *stream = ws_intern_item(&gather->streams, shape->stream);
    struct ws_gather_span *span = (struct ws_gather_span *)gather->spans.data + (stream->context - 1);
    span->first = ws_min(op->begin, span->first);
    span->last = ws_max(op->end, span->last);
}

void ws_gather_op(struct ws_gather *gather, const struct ws_gather_op *op)
{
    struct ws_gather_op *place = op->shape ? gather_push(gather, &gather->ops) : NULL;
    if (!place)
        return;
    *place = *op;
    widen_span(gather, op);
}

void ws_gather_call(struct ws_gather *gather, const struct ws_gather_call *call)
{
    struct ws_gather_call *place = gather_push(gather, &gather->calls);
    if (place)
        *place = *call;
}

void ws_gather_collective(struct ws_gather *gather, const struct ws_gather_collective *collective)
{
    struct ws_gather_collective *place = gather_push(gather, &gather->collectives);
    if (place)
        *place = *collective;
}

void ws_gather_memory(struct ws_gather *gather, const struct ws_gather_memory *memory)
{
    struct ws_gather_memory *place = gather_push(gather, &gather->memory);
    if (place)
        *place = *memory;
}

bool ws_gather_share_process(const struct ws_gather *gather, uint32_t thread, uint32_t other)
{
    const struct thread_key *keys = gather->threads.items.data;
    return keys[thread - 1].pid == keys[other - 1].pid;
}

uint32_t ws_gather_context_of(const struct ws_gather *gather, int64_t ordinal)
{
    const uint64_t *first = ordinal >= 0 ? ws_salted_get(&gather->context_of, (uint64_t)ordinal + 1) : NULL;
    return first ? (uint32_t)*first : 0;
}

uint32_t ws_gather_device(const struct ws_gather *gather, uint32_t context)
{
    return ((const struct context_key *)ws_intern_item(&gather->contexts, context))->device;
}

uint32_t ws_gather_device_of(const struct ws_gather *gather, uint32_t stream)
{
    return ws_gather_device(gather, ((const struct stream_key *)ws_intern_item(&gather->streams, stream))->context);
}

/* Returns the next record family (table of the trace) that has rows, after the family whose rows ws_gather_next
 * returned last. */
static int next_family(const struct ws_gather *gather)
{
    int family = gather->handed + 1;
    while (family < WS_FAMILY_COUNT && !gather->rows[family].count)
        family++;
    return family;
}

int ws_gather_next(struct ws_gather *gather, struct ws_block *block)
{
    if (gather->handed >= 0)
        gather->rows[gather->handed].count = 0;
    int family = next_family(gather);
    if (family == WS_FAMILY_COUNT) {
        gather->handed = -1;
        int status = gather->join && !gather->error ? ws_gather_join_more(gather) : 0;
        if (gather->error || status <= 0)
            return gather->error;
        family = next_family(gather);
    }
    gather->handed = family;
    *block = (struct ws_block){ .family = (enum ws_family)family,
                                .count = (uint32_t)gather->rows[family].count,
                                .rows = gather->rows[family].data };
    return gather->error ? gather->error : 1;
}

void ws_gather_destroy(struct ws_gather *gather)
{
    struct ws_intern *interns[] = { &gather->labels,    &gather->names,        &gather->driver_functions,
                                    &gather->functions, &gather->threads,      &gather->contexts,
                                    &gather->streams,   &gather->final_shapes, &gather->shapes };
    struct ws_vector *vectors[] = { &gather->attributes,  &gather->communicates, &gather->spans,
                                    &gather->ops,         &gather->calls,        &gather->comms,
                                    &gather->collectives, &gather->memory,       &gather->details };
    for (size_t i = 0; i < sizeof(interns) / sizeof(interns[0]); i++)
        ws_intern_finish(interns[i]);
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
        ws_vector_finish(vectors[i]);
    for (int family = 0; family < WS_FAMILY_COUNT; family++)
        ws_vector_finish(&gather->rows[family]);
    ws_map_finish(&gather->context_of);
    ws_map_finish(&gather->detail_of);
    ws_map_finish(&gather->recorded);
    ws_gather_join_destroy(gather->join);
    ws_arena_finish(&gather->texts);
}
