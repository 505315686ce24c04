/* Tests of shim/timing/activity: how much of its time a thread works. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

_Atomic uint64_t ticks_a_second = 1000000000; /* a tick is a nanosecond */
_Atomic bool ticks_are_ns;

static void a_thread_that_waits_is_stretched(void **state)
{
    (void)state;
    struct thread_activity activity = { 0 };
    uint64_t now = 1000 * (uint64_t)MS;
    reads = 0;
    thread_cpu = 5 * MS;
    assert_int_equal(activity_stretch(&activity, now, 1000), 1000); /* until more is known */
    now += 6 * MS;
    thread_cpu += 6 * MS;
    assert_int_equal(activity_stretch(&activity, now, 1000), 1000);
    for (int i = 0; i < 40; i++)
        assert_int_equal(activity_stretch(&activity, now += MS, 1000), 1000);
    assert_int_equal(reads, 2);
    now += 60 * MS;
    thread_cpu += 25 * MS; /* of 100 ms */
    assert_int_equal(activity_stretch(&activity, now, 1000), 4000);
    now += 100 * MS; /* it did nothing but make this call */
    assert_int_equal(activity_stretch(&activity, now, 1000), 64000);
    now += 100 * MS; /* it waited for the device, and slept meanwhile */
    activity_called(&activity, now - 50 * MS, now, true);
    assert_int_equal(activity_stretch(&activity, now, 1000), 2000);
    now += 100 * MS;
    thread_cpu += 101 * MS; /* the clocks do not agree to the nanosecond */
    assert_int_equal(activity_stretch(&activity, now, 1000), 1000);
}

static void time_between_waits_is_learned(void **state)
{
    (void)state;
    struct thread_activity activity = { 0 };
    uint64_t now = 1000 * (uint64_t)MS;
    thread_cpu = 5 * MS;
    assert_int_equal(activity_between_waits(&activity), 0);
    for (int i = 0; i < 100; i++) {
        now += 2 * MS;
        thread_cpu += 1 * MS;
        activity_called(&activity, now - 100000, now, true);
        activity_called(&activity, now, now + 1000, true);    /* too short to have waited */
        activity_called(&activity, now - 500000, now, false); /* an allocation, say */
        activity_stretch(&activity, now, 0);
    }
    assert_int_equal(activity.waits, 100);
    assert_int_equal(activity_between_waits(&activity), 1 * MS);
    for (int i = 0; i < 200; i++) {
        now += 4 * MS;
        thread_cpu += 4 * MS;
        activity_called(&activity, now - 100000, now, true);
        activity_stretch(&activity, now, 0);
    }
    assert_in_range(activity_between_waits(&activity), 4 * MS - 1000, 4 * MS);
}

static void without_a_clock_all_time_counts(void **state)
{
    (void)state;
    struct thread_activity activity = { 0 };
    uint64_t now = 1000 * (uint64_t)MS;
    thread_cpu = -1;
    for (int i = 0; i < 3; i++)
        assert_int_equal(activity_stretch(&activity, now += 100 * (uint64_t)MS, 1000), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_waits_is_stretched),
        cmocka_unit_test(time_between_waits_is_learned),
        cmocka_unit_test(without_a_clock_all_time_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
