/* Tests of shim/timing/device_clock, which compares the host's clock with the device's by probes. A probe is an event
 * of the shim's own, recorded and queried at known host times. The true time must always lie within the stated
 * error. */
#include "fake_device.h"

/* --- comparisons by probes ---------------------------------------------------------------------- */

static void a_probe_lies_between_its_call_and_its_query(void **state)
{
    (void)state;
    assert_false(device_clock_known(&context));
    assert_true(device_clock_keep(&context, now, &row));
    assert_true(device_clock_known(&context));
    int64_t took = last_probe.seen - last_probe.before;
    assert_int_equal(row.context, 7);
    assert_int_equal(row.host_ns, last_probe.before + took / 2);
    assert_int_equal(row.error_ns, took / 2 + RESOLUTION);
    assert_in_range(llabs(truth(row.host_ns) - row.device_ns), 0, row.error_ns);
    /* submit_ns is twice the time that an event takes to pass in an idle stream: real work is allowed twice the time
     * of an event. */
    assert_int_equal(context.shortest_submit, last_probe.seen - last_probe.recorded + RESOLUTION);
    assert_int_equal(context.submit_ns, 2 * context.shortest_submit);
    assert_int_equal(context.settle_ns, context.shortest_submit);
    assert_int_equal(context.arrival.probes, 1);
    assert_int_equal(context.arrival.base, row.device_ns - last_probe.recorded);
    /* the second term: the first probe may be slow, so half of `took` is its standard deviation */
    assert_true(context.arrival.var == 200.0 * 200 + (double)took / 2 * (double)took / 2);
    assert_false(device_clock_keep(&context, now, &row)); /* it is too early for a new comparison */
    /* The second comparison follows soon after the first, so that the drift is soon known. */
    int64_t began = now;
    assert_false(device_clock_keep(&context, began + 49000000, &row));
    assert_true(device_clock_keep(&context, began + 51000000, &row));
    assert_in_range(llabs(truth(row.host_ns) - row.device_ns), 0, row.error_ns);
}

/* The clock uses the shortest submit time (from the recording of an event until it passes) of about the last 15
 * seconds. */
static void work_takes_as_long_as_the_shortest_lately(void **state)
{
    (void)state;
    static const int64_t takes[] = { 9000, 1500, 9000 };
    for (int i = 0; i < 3; i++, now = context.next_fit) {
        submit = takes[i];
        device_clock_keep(&context, now, &row);
        int64_t seen = takes[i ? 1 : 0];
        assert_in_range(context.shortest_submit, seen + RESOLUTION - CALL, seen + RESOLUTION + CALL);
        assert_int_equal(context.submit_ns, 2 * context.shortest_submit);
        assert_int_equal(context.settle_ns, ws_min(context.shortest_submit, 3000u));
    }
    for (int i = 0; i < 63; i++, now = context.next_fit)
        device_clock_keep(&context, now, &row);
    assert_int_equal(context.fits, 66);
    assert_in_range(context.shortest_submit, 9000 + RESOLUTION - CALL, 9000 + RESOLUTION + CALL);
    double before = context.arrival.var;
    unsigned probes = context.arrival.probes;
    double kept = context.arrival.var;
    context.probes = 64; /* the search begins anew with the next probe; the shortest one so far still counts for it */
    submit = 9000 + 50 * CALL;
    device_clock_keep(&context, now, &row);
    now = context.next_fit;
    assert_true(context.arrival.var > kept);
    before = context.arrival.var;
    probes = context.arrival.probes;
    submit = 9000 + 150 * CALL; /* a probe that takes so long is known to be late, so it counts little */
    device_clock_keep(&context, now, &row);
    assert_int_equal(context.arrival.probes, probes + 1);
    assert_true(context.arrival.var > before);
}

/* If the probing thread is held up at the end of the call, the event seems to pass early. Such a probe must neither
 * shorten the submit time nor move the estimate of arrivals. */
static void a_call_that_returns_late_counts_little(void **state)
{
    (void)state;
    submit = 6000;
    for (int i = 0; i < 3; i++, now = context.next_fit)
        device_clock_keep(&context, now, &row);
    uint32_t before = context.shortest_submit;
    held_up = 4000;
    unsigned probes = context.arrival.probes;
    device_clock_keep(&context, now, &row);
    held_up = 0;
    assert_int_equal(context.arrival.probes, probes + 1);
    assert_in_range(context.shortest_submit, before - CALL, before); /* polling is as exact as a call is long */
    double variance;
    assert_in_range(llabs(arrival_of(&context.arrival, now, &variance) - truth(now + submit)), 0, 500);
}

