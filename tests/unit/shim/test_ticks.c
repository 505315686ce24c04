/* Tests of shim/timing/ticks, which turns ticks of the CPU's counter into nanoseconds. The test supplies a counter
 * and a clock of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"

static int64_t fake_ns(void);
static uint64_t fake_ticks(void);

#if defined(__x86_64__)
#include <cpuid.h>

static unsigned cpuid_edx; /* what the processor says about its counter; 0: nothing */

static int fake_cpuid(unsigned leaf, unsigned *a, unsigned *b, unsigned *c, unsigned *d)
{
    assert_int_equal(leaf, 0x80000007);
    *a = *b = *c = UINT32_MAX;
    *d = cpuid_edx;
    return cpuid_edx != 0;
}
#define __get_cpuid fake_cpuid
#endif

/* ticks.c is compiled in here, so that it reads the test's clocks, and so that the test can empty its ring of
 * comparisons. */
#define ws_clock_ns fake_ns
#define ws_clock_ticks fake_ticks
#include "shim/timing/ticks.c" // NOLINT(bugprone-suspicious-include)

/* The counter runs at a constant rate. The clock is slewed: its rate changes from time to time, as under NTP. */
static const double TICKS_PER_NS = 2.5;
static const int64_t COUNTER_AT_0 = 7000000000000;
static const int64_t CLOCK_AT_0 = 123456789000;
enum { READING_NS = 20, SECOND = 1000000000 };

enum { SLEWS = 64 };
static struct slew {
    int64_t from; /* when this rate begins, in true ns */
    double rate;  /* the clock's ns per true ns, from then on */
    double clock; /* what the clock shows at `from` */
} slews[SLEWS];
static int slew_count;
static int64_t true_now; /* true ns since the test began */
static int64_t held_up;  /* ns by which a delayed reading of the clock takes longer */
static int hold_every;   /* each hold_every-th reading of the clock is delayed; 0: none */
static int clock_readings;

static void slew_from(int64_t from, double rate)
{
    struct slew *last = slew_count ? &slews[slew_count - 1] : NULL;
    double clock = last ? last->clock + (double)(from - last->from) * last->rate : (double)CLOCK_AT_0;
    slews[slew_count++] = (struct slew){ from, rate, clock };
}

static double clock_at(int64_t true_ns)
{
    int i = slew_count - 1;
    while (i && slews[i].from > true_ns)
        i--;
    return slews[i].clock + (double)(true_ns - slews[i].from) * slews[i].rate;
}

static uint64_t ticks_at(int64_t true_ns)
{
    return (uint64_t)(COUNTER_AT_0 + (int64_t)((double)true_ns * TICKS_PER_NS));
}

static uint64_t fake_ticks(void)
{
    true_now += READING_NS;
    return ticks_at(true_now);
}

static int64_t fake_ns(void)
{
    bool held = hold_every && ++clock_readings % hold_every == 0;
    true_now += READING_NS + (held ? held_up : 0);
    return (int64_t)clock_at(true_now);
}

/* A converted time may be off by half the duration of a comparison, plus rounding. */
enum { READING_ERROR = READING_NS + 2 };

static int64_t error_at(int64_t true_ns)
{
    return llabs(ticks_to_ns(ticks_at(true_ns)) - (int64_t)clock_at(true_ns));
}

static int begin_anew(void **state)
{
    (void)state;
    memset(comparisons, 0, sizeof(comparisons));
    comparison_count = 0;
    ns_per_tick = 0;
    ticks_are_ns = false;
    slew_count = 0;
    true_now = 0;
    hold_every = clock_readings = 0;
    return 0;
}

/* Compares counter and clock every `every` ns, up to the time `until`, as the drain (the shim's own thread) does. */
static void compare_until(int64_t until, int64_t every)
{
    while (true_now + every < until) {
        true_now += every;
        ticks_compare();
    }
}

static void all_within(int64_t from, int64_t to, int64_t step, int64_t most)
{
    for (int64_t at = from; at < to; at += step)
        assert_in_range(error_at(at), 0, most);
}

static void never_backwards(int64_t from, int64_t to, int64_t step)
{
    int64_t before = INT64_MIN;
    for (int64_t at = from; at < to; at += step) {
        int64_t ns = ticks_to_ns(ticks_at(at));
        assert_true(ns >= before);
        before = ns;
    }
}

static void first_comparisons_give_the_rate(void **state)
{
    (void)state;
    slew_from(0, 1);
    ticks_init();
    assert_in_range(true_now, 1000000, 1100000);
    double rate = (double)atomic_load(&ticks_a_second) / (1e9 * TICKS_PER_NS);
    assert_true(rate > 1 - 50e-6 && rate < 1 + 50e-6);
    all_within(0, true_now, 777, READING_ERROR);
}

