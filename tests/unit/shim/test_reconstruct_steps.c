/* Tests of shim/timing/reconstruct: each step of the arithmetic in numbers. test_reconstruct.c tests whole windows. A
 * run is a series of operations without a pause. `line` is the state of the computation of a stream's times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* reconstruct.c is compiled in here, so that its steps can be called one at a time. */
#include "shim/timing/reconstruct.c" // NOLINT(bugprone-suspicious-include)

#include "shim/objects/shapes.h"
#include "timed_ops.h"

/* --- back: an event corrects the times before it ---------------------------------------------- */

static void an_event_tells_if_it_came_well_before_it_passed(void **state)
{
    (void)state;
    struct pool_event event = { .time = 100000 + 1000 + 380 };
    struct instant arrived = { 100000, 0 }; /* standard deviation of an event's time: 150; 2.6 times that: 390 */
    assert_false(event_tells(&event, arrived));
    event.time += 20;
    assert_true(event_tells(&event, arrived));
    arrived.var = 300 * 300 - 150 * 150;
    assert_false(event_tells(&event, arrived));
    event.time += 390;
    assert_true(event_tells(&event, arrived));
}

static void an_event_that_tells_is_learned_from(void **state)
{
    (void)state;
    struct pool_event event = { .time = 3100 };
    for (int tells = 0; tells < 2; tells++) {
        set_duration(1, 1000, 1000, 0);
        set_op(&ops[0], 1000, 2000, 0, 1000);
        set_op(&ops[1], 2000, 3000, 1000, 2000);
        line.seen = 1;
        anchor(&context, &ops[0], &ops[1], &event, EVENT, tells ? TOLD_END : TOLD_NOTHING, &line);
        double all = EVENT + 4 * 1000;
        assert_near((double)duration_of(1)->mean, tells ? 1000 + 2000 / all * 100 : 1000);
        assert_near(line.seen, tells ? 1 + (100 * 100 / all - 1) / 8 : 1);
        assert_int_equal(ops[1].op.end, tells ? 3100 : 3000); /* 3000: the end may lie before its event */
    }
    /* A run of a single operation does not change the duration here: that operation counts as a sample elsewhere. */
    set_duration(1, 1000, 1000, 0);
    anchor(&context, &ops[0], &ops[0], &event, EVENT, TOLD_SURELY, &line);
    assert_true(duration_of(1)->mean == 1000);
}

/* Any event passed after the end of its operation. So if the computed end is later than the event, the end is moved
 * to before the event. The later the computed end was, the closer to the event it is put. */
static void no_end_is_after_its_event(void **state)
{
    (void)state;
    struct pool_event event = { .time = 2900 };
    set_duration(1, 2000, 0, 100 * 100);
    set_op(&ops[0], 1000, 3000, 0, 0);
    anchor(&context, &ops[0], &ops[0], &event, 400, TOLD_NOTHING, &line);
    assert_in_range(ops[0].op.end, 2850, 2851); /* 50 before the event: 100² / (100 + 100) */
    assert_near((double)ops[0].end_var, 400 + 50 * 50);
    assert_int_equal(line.free, ops[0].op.end);
}

/* The computed begin is late, as the operation before may have taken long. But an early event refutes this begin. */
static void an_early_event_puts_the_begin_at_the_arrival(void **state)
{
    (void)state;
    struct pool_event event = { .time = 5500 };
    set_duration(1, 20000, 0, 10000.0f * 10000);
    set_op(&ops[0], 9000, 29000, 5000.0f * 5000, 10000.0f * 10000);
    ops[0].op.host_end = 1000; /* the launch arrives at 2500, and can begin at 3500 */
    anchor(&context, &ops[0], &ops[0], &event, EVENT, TOLD_NOTHING, &line);
    assert_in_range(ops[0].op.begin, 3400, 3500);
    assert_int_equal(ops[0].op.end, 4500);
    state_times(&context, &(float){ 0 }, &ops[0], &ops[0]);
    assert_true(ops[0].op.begin_error < 1000 && ops[0].op.end_error >= 1000);
    /* If the event passed before the launch arrived, the event was another thread's. The length stays between 0 and
     * 20000. */
    event.time = -1000000;
    set_op(&ops[0], 9000, 29000, 5000.0f * 5000, 10000.0f * 10000);
    anchor(&context, &ops[0], &ops[0], &event, EVENT, TOLD_NOTHING, &line);
    assert_in_range(ops[0].op.end - ops[0].op.begin, 0, 20000);
}

/* An operation that was queued behind another one cannot have begun at its launch's arrival, which was long before.
 * It ended by the event, so it is put before the event. */
