/* Which launches are counted: kernels with their grids and blocks, each several times. Everything here is of the
 * thread that counts. */
#ifndef WALLSHIM_SHIM_COUNTERS_CONFIGURATIONS_H
#define WALLSHIM_SHIM_COUNTERS_CONFIGURATIONS_H

#include "shim/counters/cupti.h"
#include "shim/objects/thread.h"

/* A kernel with its grid and block on a device. */
struct configuration {
    uint32_t device, function, grid[3], block[3], shared;
    uint32_t taken;    /* turns, left out ones among them */
    uint32_t failures; /* launches of which nothing could be kept */
    bool no_tensor;    /* the tensor cores did nothing in it */
};

/* The entry's, made if need be; NULL where it is not to be counted. */
struct configuration *configuration_find(const struct shape_entry *shape);

/* Can a launch of this entry be counted at all? flags: enum ws_op_flags. Any thread may ask. */
bool configuration_countable(const struct shape_entry *shape, uint32_t flags);

/* The group whose turn it is; false: all had theirs. */
bool configuration_turn(struct configuration *configuration, const struct cupti_group *groups, uint32_t count,
                        uint32_t *group);

/* How many there are. Any thread may ask. */
uint32_t configurations_known(void);

#endif
