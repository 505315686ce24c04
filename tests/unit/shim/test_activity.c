/* Tests of shim/timing/activity: how much of its time a thread works. A thread's stretch is the time that passes
 * while the thread works for a given time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { MS = 1000000 };

static int64_t thread_cpu; /* ns of CPU time that the thread has used; -1: the kernel does not tell */
static unsigned reads;

static int fake_clock_gettime(clockid_t clock, struct timespec *time)
{
    assert_int_equal(clock, CLOCK_THREAD_CPUTIME_ID);
    reads++;
    *time = (struct timespec){ thread_cpu / 1000000000, thread_cpu % 1000000000 };
    return thread_cpu < 0 ? -1 : 0;
}

#define clock_gettime fake_clock_gettime
#include "shim/timing/activity.c" // NOLINT(bugprone-suspicious-include)

_Atomic uint64_t ticks_in_1024_ns = 1024; /* a tick is a nanosecond */
_Atomic bool ticks_are_ns;

static struct shim_thread thread;

static int begin_anew(void **state)
{
    (void)state;
    memset(&thread, 0, sizeof(thread));
    thread_cpu = 5 * MS;
    reads = 0;
    return 0;
}

/* Lets 100 periods of 100 ms pass, all of the same kind. After so many periods, what the thread did earlier no longer
 * counts. */
static uint64_t turns(uint64_t now, int64_t cpu, uint64_t in_call, uint64_t in_ops)
{
    for (int i = 0; i < 100; i++) {
        now += 100 * (uint64_t)MS;
        thread_cpu += cpu;
        thread.in_ops += in_ops;
        activity_called(&thread, now - in_call, now);
        activity_stretch(&thread, now, 1000);
    }
    return now;
}

static void a_thread_that_waits_is_stretched(void **state)
{
    (void)state;
    uint64_t now = 1000 * (uint64_t)MS;
    /* nothing is known yet, so all time counts as work */
    assert_int_equal(activity_stretch(&thread, now, 1000), 1000);
    now = turns(now, 100 * MS, 0, 0);
    assert_int_equal(activity_stretch(&thread, now, 1000), 1000);
    unsigned before = reads;
    for (int i = 0; i < 40; i++)
        assert_int_equal(activity_stretch(&thread, now += MS, 1000), 1000);
    assert_int_equal(reads, before);
    thread_cpu += 40 * MS;
    now = turns(now, 25 * MS, 0, 0);
    assert_in_range(activity_stretch(&thread, now, 1000), 3950, 4000);
    now = turns(now, 25 * MS, 50 * MS, 0); /* the thread waited for the device, and slept meanwhile */
    assert_in_range(activity_stretch(&thread, now, 1000), 1970, 2000);
    now = turns(now, 1 * MS, 0, 100 * MS); /* the queue was full, so launches waited */
    assert_int_equal(activity_stretch(&thread, now, 1000), 1000);
    now = turns(now, 0, 0, 0); /* the thread slept all the time */
    assert_int_equal(activity_stretch(&thread, now, 1000), 64000);
    now = turns(now, 101 * MS, 0, 0); /* 101 ms of CPU time in 100 ms, as two clocks may differ */
    assert_int_equal(activity_stretch(&thread, now, 1000), 1000);
}

static void time_between_waits_is_learned(void **state)
{
    (void)state;
    uint64_t now = 1000 * (uint64_t)MS;
    assert_int_equal(activity_between_waits(&thread), 0);
    for (int i = 0; i < 400; i++) {
        now += 2 * MS;
        thread_cpu += 1 * MS;
        activity_waited(&thread, now - 100000, now);
        activity_waited(&thread, now, now + 1000);   /* too short to have waited */
        activity_called(&thread, now - 500000, now); /* not a wait for the device, but an allocation, say */
        activity_stretch(&thread, now, 0);
    }
    assert_int_equal(thread.activity.waits, 400);
    /* The time of a wait does not count: if an operation waited, the drain thread adds the wait to in_ops. */
    assert_int_equal(thread.activity.in_calls, 400 * 500000);
    assert_in_range(activity_between_waits(&thread), MS * 9 / 10, MS * 12 / 10);
    uint64_t before = thread.activity.between;
    now += 1000 * (uint64_t)MS;
    activity_waited(&thread, now, now + 100000); /* the program was idle */
    assert_true(thread.activity.between < before * 5 / 4);
}

static void without_a_clock_all_time_counts(void **state)
{
    (void)state;
    uint64_t now = 1000 * (uint64_t)MS;
    thread_cpu = -1;
    for (int i = 0; i < 3; i++)
        assert_int_equal(activity_stretch(&thread, now += 100 * (uint64_t)MS, 1000), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_thread_that_waits_is_stretched, begin_anew),
        cmocka_unit_test_setup(time_between_waits_is_learned, begin_anew),
        cmocka_unit_test_setup(without_a_clock_all_time_counts, begin_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