static void an_early_event_leaves_a_queued_operation_behind_the_one_before_it(void **state)
{
    (void)state;
    struct pool_event event = { .time = 11000000 };
    set_duration(1, 2000, 0, 100 * 100);
    set_op(&ops[1], 11005000, 11007000, 5000.0f * 5000, 5000.0f * 5000);
    ops[1].op.host_end = 1000;
    anchor(&context, &ops[1], &ops[1], &event, EVENT, TOLD_NOTHING, &line);
    assert_in_range(ops[1].op.begin, 10997000, 11000000);
    assert_in_range(ops[1].op.end, ops[1].op.begin, 11000000);
}

/* A kernel of 1 us in an idle stream ended 5 ms late. So it began late; it did not take 5 ms. */
static void what_ends_very_late_began_late(void **state)
{
    (void)state;
    struct pool_event event = { .time = 5002000 };
    set_duration(1, 1000, 100, 0);
    set_op(&ops[0], 1000, 2000, 100, 100);
    anchor(&context, &ops[0], &ops[0], &event, EVENT, TOLD_END, &line);
    assert_int_equal(ops[0].op.end, 5002000);
    assert_in_range(ops[0].op.begin, 5000000, 5001000);
    state_times(&context, &(float){ 0 }, &ops[0], &ops[0]);
    assert_in_range(ops[0].op.begin_error, 4999000, 5001000);
    assert_in_range(ops[0].op.end_error, SYSTEMATIC, SYSTEMATIC + 400);
}

/* ops[2], a run of its own, took 50 us longer than expected. Perhaps each operation before it took as much longer. */
static void a_run_far_off_makes_those_before_it_unsure(void **state)
{
    (void)state;
    struct pool_event event = { .time = 54000 };
    set_duration(1, 1000, 100, 0);
    for (int i = 0; i < 3; i++)
        set_op(&ops[i], 1000 + 1000 * i, 2000 + 1000 * i, 100, 100);
    ops[1].queued = true;
    ops[2].queued = false;
    anchor(&context, &ops[0], &ops[2], &event, EVENT, TOLD_END, &line);
    state_times(&context, &(float){ 0 }, &ops[0], &ops[2]);
    assert_in_range(ops[0].op.begin_error, SYSTEMATIC + 35, SYSTEMATIC + 37); /* 26, times a tail of 1.4 */
    assert_in_range(ops[0].op.end_error, 50000, 50300);
    assert_in_range(ops[1].op.begin_error, 50000, 50300);
    assert_in_range(ops[1].op.end_error, 100000, 100300);
    assert_in_range(ops[2].op.end_error, SYSTEMATIC + 300, SYSTEMATIC + 400);
}

/* --- measured operations ------------------------------------------------------------------------- */

static void settle_pair(int64_t begin, int64_t end)
{
    put_event(FIRST, begin);
    put_event(SECOND, end);
    ops[0].begin_event = FIRST;
}

static void a_gated_launch_by_its_two_events(void **state)
{
    (void)state;
    context.dispatch = (struct dispatch){ 0 };
    settle_pair(10000, 12000 + DISPATCH_ASSUMED + AROUND_KERNEL);
    ops[0].detail |= WS_RING_OP_GATED;
    assert_true(settle_last(&stream, &ops[0], &events[0], &events[1], &line));
    check_op(&ops[0], 12150, 14150, EVENT + 100 * 100 + 500 * 500, EVENT);
    assert_near((double)duration_of(1)->mean, 2000);
    /* The variance of two events, and that of the dispatch (the device's time around a kernel), which is not yet
     * measured. */
    assert_near((double)(duration_of(1)->var - duration_of(1)->spread), 2 * EVENT + 100 * 100 + 500 * 500);
    assert_true(context.dispatch.wanted);
    assert_int_equal(line.free, 14150);
    context.dispatch = (struct dispatch){ .mean = 800, .var = 50, .count = 4 };
    *duration_of(1) = (struct duration){ 0 };
    settle_gated(&context, &ops[0], &events[0], &events[1], &line);
    check_op(&ops[0], 11700, 14150, EVENT + 100 * 100 + 50, EVENT);
    assert_near((double)(duration_of(1)->var - duration_of(1)->spread), 2 * EVENT + 100 * 100 + 50);
    settle_pair(10000, 10300); /* shorter than a dispatch; the computed length must not be negative */
    settle_gated(&context, &ops[0], &events[0], &events[1], &line);
    check_op(&ops[0], 10300, 10300, EVENT + 100 * 100 + 50, EVENT);
}

