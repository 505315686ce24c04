/* An intercepted call, and what the family of its function decides. */
#ifndef WALLSHIM_SHIM_CALLS_CALL_H
#define WALLSHIM_SHIM_CALLS_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"
#include "record/ring_records.h"
#include "shim/hook/resolve.h"
#include "shim/objects/thread.h"

/* One intercepted call, from its entry to its return. On the hot path no function takes the structure's address, so
 * that the compiler keeps it in registers. */
struct call {
    enum ws_function_id id;
    bool per_thread; /* a NULL stream means the thread's own default stream */
    bool nested;     /* made by a signal handler within another call: not recorded, but its effects are followed */
    uint32_t phase;  /* enum shim_phase, at entry */
    struct shim_thread *thread; /* NULL: the call is not recorded */
    struct ws_ring_op *record;  /* of an operation: its record in the ring, not committed yet; NULL: it has none */
    int32_t result;
    uint64_t ticks_begin, ticks_end; /* for all calls but operations */
    uint64_t nccl_before;            /* for NCCL calls: the thread's correlation when it began */
};

/* For functions that every launch runs through: worth a copy in each wrapper. */
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
