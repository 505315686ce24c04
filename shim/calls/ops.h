/* What wrappers do for operations (launches, copies, memsets …). A wrapper describes the operation before the real
 * call, may time it by events around the call, and commits its record to the thread's ring after the call. Every
 * launch runs the functions marked HOT, so they are short. */
#ifndef WALLSHIM_SHIM_CALLS_OPS_H
#define WALLSHIM_SHIM_CALLS_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/calls/call.h"
#include "shim/calls/frames.h"
#include "shim/calls/shape_cache.h"
#include "shim/hook/resolve.h"
#include "shim/objects/streams.h"
#include "shim/objects/thread.h"
#include "shim/state/phase.h"
#include "shim/timing/ticks.h"

/* Called in the rare case that the thread seems to be in a wrapped call already: did that older call make the new
 * call? If not, the older call was left by longjmp or an exception, and this function calls op_give_up for it. */
bool call_is_made_within(struct shim_thread *thread, uintptr_t caller, const void *from);

/* Did the thread's NCCL call make the new call? False if the thread is in no NCCL call. */
bool call_is_in_nccl(struct shim_thread *thread, uintptr_t caller, const void *from);

/* Is this call made inside another wrapped call of the thread? */
HOT bool call_is_nested(struct shim_thread *thread)
{
    return __builtin_expect(thread->within != 0, 0) &&
           call_is_made_within(thread, (uintptr_t)__builtin_dwarf_cfa(), __builtin_return_address(0));
}

/* Does the wrapper note the effects of a nested call? True if the program makes the nested call, and the call creates
 * or destroys an object (a context, a capture, memory …): if the shim did not know of the object, later records would
 * be wrong. False if the driver or a library makes the nested call. */
HOT bool call_is_followed(enum ws_call_family family, const void *from)
{
    return call_always_noted(family) && family != WS_CALL_NCCL && !resolve_is_inside(from);
}

/* Returns true if the wrapper is to note the call. Otherwise the wrapper only passes the call on to the driver, for
 * example if the driver itself made the call. Fields of *call that are not set here are set before they are read. */
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
                __atomic_fetch_add(&thread->passed, 1, __ATOMIC_RELAXED); /* atomic: signal handlers may count, too */
            else if (phase & SHIM_STARTED)
                threads_pass_unknown();
            return false;
        }
    }
    bool nested = thread && call_is_nested(thread);
    if (nested ? !call_is_followed(family, __builtin_return_address(0)) : !thread && !call_always_noted(family))
        return false;
    if (nested)
        thread = NULL;
    if (thread && family != WS_CALL_NCCL) /* calls that NCCL makes are recorded: they do not count as nested */
        frame_begin(thread, &thread->within, frame);
    call->id = id;
    call->per_thread = per_thread;
    call->phase = phase;
    call->thread = thread;
    call->record = NULL;
    if (!call_is_op(family)) {
        call->nested = nested;
        call->prepared = NULL;
    }
    return true;
}

HOT void call_leave(struct call *call)
{
    if (call->thread)
        call->thread->within = 0;
}

/* Called before the operation's real call, unless the shim only writes records (SHIM_PLAIN). Records the begin event
 * if operations are timed. May also start to read hardware counters. Finds out whether the stream is being captured.
 * Reads the clock if the processor has no reliable tick counter. */
void op_begin_slowly(struct shim_thread *thread, struct ws_ring_op *record, struct shape_entry *shape,
                     uint32_t phase);

/* Called after the operation's real call, if op_needs_slow_end has marked the operation. Records the operation's end
 * event. Reads hardware counters and records the launch's parameters, if this was decided when the operation began.
 * Then commits the operation's record. */
void op_end_slowly(struct shim_thread *thread, struct ws_ring_op *record);

/* Marks the thread's current operation, so that op_end_slowly is called when the operation's real call returns. */
void op_needs_slow_end(struct shim_thread *thread);

/* Called when the thread's current call will never return: the call was left by longjmp or an exception, or the
 * thread has ended. Gives back the call's events and its turn (turns.h), and opens its gate (timing/gates.h). */
void op_give_up(struct shim_thread *thread);

/* Like op_give_up, for a thread that makes no more calls. Also gives back the last events of the thread's own default
 * streams. */
void op_thread_ends(struct shim_thread *thread);

/* Called before the program waits for the stream. If operations of the stream still lack an end event (programmatic
 * dependent launches), records one event that ends all of them. */
void op_end_held(struct shim_thread *thread, struct shim_stream *stream);

/* Called if the ring has no room for the operation's record: the operation is not recorded. */
void op_lost(struct shim_thread *thread, const struct shape_entry *shape);

/* Called when the operation's shape is known: reserves a record in the ring and begins the operation. */
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
    record->begin_event = record->end_event = 0;
    record->copies_before = 0;
    record->inner = 0;
    call->record = record;
    ws_clock_store_ticks(&record->ticks_begin);
    if (__builtin_expect(call->phase != SHIM_PLAIN, 0))
        op_begin_slowly(thread, record, shape, call->phase);
}

/* Called when the operation's real call has returned: commits its record. */
HOT void op_returned(struct call *call)
{
    struct shim_thread *thread = call->thread;
    struct ws_ring_op *record = call->record;
    record->result = call->result;
    ws_clock_store_ticks(&record->ticks_end);
    if (__builtin_expect(thread->slow, 0))
        op_end_slowly(thread, record);
    else
        ws_ring_commit(&thread->ring, 1);
    ws_ring_prefetch_behind(record);
}

/* For calls that are not operations, call_begins and call_returned read the clock right before and right after the
 * real call. For operations, op_ready and op_returned read the clock, and call_returned only calls op_returned. */
HOT void call_begins(struct call *call, enum ws_call_family family)
{
    if (!call_is_op(family))
        call->ticks_begin = ticks_now();
}

HOT void call_returned(struct call *call, enum ws_call_family family)
{
    if (!call_is_op(family)) {
        call->ticks_end = ticks_now();
        if (__builtin_expect(!shim_started(), 0)) /* this is a child that a signal handler forked during the call */
            call->thread = NULL;
    } else if (call->record) {
        op_returned(call);
    }
}

#endif
