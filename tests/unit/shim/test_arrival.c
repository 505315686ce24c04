/* Tests of shim/timing/arrival, which learns from probes (events of the shim's own) when launches reach the device.
 * In the tests, clocks drift, event times are rounded, and probes are late. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/root.h"
#include "shim/timing/arrival.h"

enum { DELAY = 1500, OFFSET = 7000000, ROUNDED = 500, HALF = ROUNDED / 2, PERIOD = 250000000 };

static struct arrival arrival;
static uint32_t seed;

static int begin_anew(void **state)
{
    (void)state;
    arrival = (struct arrival){ 0 };
    seed = 1;
    return 0;
}

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)(((uint64_t)seed * below) >> 32);
}

/* The true device time at which the work of a call arrives, if the call returned at host time `host`. */
static int64_t truth(int64_t host, double drift)
{
    return host + OFFSET + DELAY + (int64_t)(drift * (double)host);
}

static void probe(int64_t host, double drift, int64_t late)
{
    arrival_learn(&arrival, host, (truth(host, drift) + late) / ROUNDED * ROUNDED, 0);
}

static double off_at(int64_t host, double drift)
{
    double variance;
    return (double)(arrival_of(&arrival, host, &variance) + HALF - truth(host, drift));
}

static void nothing_is_known_before_the_first_probe(void **state)
{
    (void)state;
    assert_false(arrival_known(&arrival));
    probe(1000000, 0, 0);
    assert_true(arrival_known(&arrival));
    assert_true(off_at(1000000, 0) < ROUNDED && off_at(1000000, 0) > -ROUNDED);
}

static void many_probes_are_better_than_one_event(void **state)
{
    (void)state;
    int64_t host = 1000000;
    for (int i = 0; i < 40; i++, host += PERIOD + draw(100000))
        probe(host, 20e-6, 0);
    for (int64_t since = -PERIOD; since <= PERIOD; since += PERIOD / 4) {
        double off = off_at(host + since, 20e-6);
        assert_true(off < 200 && off > -200);
    }
}

static void the_variance_tells_how_far_off_it_is(void **state)
{
    (void)state;
    unsigned inside = 0, all = 0;
    for (int run = 0; run < 50; run++) {
        double drift = ((int)draw(100) - 50) * 1e-6;
        int64_t host = 1000000;
        arrival = (struct arrival){ 0 };
        for (int i = 0; i < 20; i++, host += PERIOD / 4 + draw(100000)) {
            probe(host, drift, 0);
            double variance;
            arrival_of(&arrival, host + PERIOD / 8, &variance);
            double off = off_at(host + PERIOD / 8, drift);
            inside += off * off <= 2.6 * 2.6 * variance;
            all++;
        }
    }
    assert_true(inside * 100 >= all * 97);
}

static void it_grows_with_the_distance(void **state)
{
    (void)state;
    double near, far;
    probe(1000000, 0, 0);
    arrival_of(&arrival, 1000000 + PERIOD / 10, &near);
    arrival_of(&arrival, 1000000 + PERIOD, &far);
    assert_true(far > near);
}

static void a_probe_that_is_late_is_passed_over(void **state)
{
    (void)state;
    int64_t host = 1000000;
    for (int i = 0; i < 20; i++, host += PERIOD)
        probe(host, 0, 0);
    probe(host, 0, 50000);
    assert_int_equal(arrival.probes, 20);
    assert_true(off_at(host, 0) < 300);
}

static void many_that_agree_begin_it_anew(void **state)
{
    (void)state;
    int64_t host = 1000000;
    for (int i = 0; i < 20; i++, host += PERIOD)
        probe(host, 0, 0);
    for (int i = 0; i < 8; i++, host += PERIOD)
        probe(host, 0, 50000);
    double off = off_at(host, 0) - 50000;
    assert_true(off < 300 && off > -300);
}

static void a_probe_known_to_be_late_counts_less(void **state)
{
    (void)state;
    double exact, late;
    arrival_learn(&arrival, 1000000, 2000000, 0);
    arrival_of(&arrival, 1000000, &exact);
    arrival = (struct arrival){ 0 };
    arrival_learn(&arrival, 1000000, 2000000, 10000);
    arrival_of(&arrival, 1000000, &late);
    /* the probe may be 10000 late; its standard deviation is half of that */
    assert_true(late == exact + 5000.0 * 5000);
}

/* If six probes in a row are all earlier, or all later, than expected, the estimate starts anew. A probe that is as
 * expected, or off in the other direction, interrupts the series. */
static void fewer_than_six_in_a_row_change_nothing(void **state)
{
    (void)state;
    int64_t host = 1000000;
    for (int i = 0; i < 20; i++, host += PERIOD)
        probe(host, 0, 0);
    for (int i = 0; i < 5; i++)
        probe(host += PERIOD, 0, 50000);
    probe(host += PERIOD, 0, 0);
    for (int i = 0; i < 5; i++)
        probe(host += PERIOD, 0, -50000);
    assert_int_equal(arrival.probes, 21);
    assert_true(off_at(host, 0) < 300 && off_at(host, 0) > -300);
    probe(host + PERIOD, 0, -50000);
    assert_int_equal(arrival.probes, 1);
}

/* A clock's drift changes, so even a well-known clock becomes uncertain. The error grows with the time from the last
 * probe, both before and after the probe. */
static void a_second_adds_to_the_variance(void **state)
{
    (void)state;
    enum { SECOND = 1000000000, VARIANCE = 100 };
    const struct arrival known = { .at = SECOND, .var = VARIANCE, .probes = 10 };
    double variance;
    for (int64_t host = 0; host <= 2ll * SECOND; host += 2ll * SECOND) {
        arrival = known;
        assert_int_equal(arrival_of(&arrival, host, &variance), host);
        assert_true(variance == VARIANCE + 150.0 * 150);
        arrival_learn(&arrival, host, host, 0);
        assert_true(arrival.dvar == 1e-16);
    }
}

static void roots_are_right(void **state)
{
    (void)state;
    assert_true(ws_root(0) == 0 && ws_root(-1) == 0);
    double value = 1e-12;
    for (int i = 0; i < 42; i++, value *= 7.3) {
        double square = ws_root(value) * ws_root(value);
        assert_true(square > value * (1 - 4e-6) && square < value * (1 + 4e-6));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_known_before_the_first_probe, begin_anew),
        cmocka_unit_test_setup(many_probes_are_better_than_one_event, begin_anew),
        cmocka_unit_test_setup(the_variance_tells_how_far_off_it_is, begin_anew),
        cmocka_unit_test_setup(it_grows_with_the_distance, begin_anew),
        cmocka_unit_test_setup(a_probe_that_is_late_is_passed_over, begin_anew),
        cmocka_unit_test_setup(many_that_agree_begin_it_anew, begin_anew),
        cmocka_unit_test_setup(a_probe_known_to_be_late_counts_less, begin_anew),
        cmocka_unit_test_setup(fewer_than_six_in_a_row_change_nothing, begin_anew),
        cmocka_unit_test_setup(a_second_adds_to_the_variance, begin_anew),
        cmocka_unit_test(roots_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
