#include "shim/drain/ring_pages.h"

#include "base/minmax.h"
#include "shim/objects/thread.h"

enum {
    PAGE_SLOTS = 4096 / WS_RING_SLOT,                  /* of the smallest pages there are */
    MOST_AHEAD = WS_RING_LOOK_EVERY + 16 * PAGE_SLOTS, /* a thread that begins to launch wakes the drain before */
    ALL_AHEAD = (4 << 20) / WS_RING_SLOT, /* of all threads together: most programs' threads launch little */
    ROUNDS_AHEAD = 4,                     /* a round may be late */
};

static uint64_t slots_ahead(const struct shim_thread *thread, uint64_t head)
{
    uint64_t share = ALL_AHEAD / ws_max((uint64_t)thread_count(), (uint64_t)1);
    return ws_max(ws_min(share, (uint64_t)MOST_AHEAD), ROUNDS_AHEAD * (head - thread->head_before));
}

/* Writes the zero that is there. The thread may come to the same word at any time: an exchange that finds something
 * else leaves it. Sanitizers take that for a race. */
__attribute__((no_sanitize("thread"))) static void touch(const struct ws_ring *ring, uint64_t slot)
{
    uint32_t zero = 0;
    __atomic_compare_exchange_n((uint32_t *)ws_ring_slot(ring, slot), &zero, 0, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
}

void ring_pages_keep(struct shim_thread *thread, uint64_t head)
{
    uint64_t slots = thread->ring.mask + 1;
    if (thread->touched >= slots) /* it went round once */
        return;
    uint64_t until = ws_min(head + slots_ahead(thread, head), slots);
    thread->head_before = head;
    /* What lies behind the head has been written to. */
    thread->touched = ws_max(thread->touched, head / PAGE_SLOTS * PAGE_SLOTS);
    for (; thread->touched < until; thread->touched += PAGE_SLOTS)
        touch(&thread->ring, thread->touched);
}

void ring_pages_of_new_threads(void)
{
    static uint32_t seen;
    uint32_t begun = threads_begun();
    if (begun == seen)
        return;
    seen = begun;
    for (unsigned slot = 0; slot < thread_slots_used(); slot++) {
        struct shim_thread *thread = thread_at(slot);
        if (thread && !thread->touched)
            ring_pages_keep(thread, ws_ring_head(&thread->ring));
    }
}
