#include "shim/calls/ops.h"

#include <string.h>

#include "shim/calls/measure.h"
#include "shim/calls/params.h"
#include "shim/calls/turns.h"
#include "shim/counters/counters.h"
#include "shim/hook/driver_calls.h"
#include "shim/objects/captures.h"
#include "shim/stacks/stacks.h"
#include "shim/state/lock.h"
#include "shim/state/registry.h"
#include "shim/state/wake.h"
#include "shim/timing/activity.h"
#include "shim/timing/gates.h"

/* Applies to --event-placement shared and pairs. A programmatic dependent launch (whose kernel may overlap the kernel
 * before it) gets no end event, because an event between two such kernels would keep them from overlapping. The next
 * HOLD_AFTER_DEPENDENT operations of its stream get no end event either. */
enum { HOLD_AFTER_DEPENDENT = 256 };

/* Clears *held, and returns the event that was in it. *held is a field of the thread's state. If a signal handler
 * leaves the call by longjmp, op_give_up releases the event in this field. The caller releases the event, or passes
 * it on, after this function has cleared the field. So a longjmp after the field was cleared can only lose the event,
 * and never release it twice. */
static uint32_t no_longer(uint32_t *held)
{
    uint32_t event = *held;
    *held = 0;
    atomic_signal_fence(memory_order_seq_cst);
    return event;
}

/* May an event be recorded into this stream now? While any stream is being captured, the driver is asked whether this
 * stream is being captured. During a capture no event is recorded into the legacy stream, because any use of the
 * legacy stream would break the capture. */
static bool may_record(struct shim_stream *stream, uint16_t *flags)
{
    if (__builtin_expect(!shim_captures(), 1))
        return true;
    ws_CUenum status = WS_CU_STREAM_CAPTURE_STATUS_NONE;
    if (stream->kind == WS_STREAM_LEGACY || !driver.stream_is_capturing ||
        driver.stream_is_capturing(stream->handle, &status) != WS_CUDA_SUCCESS)
        return false;
    if (status != WS_CU_STREAM_CAPTURE_STATUS_NONE)
        *flags |= WS_OP_CAPTURED;
    return status == WS_CU_STREAM_CAPTURE_STATUS_NONE;
}

/* The processor's floating-point exception flags belong to the program. In calls that the shim makes, the driver may
 * set some of these flags. So the flags are saved before such calls and restored after them. */
static uint64_t float_state(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr();
#else
    uint64_t state;
    __asm__ volatile("mrs %0, fpsr" : "=r"(state));
    return state;
#endif
}

static void restore_float_state(uint64_t state)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr((uint32_t)state);
#else
    __asm__ volatile("msr fpsr, %0" : : "r"(state));
#endif
}

/* Takes an event from the context's pool, sets its number of users, and records the event into the stream. Returns
 * the event's number, or 0 if no event was free or the driver refused. */
static uint32_t record_event(struct shim_stream *stream, uint8_t users, uint32_t *kept, uint16_t *flags)
{
    struct event_pool *pool = &stream->context->pool;
    uint32_t event = event_take(pool, users, kept);
    if (__builtin_expect(atomic_load_explicit(&pool->free_count, memory_order_relaxed) <
                             atomic_load_explicit(&pool->few, memory_order_relaxed),
                         0))
        wake_drain_soon();
    if (!event) {
        *flags |= WS_OP_POOL_DRY;
        return 0;
    }
    uint64_t floats = float_state();
    ws_CUresult result = driver.event_record(event_at(pool, event)->handle, stream->handle);
    restore_float_state(floats);
    if (result == WS_CUDA_SUCCESS)
        return event;
    no_longer(kept);
    while (users--)
        event_release(pool, event);
    return 0;
}

static bool is_sampled(void)
{
    return shim_options.event_placement == WS_EVENTS_SAMPLED;
}

static bool sample_due(struct shape_entry *shape)
{
    if (!shape->until_sample || --shape->until_sample)
        return false;
    shape->until_sample = (uint32_t)shim_options.sample;
    return true;
}

