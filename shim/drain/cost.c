#include "shim/drain/cost.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "base/minmax.h"
#include "record/ring.h"
#include "shim/drain/trace.h"
#include "shim/objects/thread.h"
#include "shim/state/phase.h"
#include "shim/timing/ticks.h"

static const int64_t WINDOW_NS = 100000000;

static uint64_t spent; /* ticks that events and stacks have cost all threads since the trace began */

void cost_of_thread(struct shim_thread *thread)
{
    uint64_t now = __atomic_load_n(&thread->measuring.spent, __ATOMIC_RELAXED);
    spent += now - thread->reported_spent;
    thread->reported_spent = now;
}

double cost_of_records(int64_t now, int64_t *length)
{
    static int64_t began; /* host ns at which the window began; 0: no window is under way */
    bool recorded = shim_phase() & SHIM_RECORDING;
    if (shim_options.backend != WS_BACKEND_EVENTS || shim_options.event_placement != WS_EVENTS_SAMPLED ||
        (recorded && began && now - began < WINDOW_NS))
        return -1;
    uint64_t most = 0;
    unsigned recording = 0;
    for (unsigned slot = 0; slot < thread_slots_used(); slot++) {
        struct shim_thread *thread = thread_at(slot);
        if (!thread)
            continue;
        uint64_t head = ws_ring_head(&thread->ring);
        most = ws_max(most, head - thread->window_head);
        recording += head != thread->window_head;
        thread->window_head = head;
    }
    bool ended = recorded && began;
    atomic_store_explicit(&threads_recording, ended ? recording : 0, memory_order_relaxed);
    *length = now - began;
    began = recorded ? now : 0;
    double allowed = (double)*length * (double)shim_options.overhead / 1e6;
    return ended ? (double)most * RECORD_NS / allowed : -1;
}

void cost_say(void)
{
    char text[24];
    for (unsigned slot = 0; slot < thread_slots_used(); slot++)
        if (thread_at(slot))
            cost_of_thread(thread_at(slot));
    double ticks_a_ns = (double)atomic_load_explicit(&ticks_a_second, memory_order_relaxed) / 1e9;
    snprintf(text, sizeof(text), "%.0f", (double)spent / ticks_a_ns);
    spent = 0; /* another trace may follow (session.h) */
    trace_say("cost_events_ns", text);
    snprintf(text, sizeof(text), "%d", RECORD_NS);
    trace_say("cost_record_ns", text);
}
