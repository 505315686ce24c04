/* How a stretch of a device's time is split: the lengths of unions of intervals, exact in ns.
 *
 * Operations come in order of their begin, so each union holds exactly [now, its reach) of the time up
 * to the next begin: a sweep keeps the reaches and adds a slice of time after the other.
 */
#ifndef WALLSHIM_ANALYSIS_SPLIT_H
#define WALLSHIM_ANALYSIS_SPLIT_H

#include <stdint.h>

#include "analysis/times.h"

enum ws_group { WS_GROUP_COMPUTE, WS_GROUP_COMM, WS_GROUP_MEMORY, WS_GROUP_COUNT };

struct ws_split {
    int64_t busy;
    int64_t group[WS_GROUP_COUNT];
    int64_t comm_overlap;   /* comm inside compute */
    int64_t exposed_comm;   /* comm outside compute */
    int64_t exposed_memory; /* memory outside compute and outside comm */
};

/* How far the operations that have begun run. */
struct ws_reach {
    int64_t all;
    int64_t group[WS_GROUP_COUNT];
};

static inline struct ws_reach ws_reach_from(int64_t begin)
{
    return (struct ws_reach){ begin, { begin, begin, begin } };
}

/* Adds the time from now until next, in which no operation begins. */
static inline void ws_split_slice(struct ws_split *split, const struct ws_reach *reach, int64_t now, int64_t next)
{
    int64_t compute = ws_least(reach->group[WS_GROUP_COMPUTE], next);
    if (reach->group[WS_GROUP_COMM] <= now && reach->group[WS_GROUP_MEMORY] <= now) {
        /* Mostly nothing but kernels runs, and that takes a fifth of the time to say. */
        split->busy += ws_most(compute - now, 0);
        split->group[WS_GROUP_COMPUTE] += ws_most(compute - now, 0);
        return;
    }
    int64_t comm = ws_least(reach->group[WS_GROUP_COMM], next);
    int64_t memory = ws_least(reach->group[WS_GROUP_MEMORY], next);
    split->busy += ws_most(ws_least(reach->all, next) - now, 0);
    split->group[WS_GROUP_COMPUTE] += ws_most(compute - now, 0);
    split->group[WS_GROUP_COMM] += ws_most(comm - now, 0);
    split->group[WS_GROUP_MEMORY] += ws_most(memory - now, 0);
    split->comm_overlap += ws_most(ws_least(compute, comm) - now, 0);
    split->exposed_comm += ws_most(comm - ws_most(compute, now), 0);
    split->exposed_memory += ws_most(memory - ws_most(ws_most(compute, comm), now), 0);
}

#endif