static void note_copy(struct shim_thread *thread, struct ws_ring_op *record, struct shim_stream *stream,
                      enum copy_direction direction)
{
    uint32_t all = atomic_fetch_add_explicit(&stream->context->copies[direction], 1, memory_order_relaxed);
    thread->copies_noted = 1;
    atomic_signal_fence(memory_order_seq_cst);
    uint32_t own = atomic_fetch_add_explicit(&stream->copies[direction], 1, memory_order_relaxed);
    thread->copies_noted = 2;
    atomic_signal_fence(memory_order_seq_cst);
    record->copies_before = all - own;
    record->inner |= WS_RING_OP_COUNTED;
    uint32_t all_done = atomic_load_explicit(&stream->context->copies_done[direction], memory_order_relaxed);
    uint32_t own_done = atomic_load_explicit(&stream->copies_done[direction], memory_order_relaxed);
    if (all - own != all_done - own_done)
        record->inner |= WS_RING_OP_ENGINE_BUSY;
}

static void held_no_more(struct shim_stream *stream)
{
    if (atomic_exchange(&stream->held, 0))
        atomic_fetch_sub(&streams_held, 1);
}

/* May a gate (timing/gates.h) stop the stream for a moment? Returns false if other streams may wait for this stream
 * by the rules of the legacy default stream, or while any stream is being captured. */
static bool may_hold(const struct shim_stream *stream)
{
    bool awaited = stream->blocking && legacy_order_matters(&stream->context->legacy_order);
    return !awaited && !shim_captures();
}

static void sampled_begin(struct shim_thread *thread, struct ws_ring_op *record, struct shape_entry *shape,
                          bool fresh)
{
    struct shim_stream *stream = shape->stream;
    uint16_t *flags = &record->header.detail;
    thread->measure = (uint8_t)measure_of_op(thread, record, shape, fresh);
    bool computed = shape->function || (thread->measure == MEASURE_NOTHING && shape->computable);
    *flags |= (computed ? WS_RING_OP_COMPUTED : 0) | (fresh ? WS_RING_OP_WAITED : 0);
    /* another thread may put work between a begin event and this operation */
    if (thread->measure == MEASURE_PAIR && shape->function && !fresh && turn_is_contended(thread))
        thread->measure = (uint8_t)measure_without_begin(thread, shape);
    if (thread->measure != MEASURE_PAIR)
        return;
    if (*flags & WS_RING_OP_COMPUTED && !fresh && !(*flags & WS_OP_IN_COLLECTIVE) && !measure_queue_is_full(thread) &&
        may_hold(stream)) {
        uint64_t floats = float_state();
        gate_close(stream->context, stream->handle, &thread->gate);
        restore_float_state(floats);
    }
    record_event(stream, 1, &thread->begin_event, flags);
    record->inner |= WS_RING_OP_OWN_BEGIN;
}

/* Opens the gate that holds the operation's stream (timing/gates.h). If `settle` is set, first waits until the
 * operation and its events have reached the device. Returns true if the gate was still closed when this function
 * opened it. */
static bool open_gate(struct shim_thread *thread, struct shim_stream *stream, bool settle)
{
    if (!thread->gate)
        return false;
    uint64_t ns = atomic_load_explicit(&stream->context->settle_ns, memory_order_relaxed);
    uint64_t until = ticks_now() + ticks_in(ns);
    while (settle && ticks_now() < until)
        ;
    bool held = gate_open(thread->gate);
    thread->gate = 0;
    return held;
}

