#include "shim/objects/shapes.h"

#include <stddef.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "shim/state/registry.h"

enum { GENERAL_SHAPES = 32768 }; /* the table's last rows, reserved for shapes without grid and block */

/* bytes of a row, without the shape's id */
enum { ROW_SIZE = sizeof(struct ws_shape) - offsetof(struct ws_shape, kind) };

static struct ws_map shape_ids; /* hash of a shape's row → the shape's dictionary id */

static bool is_full(uint32_t most)
{
    return atomic_load_explicit(&registry.shape.count, memory_order_relaxed) >= most;
}

/* Finds or adds the row, and returns its id. Rows with equal hashes are compared whole. A table with `most` rows or
 * more gets no new row. *looked: was the registry's lock free in time, so that the table could be searched? */
static uint32_t find_or_add(const struct ws_shape *shape, uint32_t most, bool *looked)
{
    uint32_t id = 0;
    *looked = registry_lock();
    if (!*looked)
        return 0;
    for (uint64_t key = ws_hash_key(&shape->kind, ROW_SIZE);; key = ws_hash_next(key)) {
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
        if (!memcmp(&row->kind, &shape->kind, ROW_SIZE))
            break;
    }
    registry_unlock();
    return id;
}

static uint32_t most_exact(void)
{
    return registry.shape.limit - GENERAL_SHAPES;
}

bool shapes_are_full(void)
{
    return is_full(most_exact());
}

uint32_t shape_id_exact(const struct ws_shape *shape, bool *looked)
{
    return find_or_add(shape, most_exact(), looked);
}

uint32_t shape_id_general(const struct ws_shape *shape, bool *looked)
{
    return find_or_add(shape, registry.shape.limit, looked);
}

uint32_t shape_id(const struct ws_shape *shape)
{
    bool looked;
    return shape_id_exact(shape, &looked);
}
