/* Decides for which launches hardware counters are read. A configuration is a kernel with its grid, block and shared
 * memory on a device. Counters are read for several launches of each configuration. Only the thread that has set
 * `busy` (a lock in counters.c) may call these functions, unless a comment says otherwise. */
#ifndef WALLSHIM_SHIM_COUNTERS_CONFIGURATIONS_H
#define WALLSHIM_SHIM_COUNTERS_CONFIGURATIONS_H

#include "shim/counters/cupti.h"
#include "shim/objects/thread.h"

struct configuration {
    uint32_t device, function, grid[3], block[3], shared;
    /* Number of turns that this configuration has had. In a turn, one group of metrics is counted during one launch,
     * or is skipped. The groups take turns, and each group gets the same number of turns. */
    uint32_t taken;
    uint32_t failures; /* launches of the configuration whose counters could not be read or kept */
    bool no_tensor;    /* the kernel does not use the tensor cores */
};

/* Finds or adds the configuration of this shape. Returns NULL if there is no room. */
struct configuration *configuration_find(const struct shape_entry *shape);

/* Can hardware counters be read for a launch of this shape at all? flags: enum ws_op_flags. Any thread may call
 * this. */
bool configuration_countable(const struct shape_entry *shape, uint32_t flags);

/* Finds the group of metrics that is to be counted at the configuration's next launch. Returns false if all groups
 * have been counted. */
bool configuration_turn(struct configuration *configuration, const struct cupti_group *groups, uint32_t count,
                        uint32_t *group);

/* How many configurations configuration_find has added so far. Any thread may call this. */
uint32_t configurations_known(void);

#endif
