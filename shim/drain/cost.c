#include "shim/drain/cost.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "shim/drain/trace.h"
#include "shim/objects/thread.h"
#include "shim/timing/ticks.h"

static uint64_t spent; /* ticks, of all threads */

void cost_of_thread(struct shim_thread *thread)
{
    uint64_t now = __atomic_load_n(&thread->measuring.spent, __ATOMIC_RELAXED);
    spent += now - thread->reported_spent;
    thread->reported_spent = now;
}

void cost_say(void)
{
    char text[24];
    for (unsigned slot = 0; slot < thread_slots_used(); slot++)
        if (thread_at(slot))
            cost_of_thread(thread_at(slot));
    double ticks_a_ns = (double)atomic_load_explicit(&ticks_a_second, memory_order_relaxed) / 1e9;
    snprintf(text, sizeof(text), "%.0f", (double)spent / ticks_a_ns);
    trace_say("cost_events_ns", text);
    snprintf(text, sizeof(text), "%d", RECORD_NS);
    trace_say("cost_record_ns", text);
}