static void time_begin(struct shim_thread *thread, struct ws_ring_op *record, struct shape_entry *shape,
                       uint32_t phase)
{
    struct shim_stream *stream = shape->stream;
    uint16_t *flags = &record->header.detail;
    /* may_record is called even when no device times are measured: it flags an operation that goes into a capture,
     * because such an operation does not run now. */
    bool allowed = may_record(stream, flags) && phase & SHIM_TIMING;
    if (!allowed || !stream->context->timed ||
        atomic_load_explicit(&stream->context->life, memory_order_relaxed) != CONTEXT_ALIVE) {
        /* The operation gets no event. So the stream's last event will not tell when the next operation may begin. */
        if (!(*flags & WS_OP_CAPTURED))
            atomic_store_explicit(&stream->fresh, 1, memory_order_release);
        return;
    }
    /* thread->timed is set before the thread takes the stream's turn or an event. So if the call is left by longjmp,
     * op_give_up knows in which stream and context to give them back. */
    thread->timed = stream;
    atomic_signal_fence(memory_order_seq_cst);
    turn_take(thread, stream, *flags & WS_OP_BLOCKING);
    const struct ws_shape *row = registry_row(&registry.shape, shape->shape);
    thread->direction = (uint8_t)copy_direction(row);
    if (thread->direction != COPY_DIRECTIONS)
        note_copy(thread, record, stream, copy_direction(row));

    bool fresh = stream_other_side_moved(stream);
    fresh |= atomic_exchange_explicit(&stream->fresh, 0, memory_order_acquire) != 0;
    if (is_sampled()) {
        sampled_begin(thread, record, shape, fresh);
        return;
    }
    bool sampled = sample_due(shape);
    if (*flags & WS_OP_DEPENDENT) {
        atomic_store_explicit(&stream->holding, HOLD_AFTER_DEPENDENT, memory_order_relaxed);
        thread->begin_event = atomic_exchange_explicit(&stream->last_event, 0, memory_order_acquire);
        return;
    }
    bool held = atomic_load_explicit(&stream->held, memory_order_relaxed) != 0;
    bool pair = shim_options.event_placement == WS_EVENTS_IN_PAIRS || row->kind == WS_OP_GRAPH || sampled || fresh ||
                held || turn_is_contended(thread);
    thread->begin_event = atomic_exchange_explicit(&stream->last_event, 0, memory_order_acquire);
    if (!pair && thread->begin_event)
        return;
    event_release(&stream->context->pool, no_longer(&thread->begin_event));
    if (held)
        held_no_more(stream);
    record_event(stream, 1, &thread->begin_event, flags);
    record->inner |= WS_RING_OP_OWN_BEGIN;
    if (sampled)
        *flags |= WS_OP_SAMPLED;
}

/* Stores in the record the ticks from the launch's return until its end event was recorded. If the thread was
 * preempted in between, the event may complete that much later than the operation. If a gate held the launch, stores
 * the ticks until the gate was opened. */
static void note_lateness(struct ws_ring_op *record)
{
    uint64_t late = ticks_now() - record->ticks_end;
    uint64_t most = WS_RING_OP_MOST_LATENESS;
    record->inner &= (1u << WS_RING_OP_LATENESS) - 1;
    record->inner |= (uint32_t)(late < most ? late : most) << WS_RING_OP_LATENESS;
}

/* Opens the gate that held the operation's stream, after the operation and its events have reached the device. */
static void end_gated(struct shim_thread *thread, struct shim_stream *stream, struct ws_ring_op *record)
{
    if (!thread->gate)
        return;
    if (open_gate(thread, stream, true)) {
        record->header.detail |= WS_RING_OP_GATED;
        note_lateness(record);
    } else { /* another thread, which belongs to the shim (timing/gates.c), has opened the gate, at an unknown time */
        record->header.detail |= WS_RING_OP_WAITED;
    }
}

static void time_end(struct shim_thread *thread, struct ws_ring_op *record)
{
    struct shim_stream *stream = thread->timed;
    uint16_t *flags = &record->header.detail;
    bool keep = shim_options.event_placement == WS_EVENTS_SHARED;
    uint32_t event = 0;
    if (record->result != WS_CUDA_SUCCESS) {
        /* The driver refused the call and put nothing into the stream: an event would time other work. */
        record->begin_event = 0;
        event_release(&stream->context->pool, no_longer(&thread->begin_event));
        open_gate(thread, stream, false);
        *flags &= (uint16_t)~WS_RING_OP_COMPUTED;
        atomic_store_explicit(&stream->fresh, 1, memory_order_release);
    } else if (is_sampled() && thread->measure == MEASURE_NOTHING) {
        /* No event: the drain thread will compute the times. */
    } else if (atomic_load_explicit(&stream->holding, memory_order_relaxed)) {
        if (!(*flags & WS_OP_DEPENDENT))
            atomic_fetch_sub_explicit(&stream->holding, 1, memory_order_relaxed);
        /* streams_held is incremented before stream->held: waiting_all skips all streams while streams_held is 0 */
        atomic_fetch_add(&streams_held, 1);
        if (atomic_fetch_add(&stream->held, 1))
            atomic_fetch_sub(&streams_held, 1);
        record->inner |= WS_RING_OP_HELD;
    } else {
        thread->end_users = keep ? 2 : 1;
        event = record_event(stream, thread->end_users, &thread->end_event, flags);
        note_lateness(record);
        end_gated(thread, stream, record);
    }
    if (turn_was_contended(thread, stream)) {
        if (*flags & WS_RING_OP_GATED) /* other threads' work may be between the operation's events */
            *flags ^= WS_RING_OP_GATED | WS_RING_OP_WAITED;
        *flags |= WS_OP_CONTENDED;
        if (!is_sampled()) /* last_event may time another thread's operation */
            atomic_store_explicit(&stream->fresh, 1, memory_order_release);
    }
    order_leave(thread, stream);
    if (event && keep) {
        thread->end_users = 1; /* the event's other user is the stream, which keeps it as last_event */
        atomic_signal_fence(memory_order_seq_cst);
        event_release(&stream->context->pool,
                      atomic_exchange_explicit(&stream->last_event, event, memory_order_acq_rel));
    }
    turn_leave(thread, stream);
    record->end_event = event;
}

