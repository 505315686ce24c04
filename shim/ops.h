/* Operations on their way through a wrapper: described before the real call, timed around it, put into
 * the thread's ring after it. This is the hot path. */
#ifndef WALLSHIM_SHIM_OPS_H
#define WALLSHIM_SHIM_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "drain.h"
#include "frames.h"
#include "resolve.h"
#include "shim.h"
#include "streams.h"
#include "thread.h"
#include "ticks.h"

/* One intercepted call, from its entry to its return. No function gets to know where it is on a launch's
 * way, so that there it is never in memory. */
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

/* The parts of every launch's way that are worth a copy in each wrapper. */
#define HOT static inline __attribute__((always_inline))

/* Functions whose effects must be followed even while nothing is recorded. */
HOT bool call_always_noted(enum ws_call_family family)
{
    return family == WS_CALL_MEMORY || family == WS_CALL_CAPTURE || family == WS_CALL_GRAPH ||
           family == WS_CALL_MODULE || family == WS_CALL_LIFETIME || family == WS_CALL_PROFILER ||
           family == WS_CALL_RESOLUTION || family == WS_CALL_NCCL;
}

/* For the rare thread that seems to be in a call already. Does that call make this one? Not if it was left by a jump
 * or an exception: then it will never return, and is given up. */
bool call_is_made_within(struct shim_thread *thread, uintptr_t caller, const void *from);

/* The same of the call of NCCL under way, if there is one. */
bool call_is_in_nccl(struct shim_thread *thread, uintptr_t caller, const void *from);

/* A call that is not recorded now, of a thread that has no state yet. */
void call_passes_unknown(void);
uint64_t calls_passed_unknown(void);

/* Is this call made by the wrapped call under way? */
HOT bool call_is_nested(struct shim_thread *thread)
{
    return __builtin_expect(thread->within != 0, 0) &&
           call_is_made_within(thread, (uintptr_t)__builtin_dwarf_cfa(), __builtin_return_address(0));
}

/* Do functions of this family put work into streams? */
HOT bool call_is_op(enum ws_call_family family)
{
    return family == WS_CALL_LAUNCH || family == WS_CALL_COPY || family == WS_CALL_MEMSET || family == WS_CALL_WORK;
}

/* Of calls made within others: what ends there or begins would make what is recorded later wrong. */
HOT bool call_is_followed(enum ws_call_family family, const void *from)
{
    return call_always_noted(family) && family != WS_CALL_NCCL && !resolve_is_inside(from);
}

/* Is the call to be noted? All others, those the driver itself makes among them, go on as they came. What is
 * not set here is set before it is read. */
HOT bool call_enter(struct call *call, uintptr_t *frame, enum ws_function_id id, bool per_thread,
                    enum ws_call_family family)
{
    uint32_t phase = shim_phase();
    struct shim_thread *thread = NULL;
    if (__builtin_expect(phase & SHIM_RECORDING, SHIM_RECORDING)) {
        thread = thread_self.thread;
        if (__builtin_expect(!thread, 0) && (!call_always_noted(family) || family == WS_CALL_NCCL))
            thread = thread_get();
    } else {
        thread = thread_of_phase(phase);
        if (!call_always_noted(family)) {
            if (thread)
                __atomic_fetch_add(&thread->passed, 1, __ATOMIC_RELAXED); /* a handler may count too */
            else if (phase & SHIM_STARTED)
                call_passes_unknown();
            return false;
        }
    }
    bool nested = thread && call_is_nested(thread);
    if (nested ? !call_is_followed(family, __builtin_return_address(0)) : !thread && !call_always_noted(family))
        return false;
    if (nested)
        thread = NULL;
    if (thread && family != WS_CALL_NCCL) /* NCCL's launches are the program's as well */
        frame_begin(thread, &thread->within, frame);
    call->id = id;
    call->per_thread = per_thread;
    call->phase = phase;
    call->thread = thread;
    call->record = NULL;
    if (!call_is_op(family))
        call->nested = nested;
    return true;
}

HOT void call_leave(struct call *call)
{
    if (call->thread)
        call->thread->within = 0;
}

/* A new entry of the thread's cache for the key; the row says the rest of what is static about the
 * operation. NULL where there is no room. */
struct shape_entry *op_shape_fill(struct shim_thread *thread, const struct shape_key *key, struct ws_shape *row);

/* Current context, from the thread's cache when it holds. */
struct shim_context *op_context(struct shim_thread *thread, uint32_t handles);

/* This one is current from now on; NULL: which one is not known. */
void op_set_context(struct shim_thread *thread, struct shim_context *context, uint32_t handles);

/* The id of a shape made by others than launches (graph nodes), or 0. */
uint32_t op_shape_id(const struct ws_shape *shape);

/* What is to be done around the real call in any phase but SHIM_PLAIN: marks, where operations are timed; while a
 * stream captures, what goes into it is told apart without times too; times where there is no counter. */
void op_begin_slowly(struct shim_thread *thread, struct ws_ring_op *record, struct shape_entry *shape,
                     uint32_t phase);