static void readings_between_comparisons(void **state)
{
    (void)state;
    slew_from(0, 1);
    ticks_init();
    compare_until(2ll * SECOND, 4000000);
    all_within(0, true_now, 333333, READING_ERROR);
    never_backwards(0, true_now, 99991);
}

/* Each comparison reads the clock between two readings of the counter, and takes the counter's value in the middle.
 * In this test all readings take equally long, so only the rounding error is left. */
static void a_comparison_is_of_its_middle(void **state)
{
    (void)state;
    slew_from(0, 1);
    ticks_init();
    compare_until(SECOND, 4000000);
    all_within(0, true_now, 333333, 2);
}

/* The clock may change its rate once between two comparisons. Converted times are then off by at most a quarter of
 * (change of the rate × time between the comparisons). */
static void slewing_is_followed(void **state)
{
    (void)state;
    enum { PPM = 500 };
    for (int i = 0; i < 9; i++)
        slew_from((int64_t)i * SECOND, 1 + (i % 2 ? PPM : -PPM) * 1e-6);
    ticks_init();
    compare_until(9ll * SECOND, 4000000);
    /* The rate changes by twice PPM at most. Comparisons kept in the ring are at most 10 ms and one round (4 ms)
     * apart. */
    int64_t most = (int64_t)(14000000 * 2e-6 * PPM / 4) + 2 * READING_ERROR;
    all_within(10000000, true_now, 123457, most);
    never_backwards(0, true_now, 99991);
}

static void a_reading_before_the_first(void **state)
{
    (void)state;
    slew_from(0, 1);
    ticks_init();
    compare_until(SECOND, 4000000);
    /* These times are negative, so they lie before the test's beginning and before the first comparison. */
    all_within(-SECOND, 0, 9999999, 10 * READING_ERROR);
    never_backwards(-SECOND, 200000, 4999);
}

static void a_reading_after_the_last(void **state)
{
    (void)state;
    slew_from(0, 1 + 200e-6);
    ticks_init();
    compare_until(SECOND, 4000000);
    all_within(true_now, true_now + SECOND, 9999999, 10 * READING_ERROR);
    never_backwards(true_now - 20000000, true_now + SECOND, 99991);
}

/* The drain (the shim's own thread) compares counter and clock in every round of its work. However short the rounds
 * are, the ring keeps the comparisons of the last ten seconds. */
static void ring_holds_ten_seconds(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++)
        slew_from((int64_t)i * SECOND / 4, 1 + (i % 2 ? 500e-6 : -500e-6));
    ticks_init();
    compare_until(10ll * SECOND, 500000);
    int64_t most = (int64_t)(10500000 * 1000e-6 / 4) + 2 * READING_ERROR;
    all_within(100000000, true_now, 1234567, most);
}

static void the_ring_goes_round(void **state)
{
    (void)state;
    for (int i = 0; i < 60; i++)
        slew_from((int64_t)i * SECOND, 1 + (i % 3 - 1) * 300e-6);
    ticks_init();
    compare_until(45ll * SECOND, 4000000);
    assert_true(comparison_count > 3 * COMPARISONS);
    int64_t most = (int64_t)(14000000 * 600e-6 / 4) + 2 * READING_ERROR;
    all_within(true_now - 10ll * SECOND, true_now, 1234567, most);
    /* The bound `most` holds for all times back to the oldest comparison in the ring. */
    uint64_t oldest = comparisons[comparison_count % COMPARISONS].ticks - (uint64_t)COUNTER_AT_0;
    int64_t from = (int64_t)((double)oldest / TICKS_PER_NS);
    all_within(from, from + 14000000, 100000, most);
    /* Times before the oldest comparison in the ring are computed with the average rate of all its comparisons, so
     * their error grows with their age. */
    for (int64_t age = 15; age <= 40; age++)
        assert_in_range(error_at(true_now - age * SECOND), 0, age * 600 * 1000);
    never_backwards(true_now - 20ll * SECOND, true_now + SECOND, 999983);
}

/* The drain (the shim's own thread) may be delayed between the readings of a comparison. So it compares four times
 * and keeps the fastest comparison. */
static void a_comparison_that_is_held_up(void **state)
{
    (void)state;
    slew_from(0, 1);
    ticks_init();
    held_up = 3000000;
    for (hold_every = 2; hold_every <= 4; hold_every++)
        compare_until(true_now + SECOND, 20000000);
    hold_every = 0;
    all_within(0, true_now, 333333, READING_ERROR);
}

/* Comparisons may be far apart: the drain (the shim's own thread) sleeps long in an idle program, and does not run in
 * a stopped one. */
