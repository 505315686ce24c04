/* Tests of shim/timing/reconstruct: launches whose call took much longer than usual. Such a launch arrived at the
 * device at some time between the begin and the return of its call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* reconstruct.c is compiled in here, so that its steps can be called one at a time. */
#include "shim/timing/reconstruct.c" // NOLINT(bugprone-suspicious-include)

#include "timed_ops.h"

enum { USUAL = 2000, LONG = 24000 }; /* ns: the usual time of a call, and what a long call takes beyond it */

/* A kernel that takes 20 us, and whose launches usually take USUAL ns of the host's time. */
static void make_kernel(void)
{
    set_duration(1, 20000, 100, 0);
    for (int i = 0; i < 100; i++)
        duration_call_excess(duration_of(1), USUAL);
}

static void excess_is_what_a_call_takes_more_than_usual(void **state)
{
    (void)state;
    make_kernel();
    assert_true(duration_call_excess(duration_of(1), USUAL + 900) <= 0);
    assert_in_range(duration_call_excess(duration_of(1), 2.0 * USUAL), USUAL - 50, USUAL);
    assert_in_range(duration_call_excess(duration_of(1), 3.0 * USUAL), 2 * USUAL - 50, 2 * USUAL);
}

/* While several threads hinder each other in the driver, all calls take longer. This is no usual time: a launch may
 * have arrived at any time within the excess. */
static void many_long_calls_are_no_new_usual_time(void **state)
{
    (void)state;
    make_kernel();
    for (int i = 0; i < 16; i++)
        duration_call_excess(duration_of(1), 4.0 * USUAL);
    assert_true(duration_call_excess(duration_of(1), 4.0 * USUAL) > 2.8 * USUAL);
    for (int i = 0; i < 2000; i++) /* the usual time may change */
        duration_call_excess(duration_of(1), 4.0 * USUAL);
    assert_true(duration_call_excess(duration_of(1), 4.0 * USUAL) <= 0);
    for (int i = 0; i < 60; i++) /* short calls soon show that calls need not be long */
        duration_call_excess(duration_of(1), USUAL);
    assert_true(duration_call_excess(duration_of(1), 4.0 * USUAL) > 2.8 * USUAL);
}

/* The first launch call of a kernel loads code and may take long. Only a few us of it count as the usual time, so
 * that a long call later is still recognized. */
static void the_first_call_counts_little(void **state)
{
    (void)state;
    duration_call_excess(duration_of(1), 1e6);
    assert_true(duration_call_excess(duration_of(1), 20000) > 10000);
}

static void error_covers_the_excess(void **state)
{
    (void)state;
    make_kernel();
    ops[0].op.host_begin = -USUAL;
    ops[0].op.host_end = LONG;
    advance(&stream, &ops[0], &line);
    state_times(&context, &(float){ 0 }, &ops[0], &ops[0]);
    assert_in_range(ops[0].op.begin_error, LONG, LONG + 2 * SYSTEMATIC);
}

/* If the first launch arrived before its call returned, the operations queued behind it began earlier, too. But no
 * operation began before its own launch arrived. */
static void error_covers_what_is_queued_behind_a_long_call(void **state)
{
    (void)state;
    make_kernel();
    ops[0].op.host_begin = -USUAL;
    ops[0].op.host_end = LONG;
    ops[1].op.host_begin = LONG + 8000;
    ops[1].op.host_end = LONG + 10000;
    ops[2].op.host_begin = ops[2].op.host_end = 200000; /* this launch arrives when the stream is idle */
    for (int i = 0; i < 3; i++)
        advance(&stream, &ops[i], &line);
    assert_true(ops[1].queued && !ops[2].queued);
    state_times(&context, &(float){ 0 }, &ops[0], &ops[2]);
    /* this operation waited in the queue for 20 us (the first kernel) + 1 us (dispatch) - 10 us (later launch) */
    assert_in_range(ops[1].op.begin_error, 11000, 11000 + 2 * SYSTEMATIC);
    assert_in_range(ops[2].op.begin_error, SYSTEMATIC, 2 * SYSTEMATIC);
}

/* The operation ended so early that its launch must have arrived long before the call returned. So the operation's
 * begin is moved to an earlier time, too. */
static void what_ends_early_began_within_the_call(void **state)
{
    (void)state;
    struct pool_event event;
    make_kernel();
    ops[0].op.host_begin = -USUAL;
    ops[0].op.host_end = LONG;
    advance(&stream, &ops[0], &line);
    int64_t begin = ops[0].op.begin;
    event.time = ops[0].op.end - LONG + 1000;
    anchor(&context, &ops[0], &ops[0], &event, EVENT, TOLD_END, &line);
    assert_int_equal(ops[0].op.end, event.time);
    assert_in_range(ops[0].op.begin, begin - LONG, begin - LONG + 1100);
    /* The launch did not arrive before its call, so an operation that ended even earlier was shorter than
     * expected. */
    ops[0].held_up = (float)ws_square(10000 / STATED);
    set_op(&ops[0], begin, begin + 20000, 0, 100);
    event.time = begin + 20000 - 15000;
    anchor(&context, &ops[0], &ops[0], &event, EVENT, TOLD_END, &line);
    assert_in_range(ops[0].op.begin, begin - 10000, begin - 9999); /* held_up is rounded */
    check_op(&ops[0], ops[0].op.begin, event.time, 0, EVENT);
}

/* If an operation had a long call and has no begin event, its length is not known. So its early end is no reason to
 * doubt the kernel's duration. */
static void no_duration_is_learned_from_a_long_call(void **state)
{
    (void)state;
    for (int call_is_long = 0; call_is_long < 2; call_is_long++) {
        make_kernel();
        ops[0].op.host_end = 50000;
        ops[0].op.host_begin = 50000 - (call_is_long ? LONG + USUAL : USUAL);
        ops[0].late = 100;
        line_begin(&line, 0, 0);
        put_event(SECOND, 60000); /* the event passed much earlier than the kernel's duration allows */
        settle_last(&stream, &ops[0], NULL, &events[SECOND - 1], &line);
        assert_int_equal(duration_of(1)->apart, call_is_long ? 0 : -1);
    }
}

/* A begin event shows that the operation did not begin before that event. */
static void no_operation_begins_before_its_begin_event(void **state)
{
    (void)state;
    make_kernel();
    ops[0].op.host_begin = -USUAL;
    ops[0].op.host_end = LONG;
    ops[0].late = 100;
    put_event(FIRST, LONG - 5000);
    put_event(SECOND, LONG + 100);
    line_begin(&line, 0, 0);
    settle_last(&stream, &ops[0], &events[FIRST - 1], &events[SECOND - 1], &line);
    assert_in_range(STATED * ws_root((double)ops[0].held_up), 5000, 8000);
    assert_true(duration_of(1)->mean == 20000 && !duration_of(1)->apart);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(excess_is_what_a_call_takes_more_than_usual, begin_test),
        cmocka_unit_test_setup(many_long_calls_are_no_new_usual_time, begin_test),
        cmocka_unit_test_setup(the_first_call_counts_little, begin_test),
        cmocka_unit_test_setup(error_covers_the_excess, begin_test),
        cmocka_unit_test_setup(error_covers_what_is_queued_behind_a_long_call, begin_test),
        cmocka_unit_test_setup(what_ends_early_began_within_the_call, begin_test),
        cmocka_unit_test_setup(no_operation_begins_before_its_begin_event, begin_test),
        cmocka_unit_test_setup(no_duration_is_learned_from_a_long_call, begin_test),
    };
    return cmocka_run_group_tests(tests, begin_all, NULL);
}
