#include "shim/drain/pauses.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"
#include "record/record.h"
#include "shim/drain/trace.h"
#include "shim/objects/thread.h"
#include "shim/stacks/stacks.h"

enum {
    COST_NS = 200000, /* longest time that reading stacks may take in one round */
    SHARE = 100,      /* reading stacks may take 1/SHARE of the drain's time */
};
/* A stack is read only if the thread has recorded no call for at least this time. */
static const int64_t LEAST_NS = 500000;
/* A stack is read only during pauses up to this length: a thread that pauses longer probably does nothing that the
 * GPU waits for. */
static const int64_t LONGEST_NS = 10000000000;

static bool is_in_call(const struct shim_thread *thread)
{
    bool in_nccl;
    return thread_is_in_call(thread, &in_nccl) || in_nccl;
}

static void look_at(struct shim_thread *thread, int64_t now)
{
    uint32_t frame;
    uint64_t head = ws_ring_head(&thread->ring);
    int64_t length = now - thread->pause_begin;
    if (head != ws_ring_tail(&thread->ring) || length < LEAST_NS || length > LONGEST_NS || is_in_call(thread) ||
        !stack_of_pause(thread, &frame) || ws_ring_head(&thread->ring) != head || is_in_call(thread))
        return;
    trace_add_dictionaries(); /* before the row, because the row may refer to new stack frames */
    struct ws_stack row = { .frame = frame, .thread = thread->id, .host_ns = now, .in_pause = 1 };
    trace_add(WS_FAMILY_stack, &row);
}

void pauses_look(int64_t now)
{
    /* where this round begins among the thread slots: after the last slot of the round before, so that all threads
     * get their turn */
    static unsigned next;
    static int64_t not_before;
    unsigned used = thread_slots_used();
    if (now < not_before)
        return;
    int64_t took = 0;
    for (unsigned i = 0; i < used && took < COST_NS; i++) {
        struct shim_thread *thread = thread_at(next++ % used);
        if (thread)
            look_at(thread, now);
        took = ws_clock_ns() - now;
    }
    not_before = now + took * SHARE;
}
