#include "shim/drain/ring_pages.h"

#include "base/minmax.h"
#include "shim/objects/thread.h"

enum {
    PAGE_SLOTS = 4096 / WS_RING_SLOT, /* number of a ring's slots in a page of 4 KiB, the smallest page size */
    /* Most slots that are touched (so that they get memory) ahead of a ring's head. A thread wakes the drain before
     * it has used so many slots. */
    MOST_AHEAD = WS_RING_LOOK_EVERY + 16 * PAGE_SLOTS,
    /* Most slots that are touched ahead in all threads' rings together. Most threads launch little, and touched pages
     * take memory. */
    ALL_AHEAD = (4 << 20) / WS_RING_SLOT,
    /* The pages that a thread needs in this many rounds are touched in advance, because the drain's next round may be
     * late. */
    ROUNDS_AHEAD = 4,
};

static uint64_t slots_ahead(const struct shim_thread *thread, uint64_t head)
{
    uint64_t share = ALL_AHEAD / ws_max((uint64_t)thread_count(), (uint64_t)1);
    return ws_max(ws_min(share, (uint64_t)MOST_AHEAD), ROUNDS_AHEAD * (head - thread->head_before));
}

/* Touches the slot's page by replacing a zero with a zero. The ring's thread may write to the page at the same time.
 * If the exchange finds another value than zero, it changes nothing. ThreadSanitizer would report a race, so it is
 * off for this function. */
__attribute__((no_sanitize("thread"))) static void touch(const struct ws_ring *ring, uint64_t slot)
{
    uint32_t zero = 0;
    __atomic_compare_exchange_n((uint32_t *)ws_ring_slot(ring, slot), &zero, 0, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
}

void ring_pages_keep(struct shim_thread *thread, uint64_t head)
{
    uint64_t slots = thread->ring.mask + 1;
    if (thread->touched >= slots) /* the whole ring has been touched */
        return;
    uint64_t until = ws_min(head + slots_ahead(thread, head), slots);
    thread->head_before = head;
    /* The thread has already written to the slots below the head, so their pages have memory. */
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
