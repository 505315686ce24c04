#include "shim/timing/activity.h"

#include <time.h>

#include "base/minmax.h"
#include "shim/timing/ticks.h"

enum {
    /* Time from one reading of the thread's CPU time to the next, ns. */
    READ_NS = 50000000,
    FIRST_READ_NS = 5000000,
    ONE = 256,               /* unit of thread_activity.stretch */
    STRETCH_MOST = 64 * ONE, /* even a thread that works less than this is measured now and then */
};

/* A call that takes longer than this has waited, ns. */
enum { WAIT_NS = 3000, WAITS_MEANT = 16 };

void activity_called(struct thread_activity *activity, uint64_t begin, uint64_t end)
{
    activity->in_calls += end - begin;
    if (end - begin < ticks_in(WAIT_NS))
        return;
    if (activity->waits++) {
        int64_t more = (int64_t)(end - activity->waited_at - activity->between);
        activity->between =
            (uint64_t)((int64_t)activity->between + (activity->waits == 2 ? more : more / WAITS_MEANT));
    }
    activity->waited_at = end;
}

uint64_t activity_between_waits(const struct thread_activity *activity)
{
    return activity->stretch ? activity->between * ONE / activity->stretch : 0;
}

static uint64_t cpu_ns(void)
{
    struct timespec time;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
               ? 0
               : (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void read_again(struct thread_activity *activity, uint64_t now)
{
    uint64_t cpu = cpu_ns(),
             worked = ws_max(ticks_in(cpu - activity->cpu_ns), activity->in_calls - activity->then_in_calls);
    activity->stretch = ONE; /* cpu 0: the kernel does not tell */
    if (activity->read_at && cpu)
        activity->stretch = (uint32_t)ws_clamp((now - activity->read_at) * ONE / ws_max(worked, (uint64_t)1),
                                               (uint64_t)ONE, (uint64_t)STRETCH_MOST);
    activity->next_read = now + ticks_in(activity->read_at ? READ_NS : FIRST_READ_NS);
    activity->read_at = now;
    activity->cpu_ns = cpu;
    activity->then_in_calls = activity->in_calls;
}

uint64_t activity_stretch(struct thread_activity *activity, uint64_t now, uint64_t ticks)
{
    if (now >= activity->next_read)
        read_again(activity, now);
    return ticks * activity->stretch / ONE;
}