static void rounds_far_apart(void **state)
{
    (void)state;
    slew_from(0, 1 - 100e-6);
    ticks_init();
    compare_until(5ll * SECOND, 500000000);
    compare_until(5ll * SECOND + 40000000, 4000000);
    all_within(0, true_now, 1234567, 2 * READING_ERROR);
    compare_until(65ll * SECOND, 30ll * SECOND);
    all_within(0, true_now, 12345678, 2 * READING_ERROR);
}

/* The rate for times after the last comparison is computed from all comparisons in the ring. It thus follows the
 * clock, and one inexact comparison changes it little. */
static void the_rate_is_of_the_whole_ring(void **state)
{
    (void)state;
    slew_from(0, 1);
    slew_from(20ll * SECOND, 1 + 300e-6);
    ticks_init();
    compare_until(50ll * SECOND, 4000000);
    assert_true(comparison_count > 2 * COMPARISONS);
    all_within(true_now, true_now + SECOND, 9999999, 10 * READING_ERROR);
    true_now += 20000000;
    held_up = 2000;
    hold_every = 1;
    ticks_compare();
    all_within(true_now, true_now + SECOND, 9999999, 2 * held_up);
}

/* The counter may go back when a virtual machine moves to another host. The rate must then stay as it was. */
static void where_a_counter_goes_back_the_rate_stays(void **state)
{
    (void)state;
    ns_per_tick = 0.25;
    rate_from((struct comparison){ 1000, 500 }, (struct comparison){ 900, 600 });
    rate_from((struct comparison){ 1000, 500 }, (struct comparison){ 1000, 600 });
    rate_from((struct comparison){ 1000, 500 }, (struct comparison){ 1100, 500 });
    assert_true(ns_per_tick == 0.25);
    rate_from((struct comparison){ 1000, 500 }, (struct comparison){ 1200, 600 });
    assert_true(ns_per_tick == 0.5);
}

static void ns_are_turned_into_ticks(void **state)
{
    (void)state;
    atomic_store(&ticks_in_1024_ns, (uint64_t)(1024 * TICKS_PER_NS));
    assert_int_equal(ticks_in(0), 0);
    assert_int_equal(ticks_in(1000), 1000 * TICKS_PER_NS);
    assert_int_equal(ticks_in(3600ull * SECOND), 3600e9 * TICKS_PER_NS); /* the ticks of an hour do not overflow */
    atomic_store(&ticks_in_1024_ns, 25); /* a slow counter, as some Arm processors have it: 24 MHz */
    assert_int_equal(ticks_in(1024000), 25000);
}

#if defined(__x86_64__)
static void only_a_steady_counter_is_chosen(void **state)
{
    (void)state;
    static const unsigned steady = 1 << 8;
    cpuid_edx = steady;
    ticks_choose();
    assert_false(ticks_are_ns);
    cpuid_edx = ~steady;
    ticks_choose();
    assert_true(ticks_are_ns);
    cpuid_edx = 0;
    ticks_choose();
    assert_true(ticks_are_ns);
}
#endif

static void without_a_counter_ticks_are_ns(void **state)
{
    (void)state;
    slew_from(0, 1);
    ticks_are_ns = true;
    ticks_init();
    ticks_compare();
    assert_int_equal(true_now, 0); /* 0: ticks_compare read no clock, so it compared nothing */
    assert_int_equal(ticks_to_ns(123456789), 123456789);
    assert_int_equal(ticks_now(), CLOCK_AT_0 + READING_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(first_comparisons_give_the_rate, begin_anew),
        cmocka_unit_test_setup(readings_between_comparisons, begin_anew),
        cmocka_unit_test_setup(a_comparison_is_of_its_middle, begin_anew),
        cmocka_unit_test_setup(slewing_is_followed, begin_anew),
        cmocka_unit_test_setup(a_reading_before_the_first, begin_anew),
        cmocka_unit_test_setup(a_reading_after_the_last, begin_anew),
        cmocka_unit_test_setup(ring_holds_ten_seconds, begin_anew),
        cmocka_unit_test_setup(the_ring_goes_round, begin_anew),
        cmocka_unit_test_setup(a_comparison_that_is_held_up, begin_anew),
        cmocka_unit_test_setup(rounds_far_apart, begin_anew),
        cmocka_unit_test_setup(the_rate_is_of_the_whole_ring, begin_anew),
        cmocka_unit_test_setup(where_a_counter_goes_back_the_rate_stays, begin_anew),
        cmocka_unit_test_setup(ns_are_turned_into_ticks, begin_anew),
#if defined(__x86_64__)
        cmocka_unit_test_setup(only_a_steady_counter_is_chosen, begin_anew),
#endif
        cmocka_unit_test_setup(without_a_counter_ticks_are_ns, begin_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
