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
    int64_t group[WS_GROUP_COUNT];
};

static inline struct ws_reach ws_reach_from(int64_t begin)
{
    return (struct ws_reach){ { begin, begin, begin } };
}

/* How much of the time from now until next, in which no operation begins, those of a group run. */
static inline int64_t ws_reach_within(const struct ws_reach *reach, enum ws_group group, int64_t now, int64_t next)
{
    return ws_most(ws_least(reach->group[group], next) - now, 0);
}

/* Adds that time. */
static inline void ws_split_slice(struct ws_split *split, const struct ws_reach *reach, int64_t now, int64_t next)
{
    int64_t compute = ws_reach_within(reach, WS_GROUP_COMPUTE, now, next);
    if (reach->group[WS_GROUP_COMM] <= now && reach->group[WS_GROUP_MEMORY] <= now) {
        /* Mostly nothing but kernels runs, and that takes a fifth of the time to say. */
        split->busy += compute;
        split->group[WS_GROUP_COMPUTE] += compute;
        return;
    }
    int64_t comm = ws_reach_within(reach, WS_GROUP_COMM, now, next);
    int64_t memory = ws_reach_within(reach, WS_GROUP_MEMORY, now, next);
    int64_t both = ws_most(compute, comm);
    split->busy += ws_most(both, memory);
    split->group[WS_GROUP_COMPUTE] += compute;
    split->group[WS_GROUP_COMM] += comm;
    split->group[WS_GROUP_MEMORY] += memory;
    split->comm_overlap += ws_least(compute, comm);
    split->exposed_comm += both - compute;
    split->exposed_memory += ws_most(memory - both, 0);
}

#endif