/* If only some operations get events (WS_EVENTS_SAMPLED), the first comparisons follow each other more closely. */
static void sampled_events_need_the_drift_sooner(void **state)
{
    (void)state;
    shim_options.event_placement = WS_EVENTS_SAMPLED;
    static const int64_t pauses[] = { 2500000, 25000000, 250000000 };
    for (int i = 0; i < 14; i++) {
        int64_t pause = pauses[(i >= 4) + (i >= 12)], next = context.next_fit;
        assert_false(i && device_clock_keep(&context, next - 1, &row));
        now = i ? next : now;
        int64_t began = now;
        assert_true(device_clock_keep(&context, began, &row));
        assert_int_equal(context.next_fit - began, i == 3 || i == 11 ? pauses[1 + (i == 11)] : pause);
    }
}

static void a_clock_that_drifts_is_followed(void **state)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        begin_anew(state);
        drift = sign * 80e-6;
        int64_t error;
        for (int64_t until = now + 40ll * SECOND; now < until; now += ROUND) {
            device_clock_keep(&context, now, &row);
            check_conversion(now);
            check_conversion(now - SECOND / 2);
            check_conversion(now + SECOND / 2);
            device_clock_from_host(&context, now + SECOND / 2, &error);
            assert_true(context.fits < 6 || error < 15000); /* after six comparisons the drift is known */
        }
        device_clock_from_host(&context, now + SECOND / 2, &error);
        assert_in_range(error, RESOLUTION, 2500);
        /* The two comparisons that give the drift are less than 16 s apart. */
        assert_true(context.last_fit.device_ns - context.first_fit.device_ns < 16ll * SECOND);
        assert_true(context.last_fit.device_ns - context.first_fit.device_ns > SECOND / 2);
    }
}

static void events_are_measured_from_the_last_base(void **state)
{
    (void)state;
    ws_CUevent event = (ws_CUevent)(uintptr_t)(MARKS - 1);
    drift = 50e-6;
    unsigned changes = 0, before = 0;
    int64_t origin = INT64_MIN;
    for (int64_t until = now + 10ll * SECOND; now < until; now += ROUND) {
        device_clock_keep(&context, now, &row);
        if (origin == INT64_MIN)
            origin = truth(0);
        changes += context.current_base != before;
        before = context.current_base;
        int64_t time;
        uint32_t error;
        mark(event, submit);
        assert_int_equal(device_clock_read(&context, event, &time, &error), WS_CUDA_SUCCESS);
        assert_in_range(llabs(time - truth(now + submit)), 0, error);
        assert_in_range(error, RESOLUTION, RESOLUTION + 123); /* from 1024 ms on, float32 has steps of 122 ns */
        assert_in_range(llabs(truth(0) - origin), 0, 10 * 31);
    }
    assert_in_range(changes, 8, 10); /* the base event, from which others are measured, changes once a second */
}

/* A comparison makes at least three probes and uses the shortest of them. */
static void a_slow_probe_does_not_count(void **state)
{
    (void)state;
    slow_by = 40000;
    slow_every = 2;
    for (int i = 0; i < 200; i++, now += ROUND) {
        device_clock_keep(&context, now, &row);
        if (i)
            assert_in_range(context.last_fit.error, RESOLUTION, 2500);
    }
}

/* A comparison goes on until a probe is undisturbed, but makes at most sixteen. */
static void an_undisturbed_probe_ends_a_comparison(void **state)
{
    (void)state;
    static const unsigned quick[] = { 10, 20 }, made[] = { 10, 16 };
    for (int i = 0; i < 4; i++, now = context.next_fit)
        device_clock_keep(&context, now, &row);
    unsigned before = records;
    device_clock_keep(&context, now, &row);
    assert_int_equal(records - before, 3); /* nothing disturbs these */
    slow_by = 100000;
    slow_every = 1;
    for (int i = 0; i < 2; i++) {
        now = context.next_fit;
        before = records;
        quick_at = before + quick[i];
        assert_int_equal(device_clock_keep(&context, now, &row), i == 0);
        assert_int_equal(records - before, made[i]);
        assert_in_range(context.last_fit.error, RESOLUTION, 2500);
    }
}

/* If all probes are slow, the last good comparison stays in use until the clocks may have drifted apart by more than
 * the error of a slow probe. */
static void a_slow_comparison_is_not_taken(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++, now += ROUND)
        device_clock_keep(&context, now, &row);
    unsigned fits = context.fits;
    slow_by = 100000;
    slow_every = 1;
    now = context.next_fit;
    int64_t began = now;
    assert_false(device_clock_keep(&context, began, &row)); /* 250 ms after the last comparison */
    assert_int_equal(context.fits, fits);
    assert_int_equal(context.next_fit - began, 25000000); /* the next try comes after 25 ms */
    began = now += 200000000;
    device_clock_keep(&context, began, &row);
    assert_int_equal(context.fits, fits);
    /* the clocks may have drifted by 100 ppm of over 500 ms: more than the 50 µs that a slow probe may be off */
    began = now += 100000000;
    assert_true(device_clock_keep(&context, began, &row));
    assert_int_equal(context.fits, fits + 1);
    check_conversion(now);
}