static void a_sample_needs_both_events_and_no_other_work(void **state)
{
    (void)state;
    static const struct {
        uint32_t flags, late;
        bool tells, sampled;
    } cases[] = { { 0, 100, true, true }, { WS_OP_CONTENDED, 100, true, false }, { 0, UINT32_MAX, false, false } };
    settle_pair(2000, 10000000000);
    for (int i = 0; i < 3; i++) {
        *duration_of(1) = (struct duration){ 0 };
        ops[0].op.flags = cases[i].flags;
        ops[0].late = cases[i].late;
        line_begin(&line, 0, 0);
        assert_int_equal(settle_last(&stream, &ops[0], &events[0], &events[1], &line) != TOLD_NOTHING,
                         cases[i].tells);
        assert_int_equal(duration_of(1)->samples, cases[i].sampled);
    }
}

/* Behind a gate (a wait that holds the stream) all launches are measured, even short ones. If a kernel has samples
 * behind gates, its other samples count only if its duration is steady, or if the end was sure to be measured. */
static void a_kernel_with_fair_samples_needs_no_others(void **state)
{
    (void)state;
    settle_pair(2000, 10000);
    for (int gated = 0; gated < 2; gated++) {
        set_duration(1, 5000, 100, 3000 * 3000);
        duration_of(1)->gated = gated;
        line_begin(&line, 0, 0);
        assert_int_equal(settle_last(&stream, &ops[0], &events[0], &events[1], &line), TOLD_END);
        assert_int_equal(duration_of(1)->samples, gated ? 5 : 6);
    }
    duration_of(1)->spread = 700 * 700; /* now the duration is steady */
    line_begin(&line, 0, 0);
    settle_last(&stream, &ops[0], &events[0], &events[1], &line);
    assert_int_equal(duration_of(1)->samples, 6);
}

/* The launch may have arrived 995 us before its call returned, so the kernel may have taken about 1000 us. */
static void a_bound_covers_an_uncertain_begin(void **state)
{
    (void)state;
    ops[0].op.host_end = 1000000;
    ops[0].late = 2500;
    put_event(SECOND, 1004000);
    settle_last(&stream, &ops[0], NULL, &events[SECOND - 1], &line);
    assert_in_range((int)duration_of(1)->most, 995000, 1000000);
}

static void a_begin_event_says_when_the_stream_was_free(void **state)
{
    (void)state;
    set_duration(1, 1000, 0, 0);
    settle_pair(30000, 100000);
    line_begin(&line, 20000, 0);
    settle_last(&stream, &ops[0], &events[0], &events[1], &line);
    double dispatch_var = 500 * 500 + AROUND_UNSURE * AROUND_UNSURE;
    check_op(&ops[0], 32230, 33230, EVENT + dispatch_var, EVENT);
    line_begin(&line, 30000, 600 * 600); /* the event showed the end before it, but not surely */
    settle_last(&stream, &ops[0], &events[0], &events[1], &line);
    assert_near((double)ops[0].begin_var, EVENT + dispatch_var);
    line_begin(&line, 40000, 77); /* by the computed times, the event passed while the stream was busy */
    settle_last(&stream, &ops[0], &events[0], &events[1], &line);
    assert_int_equal(ops[0].op.begin, 41000);
    assert_near((double)ops[0].begin_var, 77);
}

/* --- a window (operations whose times are computed together) ---------------------------------- */

static void set_stream(int64_t free, float var, float seen)
{
    stream.line.known = true;
    stream.line.behind_event = false;
    stream.line.free = free;
    stream.line.var = var;
    stream.line.seen = seen;
    stream.line.tail = 1;
    stream.line.apart = 0;
}

static void a_stream_keeps_how_sure_it_is(void **state)
{
    (void)state;
    set_duration(1, 10000, 100 * 100, 7);
    set_stream(50000, 11, 2.5f);
    reconstruct(&stream, &ops[0], &ops[1], 0);
    check_op(&ops[1], 62000, 72000, 11 + 7 + 100 * 100, 11 + 14 + 200 * 200);
    assert_int_equal(stream.line.free, 72000);
    assert_near((double)stream.line.var, 11 + 14 + 200 * 200);
    assert_near((double)stream.line.seen, 2.5);
    /* An event that could not be read changes nothing. */
    put_event(FIRST, 90000);
    events[0].state = EVENT_FAILED;
    set_stream(50000, 11, 2.5f);
    reconstruct(&stream, &ops[0], &ops[1], FIRST);
    assert_int_equal(ops[1].op.end, 72000);
    assert_int_equal(ws_op_end_quality(&ops[1].op), WS_TIME_INFERRED);
}

