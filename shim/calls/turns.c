#include "shim/calls/turns.h"

#include <sched.h>

#include "shim/state/lock.h"
#include "shim/timing/ticks.h"

enum { TURN_DEADLINE_NS = 50000 };

/* stream->turn is 0 or the number of the thread that has the turn. TURN_LONG is or-ed to the number if the thread's
 * call returns only when the device has done the work. */
#define TURN_LONG 0x80000000u

/* Waits for the stream's turn. Returns false if the turn was not free in time: the call then goes on without the
 * turn. */
static bool taken_by(struct shim_stream *stream, uint32_t own)
{
    uint32_t free_turn = 0;
    if (__builtin_expect(atomic_compare_exchange_strong_explicit(&stream->turn, &free_turn, own, memory_order_acquire,
                                                                 memory_order_relaxed),
                         1))
        return true;
    uint64_t deadline = ticks_now() + ticks_in(TURN_DEADLINE_NS);
    do {
        if (free_turn & TURN_LONG) /* the thread that has the turn waits for the device, which may take long */
            return false;
        sched_yield();
        free_turn = 0;
        if (atomic_compare_exchange_strong_explicit(&stream->turn, &free_turn, own, memory_order_acquire,
                                                    memory_order_relaxed))
            return true;
    } while (ticks_now() < deadline);
    return false;
}

void turn_leave(const struct shim_thread *thread, struct shim_stream *stream)
{
    uint32_t turn = atomic_load_explicit(&stream->turn, memory_order_relaxed);
    if ((turn & ~TURN_LONG) == thread->number) /* only this thread stores its number in stream->turn, or clears it */
        atomic_store_explicit(&stream->turn, 0, memory_order_release);
}

/* Counts the operation in stream->order, and returns the previous value of stream->order. If the thread does not have
 * the turn, stream->order also counts the operation as under way, so that other threads see it. thread->beside tells
 * order_leave to end this second count. Signals are blocked while stream->order and thread->beside are changed,
 * because a signal handler may leave the function by longjmp. */
static uint64_t enter_order(struct shim_thread *thread, struct shim_stream *stream)
{
    struct shim_quiet quiet;
    if (thread->has_turn)
        return atomic_fetch_add_explicit(&stream->order, (uint64_t)1 << 16, memory_order_acq_rel);
    quiet_begin(&quiet);
    thread->beside = true;
    uint64_t order = atomic_fetch_add_explicit(&stream->order, (uint64_t)1 << 16 | 1, memory_order_acq_rel);
    quiet_end(&quiet);
    return order;
}

void order_leave(struct shim_thread *thread, struct shim_stream *stream)
{
    struct shim_quiet quiet;
    if (!thread->beside)
        return;
    quiet_begin(&quiet);
    thread->beside = false;
    atomic_fetch_sub_explicit(&stream->order, 1, memory_order_acq_rel);
    quiet_end(&quiet);
}

bool turn_is_contended(const struct shim_thread *thread)
{
    return !thread->has_turn || thread->order & 0xffff;
}

void turn_take(struct shim_thread *thread, struct shim_stream *stream, bool is_long)
{
    thread->has_turn = taken_by(stream, thread->number | (is_long ? TURN_LONG : 0));
    thread->order = enter_order(thread, stream);
}

bool turn_was_contended(const struct shim_thread *thread, struct shim_stream *stream)
{
    uint64_t order = atomic_load_explicit(&stream->order, memory_order_acquire);
    return turn_is_contended(thread) || order >> 16 != (thread->order >> 16) + 1;
}

void turn_wait_enters(struct shim_thread *thread, uint32_t first_stream, uint32_t count)
{
    struct shim_quiet quiet;
    /* blocks signals: no signal handler may leave this function by longjmp before all fields are set */
    quiet_begin(&quiet);
    for (uint32_t id = first_stream; id < first_stream + count; id++) {
        atomic_store_explicit(&stream_at(id)->fresh, 1, memory_order_release);
        atomic_fetch_add_explicit(&stream_at(id)->order, (uint64_t)1 << 16 | 1, memory_order_acq_rel);
    }
    thread->first_waiting = first_stream;
    thread->waiting_count = count;
    quiet_end(&quiet);
}

void turn_wait_entered(struct shim_thread *thread)
{
    struct shim_quiet quiet;
    if (!thread->waiting_count)
        return;
    quiet_begin(&quiet);
    for (uint32_t id = thread->first_waiting; thread->waiting_count; id++, thread->waiting_count--) {
        atomic_store_explicit(&stream_at(id)->fresh, 1, memory_order_release);
        atomic_fetch_sub_explicit(&stream_at(id)->order, 1, memory_order_acq_rel);
    }
    quiet_end(&quiet);
}
