/* Shapes of made-up kernels, for tests of computed times. A shape is what launches of one kernel with one grid have
 * in common. */
#ifndef WALLSHIM_TESTS_UNIT_SHIM_KERNEL_SHAPES_H
#define WALLSHIM_TESTS_UNIT_SHIM_KERNEL_SHAPES_H

#include "shim/state/lock.h"
#include "shim/state/registry.h"

/* Fills the registry with the shapes 1 to `kinds`: kernels that differ only in their grids. Returns 0, or -1 for an
 * error. */
static int kernel_shapes_begin(unsigned kinds)
{
    locks_open();
    registry_init();
    if (!registry_lock())
        return -1;
    for (unsigned kind = 1; kind <= kinds; kind++)
        registry_add(&registry.shape, &(struct ws_shape){ .kind = WS_OP_KERNEL, .grid_x = kind, .stream = 1 });
    registry_unlock();
    return 0;
}

#endif