/* The count of far-off runs in a row stops at 100, and does not overflow. */
static void a_long_row_of_runs_is_counted_to_100(void **state)
{
    (void)state;
    for (int side = -1; side <= 1; side += 2) {
        for (int i = 0; i < 2; i++)
            ops[i].op.flags = 0;
        set_duration(1, 10000, 1, 1);
        set_stream(50000, 1, 1);
        stream.line.apart = (int8_t)(100 * side);
        put_event(FIRST, 72000 + 9000 * side);
        ops[1].late = 100;
        reconstruct(&stream, &ops[0], &ops[1], FIRST);
        assert_int_equal(stream.line.apart, 100 * side);
    }
}

/* The begin event of the last operation corrects the times of the operations before it. A begin event is less certain
 * than an end event. */
static void a_begin_event_ends_the_run_before_it(void **state)
{
    (void)state;
    set_duration(1, 10000, 1000, 0);
    set_stream(50000, 0, 1);
    ops[0].op.host_end = ops[1].op.host_end = 1000;
    ops[1].begin_event = FIRST;
    ops[1].late = 100;
    put_event(FIRST, 61500);
    put_event(SECOND, 73730);
    reconstruct(&stream, &ops[0], &ops[1], SECOND);
    check_op(&ops[0], 51000, 61500, 0, BEGIN_EVENT);
    /* an operation begins 2230 ns after an event, but 1000 ns after another operation */
    assert_int_equal(ops[1].op.begin, 63730);
    assert_int_equal(ops[1].op.end, 73730);
    assert_int_equal(stream.line.free, 73730);
    assert_true(stream.line.behind_event);
    assert_near((double)stream.line.var, EVENT);
}

/* A gate is opened some time after the end event was queued. The begin event behind the gate passes only after the
 * opening, even in an idle stream, and a device may notice the opening late. So the begin event tells when the
 * operation before the gate ended only if that operation surely ran until the gate was open. */
static void a_gate_that_opened_tells_nothing_of_what_was_before(void **state)
{
    (void)state;
    static const struct {
        int64_t free, passed;
        float var;
        int64_t end;
    } cases[] = { { 50000, 77000, 100, 61000 },         /* the operation surely ended before the gate was open */
                  { 50000, 77000, 4000 * 4000, 61000 }, /* it may have run until then */
                  { 80000, 92000, 100, 92000 } };
    for (int i = 0; i < 3; i++) {
        set_duration(1, 10000, 0, 0);
        set_stream(cases[i].free, cases[i].var, 1);
        ops[0].op.host_begin = 39000;
        ops[0].op.host_end = 40000;
        ops[1].detail = WS_RING_OP_COMPUTED | WS_RING_OP_GATED;
        ops[1].op.host_begin = 69000;
        ops[1].op.host_end = 70000;
        ops[1].late = 100;
        ops[1].begin_event = FIRST;
        put_event(FIRST, cases[i].passed);
        put_event(SECOND, 110000);
        reconstruct(&stream, &ops[0], &ops[1], SECOND);
        assert_int_equal(ops[0].op.end, cases[i].end);
    }
}

/* The line's tail (runs.h) widens the errors of times that no event corrects. */
static void a_tail_widens_errors(void **state)
{
    (void)state;
    for (int tail = 1; tail <= 2; tail++) {
        set_duration(1, 10000, 0, 1000 * 1000);
        set_stream(50000, 0, 1);
        stream.line.tail = (float)tail;
        ops[0].op.host_end = 40000;
        ops[1].op.host_end = 100000; /* the stream is idle before it */
        ops[1].late = 100;
        put_event(FIRST, 111500);
        reconstruct(&stream, &ops[0], &ops[1], FIRST);
        assert_in_range(ops[0].end_var, tail == 1 ? 1000000 : 3900000, tail == 1 ? 1000000 : 4000000);
        assert_true(stream.line.tail <= (float)tail); /* the event was as expected */
    }
}

/* An operation that is timed only by its events keeps the times and errors from these events. */
static void events_alone_time_what_is_not_computed(void **state)
{
    (void)state;
    set_duration(1, 10000, 0, 0);
    set_stream(50000, 0, 1);
    ops[1].detail = 0;
    ops[1].begin_event = FIRST;
    ops[1].op.host_end = 1000;
    ops[1].inner = WS_RING_OP_OWN_BEGIN;
    put_event(FIRST, 100000);
    put_event(SECOND, 150000);
    reconstruct(&stream, &ops[0], &ops[1], SECOND);
    assert_int_equal(ops[1].op.begin, 102230); /* 1000 - AFTER_KERNEL + AROUND_KERNEL ns after the event */
    assert_int_equal(ops[1].op.begin_error, 2030);
    assert_int_equal(ops[1].op.end, 150000);
    assert_int_equal(ops[1].op.end_error, 1500);
    assert_int_equal(ws_op_begin_quality(&ops[1].op), WS_TIME_MEASURED);
    assert_int_equal(ws_op_begin_quality(&ops[0].op), WS_TIME_INFERRED);
    assert_int_equal(stream.line.free, 150000);
    assert_true(stream.line.behind_event);
    assert_near((double)stream.line.var, EVENT);
}

