/* The trace's dictionary (table) of shapes. A shape is the set of properties that repeated operations have in common:
 * kind, stream, function, grid, block and so on. */
#ifndef WALLSHIM_SHIM_OBJECTS_SHAPES_H
#define WALLSHIM_SHIM_OBJECTS_SHAPES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"

/* Finds or adds the shape, and returns its id. Returns 0 if there is no room, or if the registry's lock was not free
 * in time. *looked: was the lock free in time? */
uint32_t shape_id_exact(const struct ws_shape *shape, bool *looked);

/* Like shape_id_exact, for a shape without grid and block. The table's last rows are reserved for such shapes, so
 * that operations can be recorded even if there is no room for their exact shapes. */
uint32_t shape_id_general(const struct ws_shape *shape, bool *looked);

/* Is there room only for shapes without grid and block? */
bool shapes_are_full(void);

/* Like shape_id_exact, but does not tell whether the lock was free. Used for shapes of graph nodes. */
uint32_t shape_id(const struct ws_shape *shape);

/* The size class of copies and memsets of this size. Operations of one shape and size class take about the same time,
 * because the sizes of a class differ by a quarter at most. */
static inline uint32_t shape_size_class(uint64_t bytes)
{
    if (bytes < 4)
        return (uint32_t)bytes;
    unsigned log = 63 - (unsigned)__builtin_clzll(bytes);
    return log << 2 | (bytes >> (log - 2) & 3);
}

/* An asynchronous copy of at most SHAPE_TAKEN_ASIDE bytes from pageable memory to a device returns at once: its call
 * copies the data to memory of the driver (CUDA driver API documentation, "API synchronization behavior"). */
enum { SHAPE_TAKEN_ASIDE = 64 << 10 };

/* Does the copy's call take about as long as the copy? A copy from or to pageable memory does, because the driver
 * copies the data through its own pinned memory during the call. An asynchronous copy of at most SHAPE_TAKEN_ASIDE
 * bytes to a device is an exception. blocking: the call returns after the copy. */
static inline bool shape_is_staged(const struct ws_shape *shape, uint64_t bytes, bool blocking)
{
    bool at_once = !blocking && bytes <= SHAPE_TAKEN_ASIDE;
    return shape->kind == WS_OP_COPY &&
           (shape->to_space == WS_SPACE_PAGEABLE || (shape->from_space == WS_SPACE_PAGEABLE && !at_once));
}

#endif
