/* Shapes of operations: what is static about them, each a row of a dictionary, and the threads' caches of them. */
#include <stddef.h>
#include <string.h>

#include "base/map.h"
#include "functions.h"
#include "graphs.h"
#include "ops.h"
#include "registry.h"

enum {
    GENERAL_SHAPES = 32768, /* the last rows: for launches whose grid and block find no room */
    SKIPS = 1024,           /* operations without another try to find room */
};

static struct ws_map shape_ids; /* hash of the row → id */

static uint64_t row_hash(const struct ws_shape *shape)
{
    const uint32_t *words = &shape->kind;
    uint64_t hash = 0x2545f4914f6cdd1du;
    for (size_t i = 0; i < sizeof(*shape) / sizeof(uint32_t) - 1; i++)
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u ^ hash >> 31;
    return hash ? hash : 1;
}

static bool is_full(uint32_t most)
{
    return atomic_load_explicit(&registry.shape.count, memory_order_relaxed) >= most;
}

/* Rows are all words after the id, so equal hashes are settled by comparing them. Where there are so many rows, only
 * those there are found. `looked`: was the lock had? */
static uint32_t shape_id(const struct ws_shape *shape, uint32_t most, bool *looked)
{
    uint32_t id = 0;
    *looked = registry_lock();
    if (!*looked)
        return 0;
    for (uint64_t hash = row_hash(shape);; hash++) {
        uint64_t key = hash ? hash : 1;
        uint64_t *known = is_full(most) ? ws_map_get(&shape_ids, key) : ws_map_put(&shape_ids, key);
        if (!known)
            break;
        if (!*known)
            *known = registry_add(&registry.shape, shape);
        id = (uint32_t)*known;
        if (!id) {
            ws_map_remove(&shape_ids, key);
            break;
        }
        const struct ws_shape *row = registry_row(&registry.shape, id);
        if (!memcmp(&row->kind, &shape->kind, sizeof(*shape) - offsetof(struct ws_shape, kind)))
            break;
    }
    registry_unlock();
    return id;
}

static uint32_t most_exact(void)
{
    return registry.shape.limit - GENERAL_SHAPES;
}

uint32_t op_shape_id(const struct ws_shape *shape)
{
    bool looked;
    return shape_id(shape, most_exact(), &looked);
}

/* Where a new entry for the key goes; the one that was there longer makes room. */
static struct shape_entry *shape_place(struct shim_thread *thread, const struct shape_key *key)
{
    struct shape_entry *entry = shape_places(thread, key);
    entry[1] = entry[0];
    return entry;
}

/* Nothing but the function, the stream and how it came there. */
static struct shape_key general_key(const struct shape_key *key)
{
    return (struct shape_key){ .object = key->object, .stream = key->stream, .which = key->which };
}

static struct ws_shape general_row(const struct ws_shape *row)
{
    return (struct ws_shape){ .kind = row->kind,
                              .stream = row->stream,
                              .function = row->function,
                              .driver_function = row->driver_function,
                              .from_space = row->from_space,
                              .to_space = row->to_space };
}

static void count(uint64_t *counter)
{
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* What had no room lately is not tried again until handles change: each try takes locks and asks the driver. */
static struct shape_refused *refused_place(struct shim_thread *thread, const struct shape_key *key)
{
    return &thread->shapes_refused[(key->object ^ key->object >> 8 ^ key->stream >> 4 ^ key->which >> 9) %
                                   SHAPES_REFUSED];
}

static bool was_refused(struct shape_refused *place, const struct shape_key *key, uint32_t handles)
{
    bool is_it = place->object == key->object && place->stream == key->stream && place->which == key->which &&
                 place->handles == handles && place->skips;
    if (is_it)
        place->skips--;
    return is_it;
}

static bool is_table_full(const struct registry_table *table)
{
    return atomic_load_explicit(&table->count, memory_order_relaxed) >= table->limit;
}

/* No stream may also mean that no context was current yet, or that a lock was not had. */
static bool has_no_streams_left(void)
{
    return is_table_full(&registry.stream) || is_table_full(&registry.context);
}

struct shape_entry *op_shape_fill(struct shim_thread *thread, const struct shape_key *key, struct ws_shape *row)
{
    uint32_t handles = atomic_load_explicit(&shim_page.handles, memory_order_acquire);
    bool per_thread = key->which & 1;
    struct shape_key general = general_key(key);
    struct shape_entry *entry = is_full(most_exact()) ? shape_find(thread, &general, handles) : NULL;
    struct shape_refused *refused = refused_place(thread, key);
    if (entry || was_refused(refused, key, handles)) {
        count(entry ? &thread->simplified : &thread->unregistered);
        return entry;
    }
    uint64_t missed = locks_missed();
    struct shim_stream *stream =
        stream_find((ws_CUstream)(uintptr_t)key->stream, per_thread, op_context(thread, handles));
    row->driver_function = (key->which >> 9 & 0x1ff) + 1;
    if (row->kind == WS_OP_KERNEL)
        row->function = function_find((ws_CUfunction)(uintptr_t)key->object);
    else if (row->kind == WS_OP_GRAPH)
        row->function = graph_id((ws_CUgraphExec)(uintptr_t)key->object);
    row->stream = stream ? stream->id : 0;
    bool looked = false;
    uint32_t id = stream ? shape_id(row, most_exact(), &looked) : 0;
    bool simplified = looked && !id;
    if (simplified) {
        struct ws_shape plain = general_row(row);
        key = &general;
        id = shape_id(&plain, registry.shape.limit, &looked);
    }
    if (!id) {
        count(&thread->unregistered);
        if (stream ? looked : has_no_streams_left())
            *refused = (struct shape_refused){ key->object, key->stream, key->which, handles, SKIPS };
        return NULL;
    }
    if (simplified)
        count(&thread->simplified);
    /* What a lock hid is asked for again by the next one: the entry is for this operation alone. */
    bool is_whole = locks_missed() == missed;
    entry = shape_place(thread, key);
    *entry = (struct shape_entry){
        .key = *key,
        .handles = is_whole ? handles : handles - 1,
        .shape = id,
        .stream_id = stream->id,
        .params_wait = 1,
        .function = row->kind == WS_OP_KERNEL ? row->function : 0,
        .until_sample = shim_options.sample && *shim_options.marks != 'p',
        .stream = stream,
    };
    return entry;
}
