#include "shim/drain/pauses.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"
#include "record/record.h"
#include "shim/drain/trace.h"
#include "shim/objects/thread.h"
#include "shim/stacks/stacks.h"

enum {
    COST_NS = 200000, /* most that the stacks of one round may take */
    SHARE = 100,      /* divisor: the share of the drain's time that they may take */
};
static const int64_t LEAST_NS = 500000;        /* a shorter pause is hardly worth a line */
static const int64_t LONGEST_NS = 10000000000; /* a thread that pauses longer does something else */

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
    trace_add_dictionaries(); /* the frames may be new */
    struct ws_stack row = { .frame = frame, .thread = thread->id, .host_ns = now, .in_pause = 1 };
    trace_add(WS_FAMILY_stack, &row);
}

void pauses_look(int64_t now)
{
    static unsigned next; /* slot: all threads get their turn */
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
