/* The dictionary of shapes. A shape is the set of properties that repeated operations have in common: kind, stream,
 * function, grid, block and so on. */
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

#endif
