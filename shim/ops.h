/* Operations on their way through a wrapper: described before the real call, timed around it, put into
 * the thread's ring after it. This is the hot path. */
#ifndef WALLSHIM_SHIM_OPS_H
#define WALLSHIM_SHIM_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "drain.h"
#include "resolve.h"
#include "shim.h"
#include "streams.h"
#include "thread.h"
#include "ticks.h"

/* One intercepted call, from its entry to its return. */
struct call {
    enum ws_function_id id;
    bool per_thread;            /* a null stream is the thread's own */
    uint32_t phase;             /* enum shim_phase, at entry */
    struct shim_thread *thread; /* NULL: not recorded */
    int32_t result;
    uint64_t ticks_begin, ticks_end;
    struct shape_entry *shape; /* of an operation; NULL: it is none, or there was no room for it */
    struct ws_ring_op *record; /* its place in the ring, filled on the way and committed at the end */
    uint16_t flags;            /* enum ws_op_flags */
    bool timed;                /* marks are recorded */
    bool has_turn;             /* of the stream */
    uint64_t order;            /* of the stream, when the call entered it */
    uint64_t nccl_before;      /* for NCCL calls: the thread's correlation when it began */
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

HOT bool call_enter(struct call *call, enum ws_function_id id, bool per_thread, enum ws_call_family family)
{
    uint32_t phase = shim_phase();
    struct shim_thread *thread = thread_of_phase(phase);
    if (!call_always_noted(family)) {
        if (__builtin_expect(!(phase & SHIM_RECORDING), 0)) {
            if (thread)
                __atomic_store_n(&thread->passed, thread->passed + 1, __ATOMIC_RELAXED);
            return false;
        }
        if (__builtin_expect(!thread, 0))
            thread = thread_get();
        if (!thread)
            return false;
    }
    if (family == WS_CALL_NCCL && !thread && phase & SHIM_RECORDING)
        thread = thread_get();
    if (thread && thread->depth)
        return false;
    if (thread && family != WS_CALL_NCCL) /* NCCL's launches are the program's as well */
        thread->depth = 1;
    /* The rest is set before it is read. */
    call->id = id;
    call->per_thread = per_thread;
    call->phase = phase;
    call->thread = thread;
    call->shape = NULL;
    call->flags = 0;
    call->timed = false;
    return true;
}

HOT void call_leave(struct call *call)
{
    if (call->thread)
        call->thread->depth = 0;
}

/* The thread's cache entry for the key, filled if need be; NULL where there is no room. */
struct shape_entry *op_shape_fill(struct call *call, const struct shape_key *key, struct ws_shape *shape,
                                  const void *object, ws_CUstream stream);

/* Current context, from the thread's cache when it holds. */
struct shim_context *op_context(struct shim_thread *thread, uint32_t handles);

/* The id of a shape made by others than launches (graph nodes), or 0. */
uint32_t op_shape_id(const struct ws_shape *shape);

/* Marks around the real call, where operations are timed. */
void op_mark_begin(struct call *call);
uint32_t op_mark_end(struct call *call);

/* Ends what dependent launches left without a mark, before the program waits for it. */
void op_end_held(struct shim_thread *thread, struct shim_stream *stream);

/* Kernels of one program differ in the function and the grid most of all. */
HOT struct shape_entry *shape_first(struct shim_thread *thread, const struct shape_key *key)
{
    uint64_t hash = (key->object ^ (uint64_t)key->grid_x << 32 ^ key->which) * 0x9e3779b97f4a7c15u;
    return &thread->shapes[hash >> 52 & (SHAPE_CACHE - 2)];
}

HOT bool shape_is(const struct shape_entry *entry, const struct shape_key *key, uint32_t handles)
{
    const struct shape_key *own = &entry->key;
    return own->object == key->object && own->stream == key->stream && own->grid_x == key->grid_x &&
           own->grid_y == key->grid_y && own->grid_z == key->grid_z && own->block_x == key->block_x &&
           own->block_y == key->block_y && own->block_z == key->block_z && own->shared == key->shared &&
           own->which == key->which && entry->handles == handles;
}

/* The thread's entry for the key, or NULL. Two places a key: few enough programs have so many kernels
 * in turn that three of them meet. */
HOT struct shape_entry *shape_find(struct shim_thread *thread, const struct shape_key *key, uint32_t handles)
{
    struct shape_entry *entry = shape_first(thread, key);
    if (__builtin_expect(shape_is(entry, key, handles), 1))
        return entry;
    entry++;
    return shape_is(entry, key, handles) ? entry : NULL;
}

/* Where a new entry for the key goes; the one that was there longer makes room. */
static inline struct shape_entry *shape_place(struct shim_thread *thread, const struct shape_key *key)
{
    struct shape_entry *entry = shape_first(thread, key);
    entry[1] = entry[0];
    return entry;
}

/* The call, the copy's spaces, and which stream a null one is: default streams are told apart by the
 * context that is current. */
HOT uint32_t shape_which(const struct call *call, ws_CUstream stream, uint32_t spaces, uint32_t handles)
{
    uint32_t which = (uint32_t)call->id << 9 | spaces << 1 | call->per_thread;
    if (__builtin_expect((uintptr_t)stream <= 2, 0)) {
        struct shim_context *context = op_context(call->thread, handles);
        which |= (context ? context->id : 0) << 18;
    }
    return which;
}
_Static_assert(WS_ID_COUNT <= 1 << 9 && WS_SPACE_COUNT <= 16, "each has its bits");

/* Do functions of this family put work into streams? */
HOT bool call_is_op(enum ws_call_family family)
{
    return family == WS_CALL_LAUNCH || family == WS_CALL_COPY || family == WS_CALL_MEMSET || family == WS_CALL_WORK;
}

/* How many operations pass between looks at how full the ring is. */
enum { WAKE_EVERY = 4096 };

/* The ring is full: the operation goes unrecorded. */
void op_lost(struct call *call);

/* The operation is described: takes its place in the ring, and marks its begin where it is timed. While a
 * stream captures, what goes into it is told apart without times too. */
HOT void op_ready(struct call *call, uint64_t bytes, uint32_t inner)
{
    struct ws_ring_op *record = ws_ring_reserve_one(&call->thread->ring);
    if (__builtin_expect(!record, 0)) {
        op_lost(call);
        return;
    }
    record->bytes = bytes;
    record->stream = call->shape->stream_id;
    record->begin_mark = record->end_mark = 0;
    record->copies_before = 0;
    record->inner = inner;
    call->record = record;
    if ((call->phase & SHIM_TIMING) ||
        __builtin_expect(atomic_load_explicit(&shim_page->captures, memory_order_relaxed) != 0, 0))
        op_mark_begin(call);
}

/* Commits the finished operation. */
HOT void op_finish(struct call *call)
{
    struct shim_thread *thread = call->thread;
    struct ws_ring_op *record = call->record;
    uint64_t correlation = ++thread->correlation;
    if (__builtin_expect(call->timed, 0))
        record->end_mark = op_mark_end(call);
    struct ws_ring_header header = call->shape->header;
    header.detail = (uint16_t)(call->flags | thread->nccl_flag);
    record->header = header;
    record->ticks_begin = call->ticks_begin;
    record->ticks_end = call->ticks_end;
    record->correlation = correlation;
    record->result = call->result;
    ws_ring_commit(&thread->ring, 1);
    if (__builtin_expect(!(correlation % WAKE_EVERY), 0))
        drain_wake();
}

#endif
