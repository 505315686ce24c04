#include "shim/calls/shape_cache.h"

#include "shim/objects/functions.h"
#include "shim/objects/graphs.h"
#include "shim/objects/shapes.h"
#include "shim/objects/streams.h"
#include "shim/state/lock.h"
#include "shim/state/registry.h"

/* If the dictionary had no room for a shape, the next SKIPS operations with the shape's key are not recorded. After
 * them, the shim tries again to add the shape. */
enum { SKIPS = 1024 };

/* Makes room for a new entry in the first of the key's two places of the cache. The old entry of the first place
 * moves to the second place, and the old entry of the second place is dropped. */
static struct shape_entry *shape_place(struct shim_thread *thread, const struct shape_key *key, uint32_t stamp)
{
    struct shape_entry *entry = shape_places(thread, key, stamp);
    entry[1] = entry[0];
    return entry;
}

/* The key of the general shape, without grid and block, which is used when the dictionary has no room for the exact
 * shape. */
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

/* A refused shape is a shape for which the dictionary has no room. Returns the place in the thread's table where this
 * refused shape is noted. The shim does not look a refused shape up again until `handles` changes or SKIPS more
 * operations have used the shape, because each look-up takes locks and calls the driver. */
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

/* Did stream_find fail because a dictionary is full? If no dictionary is full, there was no current context or a lock
 * was not free in time, and the next operation may succeed. */
static bool has_no_streams_left(void)
{
    return is_table_full(&registry.stream) || is_table_full(&registry.context);
}

/* Decides which launch is the first to be measured after a shape's cache entry was made. Returns 1 for the first
 * launch, 2 for the second, 0 for none. known: the shape was in the dictionary before. With sampled events, the
 * second launch is measured, because the first may take longer: it may load the kernel's code. For a known shape, the
 * code is loaded already. But the entry of a known shape may be dropped from the cache before the second launch,
 * again and again. So for some entries of known shapes, the first launch is measured. */
static uint32_t first_sample(const struct shim_thread *thread, bool known)
{
    enum { ONE_IN = 8 };
    bool chosen = ((uint32_t)thread->correlation * 0x9e3779b1u) < UINT32_MAX / ONE_IN;
    switch (shim_options.event_placement) {
    case WS_EVENTS_SAMPLED:
        return known && chosen ? 1 : 2;
    case WS_EVENTS_SHARED:
        return shim_options.sample != 0;
    default:
        return 0;
    }
}

/* May the drain thread compute times of the operation? Returns false for a copy whose call takes about as long as the
 * copy: its start cannot be computed from the return of its call. Also returns false for a copy or memset of unknown
 * size, and for an unknown graph. size_class: the size class of a copy or memset (shapes.h); 0: the size is not
 * known. */
static bool is_computable(const struct ws_shape *row, uint32_t size_class)
{
    bool small = size_class < shape_size_class(SHAPE_TAKEN_ASIDE);
    switch (row->kind) {
    case WS_OP_GRAPH:
        return row->function;
    case WS_OP_MEMSET:
        return size_class;
    case WS_OP_COPY:
        return size_class && row->from_space && row->to_space && !shape_is_staged(row, small ? 0 : UINT64_MAX, false);
    default:
        return false;
    }
}

struct shape_entry *shape_fill(struct shim_thread *thread, const struct shape_key *key, struct ws_shape *row)
{
    uint32_t handles = atomic_load_explicit(&shim_page.handles, memory_order_acquire);
    uint32_t stamp = row->kind == WS_OP_KERNEL ? shape_stamp(thread, handles) : handles;
    bool per_thread = key->which & 1;
    struct shape_key general = general_key(key);
    struct shape_entry *entry = shapes_are_full() ? shape_find(thread, &general, stamp) : NULL;
    struct shape_refused *refused = refused_place(thread, key);
    if (entry || was_refused(refused, key, handles)) {
        count(entry ? &thread->simplified : &thread->unregistered);
        return entry;
    }
    uint64_t missed = locks_missed();
    struct shim_stream *stream =
        stream_find((ws_CUstream)(uintptr_t)key->stream, per_thread, context_of_thread(thread, handles));
    row->driver_function = (key->which >> 9 & 0x1ff) + 1;
    if (row->kind == WS_OP_KERNEL)
        row->function = function_find((ws_CUfunction)(uintptr_t)key->object);
    else if (row->kind == WS_OP_GRAPH)
        row->function = graph_id((ws_CUgraphExec)(uintptr_t)key->object);
    row->stream = stream ? stream->id : 0;
    bool looked = false;
    uint32_t known = atomic_load_explicit(&registry.shape.count, memory_order_relaxed);
    uint32_t id = stream ? shape_id_exact(row, &looked) : 0;
    bool simplified = looked && !id;
    if (simplified) {
        struct ws_shape plain = general_row(row);
        key = &general;
        id = shape_id_general(&plain, &looked);
    }
    if (!id) {
        count(&thread->unregistered);
        if (stream ? looked : has_no_streams_left())
            *refused = (struct shape_refused){ key->object, key->stream, key->which, handles, SKIPS };
        return NULL;
    }
    if (simplified)
        count(&thread->simplified);
    /* If a lock was not free in time, the entry may be incomplete. In this case the stamp `stamp - 1` makes the entry
     * invalid, so the next operation fills the entry again. */
    bool is_whole = locks_missed() == missed;
    entry = shape_place(thread, key, stamp);
    *entry = (struct shape_entry){
        .key = *key,
        .stamp = is_whole ? stamp : stamp - 1,
        .shape = id,
        .stream_id = stream->id,
        .params_wait = 1,
        .function = row->kind == WS_OP_KERNEL ? row->function : 0,
        .until_sample = first_sample(thread, id <= known),
        .stream = stream,
        .computable = !simplified && is_computable(row, key->grid_x),
        .is_graph = row->kind == WS_OP_GRAPH,
    };
    return entry;
}
