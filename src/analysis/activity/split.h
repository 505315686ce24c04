/* Splits a period of a device's time by the groups of operations that ran in it. Each figure is the length of a union
 * of intervals, in whole ns.
 *
 * At a time `now`, the reach of a group is the latest end of its operations that have begun. Until the next operation
 * begins, the group runs exactly in the interval [now, reach). A sweep over the operations in order of their start
 * times keeps the reach of each group, and adds the time between two successive starts as one slice.
 */
#ifndef WALLSHIM_ANALYSIS_ACTIVITY_SPLIT_H
#define WALLSHIM_ANALYSIS_ACTIVITY_SPLIT_H

#include <stdint.h>

#include "base/minmax.h"

enum ws_group { WS_GROUP_COMPUTE, WS_GROUP_COMM, WS_GROUP_MEMORY, WS_GROUP_COUNT };

struct ws_split {
    int64_t busy;
    int64_t group[WS_GROUP_COUNT];
    int64_t comm_overlap;   /* ns in which communication and compute ran */
    int64_t exposed_comm;   /* ns in which communication ran, but no compute */
    int64_t exposed_memory; /* ns in which copies or memsets ran, but neither compute nor communication */
};

/* By group: the latest end of the operations that have begun; ns, host clock. */
struct ws_reach {
    int64_t group[WS_GROUP_COUNT];
};

static inline struct ws_reach ws_reach_from(int64_t begin)
{
    return (struct ws_reach){ { begin, begin, begin } };
}

/* Returns the ns between `now` and `next` in which the group runs. No operation may begin between `now` and
 * `next`. */
static inline int64_t ws_reach_within(const struct ws_reach *reach, enum ws_group group, int64_t now, int64_t next)
{
    return ws_max(ws_min(reach->group[group], next) - now, 0);
}

/* Adds the time from `now` to `next` to `split`. No operation may begin between `now` and `next`. */
static inline void ws_split_slice(struct ws_split *split, const struct ws_reach *reach, int64_t now, int64_t next)
{
    int64_t compute = ws_reach_within(reach, WS_GROUP_COMPUTE, now, next);
    if (reach->group[WS_GROUP_COMM] <= now && reach->group[WS_GROUP_MEMORY] <= now) {
        /* Usually, only kernels of the group WS_GROUP_COMPUTE run. For them, this shortcut takes a fifth of the time
         * that the code below takes. */
        split->busy += compute;
        split->group[WS_GROUP_COMPUTE] += compute;
        return;
    }
    int64_t comm = ws_reach_within(reach, WS_GROUP_COMM, now, next);
    int64_t memory = ws_reach_within(reach, WS_GROUP_MEMORY, now, next);
    int64_t both = ws_max(compute, comm);
    split->busy += ws_max(both, memory);
    split->group[WS_GROUP_COMPUTE] += compute;
    split->group[WS_GROUP_COMM] += comm;
    split->group[WS_GROUP_MEMORY] += memory;
    split->comm_overlap += ws_min(compute, comm);
    split->exposed_comm += both - compute;
    split->exposed_memory += ws_max(memory - both, 0);
}

#endif