/* The times of a copy that is not measured are computed from those of measured copies of about the same size. */
static void copies_are_computed_from_measured_ones(void **state)
{
    (void)state;
    assert_int_equal(kernel_shapes_begin(KINDS), 0);
    for (int i = 0; i < OPS; i++) {
        ops[i].kind = WS_OP_COPY;
        ops[i].direction = COPY_TO_DEVICE;
        ops[i].op.bytes = 4096 + (uint64_t)i;
        ops[i].op.host_end = 1000;
    }
    ops[0].detail = 0;
    ops[0].begin_event = FIRST;
    ops[0].inner = WS_RING_OP_OWN_BEGIN;
    put_event(FIRST, 100000);
    put_event(SECOND, 150000);
    set_stream(50000, 0, 1);
    reconstruct(&stream, &ops[0], &ops[0], SECOND);
    int64_t length = ops[0].op.end - ops[0].op.begin;
    assert_near(duration_expected(duration_of_other(1, 4096)), (double)length);
    reconstruct(&stream, &ops[1], &ops[1], 0);
    assert_int_equal(ops[1].op.begin, 150000 + 1000 - AFTER_KERNEL + AROUND_KERNEL);
    assert_int_equal(ops[1].op.end, ops[1].op.begin + length);
    assert_int_equal(ws_op_end_quality(&ops[1].op), WS_TIME_INFERRED);
    /* Two copies of other streams may run before this one. */
    float alone = ops[1].begin_var;
    set_stream(150000, 0, 1);
    context.copies[COPY_TO_DEVICE] = 2;
    reconstruct(&stream, &ops[2], &ops[2], 0);
    assert_near((double)ops[2].begin_var, ws_square(2.0 * (double)length / STATED));
    assert_true(ops[2].begin_var > alone && ops[2].op.begin == 151000);
    assert_true(duration_is_known(1, shape_size_class(4096)) && !duration_is_known(1, shape_size_class(8192)));
    /* A copy that may have waited for others says nothing about their duration. */
    struct duration before = *duration_of_other(1, 4096);
    ops[3].detail = 0;
    ops[3].begin_event = FIRST;
    reconstruct(&stream, &ops[3], &ops[3], SECOND);
    assert_memory_equal(duration_of_other(1, 4096), &before, sizeof(before));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_event_tells_if_it_came_well_before_it_passed, begin_test),
        cmocka_unit_test_setup(a_kernel_with_fair_samples_needs_no_others, begin_test),
        cmocka_unit_test_setup(an_event_that_tells_is_learned_from, begin_test),
        cmocka_unit_test_setup(no_end_is_after_its_event, begin_test),
        cmocka_unit_test_setup(an_early_event_puts_the_begin_at_the_arrival, begin_test),
        cmocka_unit_test_setup(an_early_event_leaves_a_queued_operation_behind_the_one_before_it, begin_test),
        cmocka_unit_test_setup(what_ends_very_late_began_late, begin_test),
        cmocka_unit_test_setup(a_run_far_off_makes_those_before_it_unsure, begin_test),
        cmocka_unit_test_setup(a_gated_launch_by_its_two_events, begin_test),
        cmocka_unit_test_setup(a_sample_needs_both_events_and_no_other_work, begin_test),
        cmocka_unit_test_setup(a_bound_covers_an_uncertain_begin, begin_test),
        cmocka_unit_test_setup(a_begin_event_says_when_the_stream_was_free, begin_test),
        cmocka_unit_test_setup(a_stream_keeps_how_sure_it_is, begin_test),
        cmocka_unit_test_setup(a_long_row_of_runs_is_counted_to_100, begin_test),
        cmocka_unit_test_setup(a_begin_event_ends_the_run_before_it, begin_test),
        cmocka_unit_test_setup(a_gate_that_opened_tells_nothing_of_what_was_before, begin_test),
        cmocka_unit_test_setup(a_tail_widens_errors, begin_test),
        cmocka_unit_test_setup(copies_are_computed_from_measured_ones, begin_test),
        cmocka_unit_test_setup(events_alone_time_what_is_not_computed, begin_test),
    };
    return cmocka_run_group_tests(tests, begin_all, NULL);
}