/* Opens the launch's gate (timing/gates.h), gives back its turn in the stream (turns.h), and releases its events. If
 * the launch's record is already committed, its events are not released, because the drain thread will read them. */
static void give_back(struct shim_thread *thread, struct shim_stream *stream)
{
    struct event_pool *pool = &stream->context->pool;
    open_gate(thread, stream, false);
    if (ws_ring_head(&thread->ring) == thread->begun_at) {
        event_release(pool, thread->begin_event);
        while (thread->end_event && thread->end_users--)
            event_release(pool, thread->end_event);
        if (thread->copies_noted)
            stream_copy_left(stream, (enum copy_direction)thread->direction, thread->copies_noted == 2);
    }
    atomic_store_explicit(&stream->fresh, 1, memory_order_release);
    order_leave(thread, stream);
    turn_leave(thread, stream);
}

/* It is not known whether the abandoned call has put its operation into the stream. The operation's turn is given
 * back in any case, so that later operations do not wait for a call that never returns. Signals are blocked in this
 * function, because a signal handler could leave this function by longjmp, too. */
void op_give_up(struct shim_thread *thread)
{
    struct shim_quiet quiet;
    quiet_begin(&quiet);
    turn_wait_entered(thread);
    capture_is_left(thread, false);
    thread->due.wanted = false;
    if (thread->within) /* the abandoned call has no record, so it is counted as lost */
        __atomic_fetch_add(&thread->ring.nested, 1, __ATOMIC_RELAXED);
    thread->within = 0;
    if (thread->slow)
        counters_given_up(thread);
    if (thread->slow && thread->timed)
        give_back(thread, thread->timed);
    thread->slow = false;
    quiet_end(&quiet);
}

void op_thread_ends(struct shim_thread *thread)
{
    op_give_up(thread);
    for (struct shim_stream *stream = thread->own_streams; stream; stream = stream->next_own)
        stream_let_go(stream);
}

bool call_is_made_within(struct shim_thread *thread, uintptr_t caller, const void *from)
{
    if (frame_makes(thread, thread->within, caller, from)) {
        if (!resolve_is_inside(from)) /* the program made the new call: in a signal handler, or after it left the
                                         older call by a longjmp that the shim cannot see */
            __atomic_fetch_add(&thread->ring.nested, 1, __ATOMIC_RELAXED);
        return true;
    }
    capture_is_left(thread, true);
    op_give_up(thread);
    return false;
}

bool call_is_in_nccl(struct shim_thread *thread, uintptr_t caller, const void *from)
{
    if (thread->in_nccl && frame_makes(thread, thread->in_nccl, caller, from))
        return true;
    thread->in_nccl = 0;
    thread->op_header.detail = 0;
    return false;
}

