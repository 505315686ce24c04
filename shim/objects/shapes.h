/* The dictionary of shapes: what is static about operations. */
#ifndef WALLSHIM_SHIM_OBJECTS_SHAPES_H
#define WALLSHIM_SHIM_OBJECTS_SHAPES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"

/* The shape's id, made if need be; 0 where there is no room. `looked`: was the registry's lock free in time? */
uint32_t shape_id_exact(const struct ws_shape *shape, bool *looked);

/* The same for a shape without grid and block. The table's last rows are reserved for these. */
uint32_t shape_id_general(const struct ws_shape *shape, bool *looked);

/* Is there room only for shapes without grid and block? */
bool shapes_are_full(void);

/* The id of a graph node's shape, or 0. */
uint32_t shape_id(const struct ws_shape *shape);

#endif
