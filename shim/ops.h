/* Operations on their way through a wrapper: described before the real call, timed around it, put into
 * the thread's ring after it. This is the hot path. */
#ifndef WALLSHIM_SHIM_OPS_H
#define WALLSHIM_SHIM_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "resolve.h"
#include "shim.h"
#include "streams.h"
#include "thread.h"
#include "ticks.h"

/* One intercepted call, from its entry to its return. */
struct call {
    enum ws_function_id id;
    bool per_thread;            /* a null stream is the thread's own */
    struct shim_thread *thread; /* NULL: not recorded */
    int32_t result;
    uint64_t ticks_begin, ticks_end;
    /* If it is an operation: */
    struct shape_entry *shape; /* NULL: it is not, or there was no room to name it */
    uint64_t bytes;
    uint16_t flags;  /* enum ws_op_flags */
    uint8_t inner;   /* enum ws_ring_op_inner */
    bool timed;      /* marks are recorded */
    uint32_t begin_mark;
    uint32_t copies_before;
    uint64_t order;  /* of the stream, when the call entered it */
    uint64_t nccl_before; /* the thread's correlation when an NCCL call began */
};

/* Functions whose effects must be followed even while nothing is recorded. */
static inline bool call_always_noted(enum ws_call_family family)
{
    return family == WS_CALL_MEMORY || family == WS_CALL_CAPTURE || family == WS_CALL_GRAPH ||
           family == WS_CALL_MODULE || family == WS_CALL_LIFETIME || family == WS_CALL_PROFILER ||
           family == WS_CALL_RESOLUTION || family == WS_CALL_NCCL;
}

static inline bool call_enter(struct call *call, enum ws_function_id id, bool per_thread, enum ws_call_family family)
{
    struct shim_thread *thread = thread_if_known();
    if (!call_always_noted(family)) {
        if (!shim_recording()) {
            if (thread && shim_phase())
                __atomic_store_n(&thread->passed, thread->passed + 1, __ATOMIC_RELAXED);
            return false;
        }
        if (__builtin_expect(!thread, 0))
            thread = thread_get();
        if (!thread)
            return false;
    }
    if (thread && thread->depth)
        return false;
    if (thread && family != WS_CALL_NCCL) /* NCCL's launches are the program's as well */
        thread->depth = 1;
    *call = (struct call){ .id = id, .per_thread = per_thread, .thread = thread };
    return true;
}

static inline void call_leave(struct call *call)
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

static inline uint64_t shape_hash(const struct shape_key *key)
{
    uint64_t hash = key->object ^ key->call << 17;
    hash = (hash ^ key->stream) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ key->grid_xy ^ key->block_yz << 20) * 0xff51afd7ed558ccdu;
    return (hash ^ key->grid_z_block_x ^ key->shared << 7) * 0x9e3779b97f4a7c15u;
}

static inline bool shape_key_equal(const struct shape_key *a, const struct shape_key *b)
{
    return !((a->object ^ b->object) | (a->stream ^ b->stream) | (a->grid_xy ^ b->grid_xy) |
             (a->grid_z_block_x ^ b->grid_z_block_x) | (a->block_yz ^ b->block_yz) | (a->call ^ b->call) |
             (a->shared ^ b->shared));
}

/* Where the key belongs in the thread's cache. */
static inline struct shape_entry *shape_slot(struct shim_thread *thread, const struct shape_key *key)
{
    return &thread->shapes[shape_hash(key) >> 54 & (SHAPE_CACHE - 1)];
}

/* The part of the key that names the call, its copy spaces, and which stream a null one is. */
static inline uint64_t shape_call(const struct call *call, ws_CUstream stream, uint32_t spaces, uint32_t handles)
{
    uint64_t key = (uint64_t)call->id | (uint64_t)spaces << 16 | (uint64_t)call->per_thread << 31;
    if (__builtin_expect((uintptr_t)stream <= 2, 0)) {
        struct shim_context *context = op_context(call->thread, handles);
        key |= (uint64_t)(context ? context->id : 0) << 32;
    }
    return key;
}

/* Puts the finished operation into the ring. */
static inline void op_finish(struct call *call)
{
    struct shim_thread *thread = call->thread;
    uint32_t end_mark = __builtin_expect(call->timed, 0) ? op_mark_end(call) : 0;
    struct ws_ring_op *record = ws_ring_reserve(&thread->ring, 1);
    thread->correlation++;
    if (__builtin_expect(!record, 0)) {
        mark_release(&call->shape->stream->context->pool, call->begin_mark);
        mark_release(&call->shape->stream->context->pool, end_mark);
        return;
    }
    record->header = (struct ws_ring_header){
        .kind = WS_RING_OP,
        .slots = 1,
        .detail = (uint16_t)(call->flags | (thread->nccl_depth ? WS_OP_IN_COLLECTIVE : 0)),
        .shape = call->shape->shape,
    };
    record->ticks_begin = call->ticks_begin;
    record->ticks_end = call->ticks_end;
    record->correlation = thread->correlation;
    record->bytes = call->bytes;
    record->stream = call->shape->stream->id;
    record->result = call->result;
    record->begin_mark = call->begin_mark;
    record->end_mark = end_mark;
    record->copies_before = call->copies_before;
    record->inner = call->inner;
    ws_ring_commit(&thread->ring, 1);
}

#endif