void op_needs_slow_end(struct shim_thread *thread)
{
    thread->timed = NULL;
    thread->begin_event = thread->end_event = 0;
    thread->gate = 0;
    thread->direction = COPY_DIRECTIONS;
    thread->copies_noted = 0;
    thread->begun_at = atomic_load_explicit(&thread->ring.head, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    thread->slow = true;
}

/* Not inlined: most launches skip this function. If this function were inlined, op_begin_slowly would save more
 * registers in every launch that calls it. */
__attribute__((noinline)) static void begin_slowly(struct shim_thread *thread, struct ws_ring_op *record,
                                                   struct shape_entry *shape, uint32_t phase)
{
    if (!shim_started()) /* this is a child process: a signal handler has forked since the call began */
        return;
    if (record->header.detail & WS_OP_IN_COLLECTIVE && !call_is_in_nccl(thread, thread->within, NULL))
        record->header.detail &= (uint16_t)~WS_OP_IN_COLLECTIVE;
    op_needs_slow_end(thread);
    if (phase & SHIM_COUNTING) {
        uint64_t floats = float_state();
        counters_before(thread, record, shape);
        restore_float_state(floats);
    }
    time_begin(thread, record, shape, phase);
    record->begin_event = thread->begin_event;
    uint64_t now = ticks_now();
    thread->measuring_took = now - record->ticks_begin;
    record->ticks_begin = now;
}

void op_begin_slowly(struct shim_thread *thread, struct ws_ring_op *record, struct shape_entry *shape, uint32_t phase)
{
    if (__builtin_expect(ticks_are_ns, 0)) /* op_ready has read the tick counter, which this processor does not keep
                         reliably: the clock is read instead */
        record->ticks_begin = ticks_now();
    thread->measure = MEASURE_UNDECIDED;
    if (phase != (SHIM_PLAIN | SHIM_TIMING) || !is_sampled() || !measure_leaves_out(thread, record, shape))
        begin_slowly(thread, record, shape, phase);
}

static void end_slowly(struct shim_thread *thread, struct ws_ring_op *record)
{
    if (record->header.detail & WS_OP_BLOCKING)
        activity_waited(thread, record->ticks_begin, record->ticks_end);
    if (thread->timed) {
        time_end(thread, record);
        uint64_t took = thread->measuring_took + (record->inner >> WS_RING_OP_LATENESS);
        if (is_sampled() && thread->measure != MEASURE_NOTHING) {
            uint64_t now = ticks_now();
            took = thread->measuring_took + now - record->ticks_end;
            if (measure_is_of_launch(record))
                took = measure_cost(thread, took, record->ticks_end - record->ticks_begin);
            measure_was_paid(thread, thread->timed, now, took);
        }
        measure_took(thread, took);
    }
    if (thread->counted) {
        uint64_t floats = float_state();
        counters_after(thread, record);
        restore_float_state(floats);
    }
    if (thread->due.wanted && record->result == WS_CUDA_SUCCESS)
        params_keep(thread, &thread->due, record);
    thread->due.wanted = false;
}

/* A signal handler may leave this function by longjmp at any point: op_give_up then gives back the thread's turn,
 * gate and events. */
void op_end_slowly(struct shim_thread *thread, struct ws_ring_op *record)
{
    if (shim_started()) { /* false in a child process that a signal handler forked during the call */
        if (ticks_are_ns)
            record->ticks_end = ticks_now();
        /* read here, because end_slowly may move the record */
        uint64_t begin = record->ticks_begin, end = record->ticks_end;
        uint32_t shape = record->header.shape;
        bool captured = record->header.detail & WS_OP_CAPTURED;
        end_slowly(thread, record);
        ws_ring_commit(&thread->ring, 1);
        (captured ? stack_note_captured : stack_note)(thread, begin, end, shape);
    }
    atomic_signal_fence(memory_order_seq_cst);
    thread->slow = false;
}

void op_lost(struct shim_thread *thread, const struct shape_entry *shape)
{
    thread->correlation++;
    thread->slow = thread->due.wanted = false;
    /* The operation goes into its stream without an event, so the stream's last event does not tell when the next
     * operation may begin. */
    atomic_store_explicit(&shape->stream->fresh, 1, memory_order_release);
}

void op_end_held(struct shim_thread *thread, struct shim_stream *stream)
{
    if (!atomic_load_explicit(&stream->held, memory_order_relaxed))
        return;
    /* A default stream can be used only while its context is current. A per-thread default stream can be used only by
     * its own thread. */
    if (stream->kind != WS_STREAM_CREATED &&
        (stream->context != thread->context || (stream->owner && stream->owner != thread->number)))
        return;
    uint16_t flags = 0;
    if (!stream->context->timed ||
        atomic_load_explicit(&stream->context->life, memory_order_relaxed) != CONTEXT_ALIVE ||
        !may_record(stream, &flags))
        return;
    held_no_more(stream);
    uint32_t event = 0;
    record_event(stream, 1, &event, &flags);
    struct ws_ring_event *entry = event ? ws_ring_reserve(&thread->ring, 1) : NULL;
    if (!entry) {
        event_release(&stream->context->pool, event);
        return;
    }
    entry->header = (struct ws_ring_header){ .kind = WS_RING_EVENT, .slots = 1, .shape = stream->id };
    entry->ticks = ticks_now();
    entry->event = event;
    ws_ring_commit(&thread->ring, 1);
}
