#include "shim/timing/activity.h"

#include <time.h>

#include "base/minmax.h"
#include "shim/timing/ticks.h"

enum {
    /* Time from one reading of the thread's CPU time to the next, ns. */
    READ_NS = 50000000,
    EARLY_READ_NS = 25000000, /* like READ_NS, after the first reading and while the thread works little */
    /* `stretch` is an average over about this many readings, because the drain thread counts the time in launches
     * with a delay. */
    READINGS_MEANT = 4,
    MUCH = 16 * ACTIVITY_ONE,
    /* Limits `stretch`, so that a thread that hardly works is still measured now and then. */
    STRETCH_MOST = 64 * ACTIVITY_ONE,
};

enum {
    WAIT_NS = 3000, /* ns; a call that takes less has not waited for the device */
    WAITS_MEANT = 16,
    /* A time between two waits counts as at most this many times the usual time between waits: during the rest of a
     * longer time, the program was idle. */
    LONGER_MOST = 4,
};

void activity_waited(struct shim_thread *thread, uint64_t begin, uint64_t end)
{
    struct thread_activity *activity = &thread->activity;
    if (end - begin < ticks_in(WAIT_NS))
        return;
    uint64_t since = end - activity->waited_at, usual = activity->between;
    if (activity->waits == 1)
        activity->between = since;
    else if (activity->waits)
        activity->between = usual - usual / WAITS_MEANT + ws_min(since, LONGER_MOST * usual) / WAITS_MEANT;
    activity->waits++;
    activity->waited_at = end;
}

uint64_t activity_between_waits(const struct shim_thread *thread)
{
    const struct thread_activity *activity = &thread->activity;
    return activity->stretch ? activity->between * ACTIVITY_ONE / activity->stretch : 0;
}

static uint64_t cpu_ns(void)
{
    struct timespec time;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
               ? 0
               : (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void activity_read(struct shim_thread *thread, uint64_t now)
{
    struct thread_activity *activity = &thread->activity;
    uint64_t cpu = cpu_ns(), in_calls = activity->in_calls + __atomic_load_n(&thread->in_ops, __ATOMIC_RELAXED);
    /* this value remains if `cpu` is 0, because the kernel does not tell the CPU time */
    activity->stretch = ACTIVITY_ONE;
    if (activity->read_at && cpu) {
        uint64_t worked = ws_max(ticks_in(cpu - activity->cpu_ns), in_calls - activity->then_in_calls);
        activity->worked += worked - activity->worked / READINGS_MEANT;
        activity->passed += now - activity->read_at - activity->passed / READINGS_MEANT;
        activity->stretch =
            (uint32_t)ws_clamp(activity->passed * ACTIVITY_ONE / ws_max(activity->worked, (uint64_t)1),
                               (uint64_t)ACTIVITY_ONE, (uint64_t)STRETCH_MOST);
    }
    bool often = !activity->read_at || activity->stretch > MUCH;
    activity->next_read = now + ticks_in(often ? EARLY_READ_NS : READ_NS);
    activity->read_at = now;
    activity->cpu_ns = cpu;
    activity->then_in_calls = in_calls;
}
