/* A call of a wrapped function, and what its family says of it. */
#ifndef WALLSHIM_SHIM_CALLS_CALL_H
#define WALLSHIM_SHIM_CALLS_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"
#include "record/ring_records.h"
#include "shim/hook/resolve.h"
#include "shim/objects/thread.h"

/* One intercepted call, from its entry to its return. On a launch's way no function takes its address, so that it is
 * never in memory. */
struct call {
    enum ws_function_id id;
    bool per_thread;            /* a null stream is the thread's own */
    bool nested;                /* made within another one, by a handler: no record, but its effects are followed */
    uint32_t phase;             /* enum shim_phase, at entry */
    struct shim_thread *thread; /* NULL: not recorded */
    struct ws_ring_op *record;  /* of an operation: its place in the ring, filled on the way; NULL: it has none */
    int32_t result;
    uint64_t ticks_begin, ticks_end; /* of all but operations */
    uint64_t nccl_before;            /* for NCCL calls: the thread's correlation when it began */
};

/* For functions on every launch's way, which are worth a copy in each wrapper. */
#define HOT static inline __attribute__((always_inline))

/* Sets of families, a bit each. */
#define CALL_FAMILY(family) (1u << WS_CALL_##family)
enum {
    /* Functions whose effects must be followed even while nothing is recorded. */
    CALLS_ALWAYS_NOTED = CALL_FAMILY(MEMORY) | CALL_FAMILY(CAPTURE) | CALL_FAMILY(GRAPH) | CALL_FAMILY(MODULE) |
                         CALL_FAMILY(LIFETIME) | CALL_FAMILY(PROFILER) | CALL_FAMILY(RESOLUTION) | CALL_FAMILY(NCCL),
    /* Functions that put work into streams. */
    CALLS_OF_OPS = CALL_FAMILY(LAUNCH) | CALL_FAMILY(COPY) | CALL_FAMILY(MEMSET) | CALL_FAMILY(WORK),
};

HOT bool call_always_noted(enum ws_call_family family)
{
    return CALLS_ALWAYS_NOTED >> family & 1;
}

HOT bool call_is_op(enum ws_call_family family)
{
    return CALLS_OF_OPS >> family & 1;
}

/* The thread that makes the call, to look things up by, not to record; NULL where it has no state. */
static inline struct shim_thread *call_thread(const struct call *call)
{
    return call->nested ? thread_if_known() : call->thread;
}

#endif
