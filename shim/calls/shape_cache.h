/* Each thread's cache of shapes. The key consists of the facts that a wrapper knows about its operation. If the cache
 * has no entry for a key, shape_fill makes one: it looks up the operation's stream, its function or graph, and its
 * row in the dictionary of shapes. */
#ifndef WALLSHIM_SHIM_CALLS_SHAPE_CACHE_H
#define WALLSHIM_SHIM_CALLS_SHAPE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"
#include "shim/calls/call.h"
#include "shim/objects/contexts.h"
#include "shim/objects/thread.h"

/* The stamp of a launch's cache entry, as long as the entry is valid. handles: shim_page.handles. The stamp of other
 * operations' entries is `handles` itself.
 *
 * Launches within a call of cuBLAS or cuDNN have the label of the call's inputs as a part of their shapes: GEMMs that
 * differ only in k may have the same kernel and grid, but they take different times. The label changes the stamp, so
 * the look-up of a launch needs no additional comparison. */
HOT uint32_t shape_stamp(const struct shim_thread *thread, uint32_t handles)
{
    return handles + thread->inputs_stamp;
}

/* The first of the two neighbouring places in the thread's cache where an entry with this key may be. Two places are
 * enough: few programs alternate between three kernels with the same hash. The hash covers the function, the stream,
 * the stamp (and so the label), and the grid's x and y, because these differ most between launches. Both x and y are
 * needed: grids of a GEMM kernel may differ in one of them only. */
HOT struct shape_entry *shape_places(struct shim_thread *thread, const struct shape_key *key, uint32_t stamp)
{
    uint32_t hash = ((uint32_t)key->object ^ (uint32_t)key->stream) * 0x9e3779b1u + key->grid_x * 0x85ebca6bu +
                    (key->grid_y + stamp) * 0xc2b2ae35u;
    size_t offset = hash / (UINT32_MAX / SHAPE_CACHE + 1) / 2 * (2 * sizeof(struct shape_entry));
    return (struct shape_entry *)((char *)thread->shapes + offset);
}

/* Is this a valid entry for the key? Neighbouring fields are not compared one after the other. GCC would merge the
 * comparisons of neighbours into one wider comparison, and for this it would build the key in memory. */
HOT bool shape_is(const struct shape_entry *entry, const struct shape_key *key, uint32_t stamp)
{
    const struct shape_key *own = &entry->key;
    return own->object == key->object && own->grid_x == key->grid_x && own->stream == key->stream &&
           own->block_x == key->block_x && own->grid_y == key->grid_y && own->block_y == key->block_y &&
           own->grid_z == key->grid_z && own->which == key->which && own->block_z == key->block_z &&
           entry->stamp == stamp && own->shared == key->shared;
}

/* The thread's entry for the key, or NULL. */
HOT struct shape_entry *shape_find(struct shim_thread *thread, const struct shape_key *key, uint32_t stamp)
{
    struct shape_entry *entry = shape_places(thread, key, stamp);
    if (__builtin_expect(shape_is(entry, key, stamp), 1))
        return entry;
    entry++;
    return shape_is(entry, key, stamp) ? entry : NULL;
}

/* Returns shape_key.which: the called function, the two kinds of memory of a copy, the kind of default stream, and,
 * for a default stream, the current context. */
HOT uint32_t shape_which(const struct call *call, ws_CUstream stream, uint32_t spaces, uint32_t handles)
{
    uint32_t which = (uint32_t)call->id << 9 | spaces << 1 | call->per_thread;
    if ((uintptr_t)stream <= 2) {
        if (__builtin_expect(call->thread->handles != handles, 0))
            context_of_thread(call->thread, handles);
        which |= call->thread->context_bits;
    }
    return which;
}
_Static_assert(WS_ID_COUNT <= 1 << 9 && WS_SPACE_COUNT <= 16, "each has its bits");

/* Makes an entry in the thread's cache. The key and the row together describe the operation's static properties.
 * Returns NULL if the dictionaries have no room for the shape or its stream, or if a lock was not free in time. */
struct shape_entry *shape_fill(struct shim_thread *thread, const struct shape_key *key, struct ws_shape *row);

#endif