/* The first comparisons of the clocks are often disturbed. They are not used at once, because a better one may follow
 * soon. */
static void the_first_good_comparison_is_waited_for(void **state)
{
    (void)state;
    slow_by = 20000;
    slow_every = 1;
    assert_false(device_clock_keep(&context, now, &row));
    assert_false(device_clock_known(&context));
    assert_false(device_clock_keep(&context, now, &row));
    slow_every = 0;
    assert_true(device_clock_keep(&context, now, &row)); /* the next comparison is good */
    assert_true(device_clock_known(&context));
    assert_in_range(row.error_ns, RESOLUTION, 2500);
    /* The good comparison replaces the inexact ones before it, so the drift is computed from this one on. */
    assert_int_equal(context.first_fit.device_ns, context.last_fit.device_ns);
}

static void a_good_comparison_is_not_waited_for_long(void **state)
{
    (void)state;
    slow_by = 20000;
    slow_every = 1;
    int64_t began = now;
    while (now < began + 49000000) {
        assert_false(device_clock_keep(&context, now, &row));
        assert_false(device_clock_known(&context));
        now += 2000000;
    }
    now = began + 51000000;
    assert_true(device_clock_known(&context));
    assert_true(device_clock_keep(&context, now, &row));
    assert_in_range(row.error_ns, 10000, 13000);
    assert_in_range(llabs(truth(row.host_ns) - row.device_ns), 0, row.error_ns);
}

/* The device is so busy that the shim's events never pass in time. That means that the program's work and the shim's
 * share one hardware queue. From then on the shim records no events of its own for the clock. */
static void a_device_that_is_always_busy_has_one_queue(void **state)
{
    (void)state;
    busy = true;
    for (int i = 0; i < MOST_FAILED_PROBES; i++) {
        assert_false(context.one_queue);
        int64_t began = now;
        assert_false(device_clock_keep(&context, began, &row));
        assert_in_range(now - began, PROBE_DEADLINE, PROBE_DEADLINE + 10 * CALL);
        unsigned recorded = records;
        assert_false(device_clock_keep(&context, began + ROUND - 1, &row));
        assert_int_equal(records, recorded); /* the shim makes no probe for a while */
        assert_false(device_clock_known(&context));
        now = began + ROUND;
    }
    assert_true(context.one_queue);
}

static void a_busy_time_later_changes_nothing(void **state)
{
    (void)state;
    device_clock_keep(&context, now, &row);
    unsigned fits = context.fits, base = context.current_base;
    busy = true;
    for (int i = 0; i < 2 * MOST_FAILED_PROBES; i++, now += ROUND)
        assert_false(device_clock_keep(&context, now, &row));
    assert_int_equal(context.fits, fits);
    assert_int_equal(context.current_base, base);
    assert_false(context.one_queue);
    assert_true(device_clock_known(&context));
    busy = false;
    now = context.next_fit;
    assert_true(device_clock_keep(&context, now, &row));
}

/* A comparison needs a stream, and none can be created while another stream is being captured. A destroyed context is
 * never used. */
static void at_times_no_comparison_can_be_made(void **state)
{
    (void)state;
    fails = WS_CUDA_ERROR_INVALID_HANDLE;
    assert_false(device_clock_keep(&context, now, &row));
    fails = WS_CUDA_SUCCESS;
    shim_capture_begins();
    assert_false(device_clock_keep(&context, now, &row));
    shim_capture_ends();
    assert_int_equal(events, 0);
    assert_true(device_clock_keep(&context, now, &row));
    shim_capture_begins();
    now = context.next_fit;
    assert_true(device_clock_keep(&context, now, &row));
    shim_capture_ends();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_probe_lies_between_its_call_and_its_query, begin_anew),
        cmocka_unit_test_setup(work_takes_as_long_as_the_shortest_lately, begin_anew),
        cmocka_unit_test_setup(a_call_that_returns_late_counts_little, begin_anew),
        cmocka_unit_test_setup(sampled_events_need_the_drift_sooner, begin_anew),
        cmocka_unit_test_setup(a_clock_that_drifts_is_followed, begin_anew),
        cmocka_unit_test_setup(events_are_measured_from_the_last_base, begin_anew),
        cmocka_unit_test_setup(a_slow_probe_does_not_count, begin_anew),
        cmocka_unit_test_setup(an_undisturbed_probe_ends_a_comparison, begin_anew),
        cmocka_unit_test_setup(a_slow_comparison_is_not_taken, begin_anew),
        cmocka_unit_test_setup(the_first_good_comparison_is_waited_for, begin_anew),
        cmocka_unit_test_setup(a_good_comparison_is_not_waited_for_long, begin_anew),
        cmocka_unit_test_setup(a_device_that_is_always_busy_has_one_queue, begin_anew),
        cmocka_unit_test_setup(a_busy_time_later_changes_nothing, begin_anew),
        cmocka_unit_test_setup(at_times_no_comparison_can_be_made, begin_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
