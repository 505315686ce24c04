#include "shim/drain/losses.h"

#include "base/clock.h"
#include "shim/drain/recording.h"
#include "shim/drain/trace.h"
#include "shim/objects/thread.h"
#include "shim/state/live.h"
#include "shim/state/lock.h"
#include "shim/state/phase.h"
#include "shim/state/registry.h"

static uint64_t unflushed[WS_LOSS_COUNT]; /* losses in rows that are not in the file yet; index: reason */
static uint64_t losses[WS_LOSS_COUNT];    /* losses that are not in rows yet; index: reason */

/* Losses because a dictionary (table of the trace) is full. The dictionaries of streams, contexts and shapes are not
 * in this list: each thread counts in `unregistered` the operations that it cannot record because one of these three
 * is full. The dictionaries `code` and `frame` are not in it either: stacks_summary tells that stacks are missing. */
static const struct {
    const _Atomic uint64_t *refused;
    enum ws_loss_reason reason;
} dictionaries[] = {
    { &registry.device.refused, WS_LOSS_DEVICES },   { &registry.thread.refused, WS_LOSS_THREADS },
    { &registry.function.refused, WS_LOSS_KERNELS }, { &registry.comm.refused, WS_LOSS_COMMUNICATORS },
    { &registry.label.refused, WS_LOSS_LABELS },     { &registry.graph_node.refused, WS_LOSS_GRAPHS },
    { &registry.counter.refused, WS_LOSS_COUNTERS }, { &registry.metric.refused, WS_LOSS_COUNTERS },
    { &registry.texts_refused, WS_LOSS_TEXTS },
};
enum { DICTIONARIES = sizeof(dictionaries) / sizeof(dictionaries[0]) };

void losses_count(enum ws_loss_reason reason, uint64_t count)
{
    losses[reason] += count;
}

static void add_loss(enum ws_loss_reason reason, uint32_t thread, uint64_t count, int64_t now)
{
    struct ws_loss row = { .reason = reason, .thread = thread, .count = count, .host_ns = now };
    if (!count)
        return;
    trace_add(WS_FAMILY_loss, &row);
    unflushed[reason] += count;
}

static uint64_t grown_to(uint64_t now, uint64_t *reported)
{
    uint64_t before = *reported;
    *reported = now;
    return now < before ? now : now - before; /* if the count has fallen, it began again at 0 for a new trace */
}

static uint64_t grown(const uint64_t *counter, uint64_t *reported)
{
    return grown_to(__atomic_load_n(counter, __ATOMIC_RELAXED), reported);
}

/* Adds rows for the thread's losses since this function was last called for this thread. */
static void losses_of_thread(struct shim_thread *thread)
{
    int64_t now = ws_clock_ns();
    add_loss(WS_LOSS_RING_FULL, thread->id, grown(&thread->ring.lost, &thread->reported_lost), now);
    add_loss(recording_off_reason(), thread->id, grown(&thread->passed, &thread->reported_passed), now);
    add_loss(WS_LOSS_NO_ROOM, thread->id, grown(&thread->unregistered, &thread->reported_unregistered), now);
    add_loss(WS_LOSS_SIMPLIFIED, thread->id, grown(&thread->simplified, &thread->reported_simplified), now);
    add_loss(WS_LOSS_NESTED, thread->id, grown(&thread->ring.nested, &thread->reported_nested), now);
    live_part_stated(thread->live_part, thread->reported_lost, thread->reported_nested);
    add_loss(WS_LOSS_DAMAGED, thread->id, grown(&thread->damaged, &thread->reported_damaged), now);
    add_loss(WS_LOSS_RANGE_OPEN, thread->id, grown(&thread->ranges_left, &thread->reported_ranges), now);
}

static void count_open_ranges(const struct shim_thread *thread)
{
    losses[WS_LOSS_RANGE_OPEN] += __atomic_load_n(&thread->ranges_open, __ATOMIC_RELAXED);
}

void losses_of_gone_thread(struct shim_thread *thread)
{
    losses_of_thread(thread);
    count_open_ranges(thread);
}

void losses_at_end(void)
{
    for (unsigned slot = 0; slot < thread_slots_used(); slot++)
        if (thread_at(slot))
            count_open_ranges(thread_at(slot));
}

void losses_add(int64_t now, uint64_t unwritten)
{
    static uint64_t unwritten_before, refused_before, children_before, passed_before, missed_before;
    static uint64_t full_before[DICTIONARIES];
    for (unsigned slot = 0; slot < thread_slots_used(); slot++)
        if (thread_at(slot))
            losses_of_thread(thread_at(slot));
    losses[WS_LOSS_WRITE_FAILED] += grown_to(unwritten, &unwritten_before);
    losses[WS_LOSS_NO_THREAD_SLOT] += grown_to(threads_refused(), &refused_before);
    losses[WS_LOSS_CHILD] += grown_to(shim_children(), &children_before);
    losses[WS_LOSS_LOCKS] += grown_to(locks_missed(), &missed_before);
    losses[recording_off_reason()] += grown_to(threads_passed_unknown(), &passed_before);
    for (int i = 0; i < DICTIONARIES; i++)
        losses[dictionaries[i].reason] += grown_to(atomic_load(dictionaries[i].refused), &full_before[i]);
    for (int reason = 0; reason < WS_LOSS_COUNT; reason++) {
        add_loss((enum ws_loss_reason)reason, 0, losses[reason], now);
        losses[reason] = 0;
    }
}

void losses_are_written(bool written)
{
    for (int reason = 0; reason < WS_LOSS_COUNT; reason++) {
        losses[reason] += written ? 0 : unflushed[reason];
        unflushed[reason] = 0;
    }
}