/* The same when it has returned. Commits its record. */
void op_end_slowly(struct shim_thread *thread, struct ws_ring_op *record);

/* There is more to be done than that when the operation returns that is described now. */
void op_ends_slowly(struct shim_thread *thread);

/* A wait for an event goes into these streams, and has gone: operations that other threads put in meanwhile may begin
 * later than the marks before them, and say so. */
void op_wait_enters(struct shim_thread *thread, uint32_t first_stream, uint32_t count);
void op_wait_entered(struct shim_thread *thread);

/* The call under way will not return: it was left by a jump, or its thread has ended. What it holds is given back. */
void op_give_up(struct shim_thread *thread);

/* Ends what dependent launches left without a mark, before the program waits for it. */
void op_end_held(struct shim_thread *thread, struct shim_stream *stream);

/* The two places where the thread may have an entry: few enough programs have so many kernels in turn that
 * three of them meet. Kernels of one program differ in the function and the grid most of all. */
HOT struct shape_entry *shape_places(struct shim_thread *thread, const struct shape_key *key)
{
    uint32_t hash = (uint32_t)key->object * 0x9e3779b1u + key->grid_x * 0x85ebca6bu;
    size_t offset = hash / (UINT32_MAX / SHAPE_CACHE + 1) / 2 * (2 * sizeof(struct shape_entry));
    return (struct shape_entry *)((char *)thread->shapes + offset);
}

/* Neighbours are not compared one after the other: GCC would make one comparison of two, for which it builds
 * the key in memory. */
HOT bool shape_is(const struct shape_entry *entry, const struct shape_key *key, uint32_t handles)
{
    const struct shape_key *own = &entry->key;
    return own->object == key->object && own->grid_x == key->grid_x && own->stream == key->stream &&
           own->block_x == key->block_x && own->grid_y == key->grid_y && own->block_y == key->block_y &&
           own->grid_z == key->grid_z && own->which == key->which && own->block_z == key->block_z &&
           entry->handles == handles && own->shared == key->shared;
}

/* The thread's entry for the key, or NULL. */
HOT struct shape_entry *shape_find(struct shim_thread *thread, const struct shape_key *key, uint32_t handles)
{
    struct shape_entry *entry = shape_places(thread, key);
    if (__builtin_expect(shape_is(entry, key, handles), 1))
        return entry;
    entry++;
    return shape_is(entry, key, handles) ? entry : NULL;
}

enum { SHAPE_CONTEXT_BIT = 18 };

/* The call, the copy's spaces, and which stream a null one is: default streams are told apart by the
 * context that is current. */
HOT uint32_t shape_which(const struct call *call, ws_CUstream stream, uint32_t spaces, uint32_t handles)
{
    uint32_t which = (uint32_t)call->id << 9 | spaces << 1 | call->per_thread;
    if ((uintptr_t)stream <= 2) {
        if (__builtin_expect(call->thread->handles != handles, 0))
            op_context(call->thread, handles);
        which |= call->thread->context_bits;
    }
    return which;
}
_Static_assert(WS_ID_COUNT <= 1 << 9 && WS_SPACE_COUNT <= 16, "each has its bits");

/* The ring is full: the operation goes unrecorded. */
void op_lost(struct shim_thread *thread, const struct shape_entry *shape);

/* The operation is described: takes its place in the ring, and begins. */
HOT void op_ready(struct call *call, struct shape_entry *shape, uint64_t bytes, uint32_t flags)
{
    struct shim_thread *thread = call->thread;
    struct ws_ring_op *record = ws_ring_reserve_one(&thread->ring);
    if (__builtin_expect(!record, 0)) {
        op_lost(thread, shape);
        return;
    }
    record->header = thread->op_header;
    record->header.detail |= (uint16_t)flags;
    record->header.shape = shape->shape;
    record->correlation = ++thread->correlation;
    record->bytes = bytes;
    record->stream = shape->stream_id;
    record->begin_mark = record->end_mark = 0;
    record->copies_before = 0;
    record->inner = 0;
    call->record = record;
    record->ticks_begin = ws_clock_ticks();
    if (__builtin_expect(call->phase != SHIM_PLAIN, 0))
        op_begin_slowly(thread, record, shape, call->phase);
}

/* The operation's call has returned: commits it. */
HOT void op_returned(struct call *call)
{
    struct shim_thread *thread = call->thread;
    struct ws_ring_op *record = call->record;
    record->result = call->result;
    record->ticks_end = ws_clock_ticks();
    if (__builtin_expect(thread->slow, 0))
        op_end_slowly(thread, record);
    else
        ws_ring_commit(&thread->ring, 1);
}

/* Around the real call; an operation has begun when it was described. */
HOT void call_begins(struct call *call, enum ws_call_family family)
{
    if (!call_is_op(family))
        call->ticks_begin = ticks_now();
}

HOT void call_returned(struct call *call, enum ws_call_family family)
{
    if (!call_is_op(family)) {
        call->ticks_end = ticks_now();
        if (__builtin_expect(!shim_started(), 0)) /* in a child that a handler forked meanwhile */
            call->thread = NULL;
    } else if (call->record) {
        op_returned(call);
    }
}

#endif
