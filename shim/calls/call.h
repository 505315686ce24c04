/* An intercepted call, and sets of function families: the family of a call's function decides how the call is
 * handled. */
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
    bool per_thread; /* to the called function, a NULL stream means the thread's own default stream */
    bool nested; /* made inside another wrapped call, by a signal handler: the shim notes its effects, but writes no
                    record */
    uint32_t phase;             /* what the shim recorded when the call began: bits of enum shim_phase */
    struct shim_thread *thread; /* NULL: the call is not recorded */
    struct ws_ring_op *record;  /* the operation's record in the ring, not committed yet; NULL: there is no record */
    int32_t result;
    /* The record of a call that waits for the device, prepared before the wait and not committed yet; or NULL. */
    struct ws_ring_call *prepared;
    uint64_t ticks_begin, ticks_end; /* begin and end of a call that is not an operation (launch, copy, memset …) */
    uint64_t nccl_before; /* for NCCL calls: the thread's last correlation id (number of a call) at entry */
};

/* Put before functions that every launch executes, so that they are inlined into each wrapper. */
#define HOT static inline __attribute__((always_inline))

/* Sets of families of functions, one bit per family. */
#define CALL_FAMILY(family) (1u << WS_CALL_##family)
enum {
    /* Functions whose effects the shim must note even while nothing is recorded. */
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

/* The state of the thread that makes the call, or NULL if the thread has no state. Use this state for look-ups only:
 * during a nested call (a call inside another wrapped call), the state describes the outer call. */
static inline struct shim_thread *call_thread(const struct call *call)
{
    return call->nested ? thread_if_known() : call->thread;
}

#endif
