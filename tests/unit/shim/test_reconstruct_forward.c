/* Tests of shim/timing/reconstruct: the times that are computed from launches and durations, before an event corrects
 * them. A line is a stream's computed times so far. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* reconstruct.c is compiled in here, so that its steps can be called one at a time. */
#include "shim/timing/reconstruct.c" // NOLINT(bugprone-suspicious-include)

#include "timed_ops.h"

/* Until probes (events of the shim's own) have measured when launches arrive, a launch is assumed to arrive at the
 * device half a round trip after its call returns. The standard deviation of this arrival time is half of the clock's
 * error. */
static void what_is_not_sure_adds_up(void **state)
{
    (void)state;
    set_duration(1, 10000, 100 * 100, 7);
    for (int i = 0; i < OPS; i++)
        ops[i].op.host_end = 1000 + 500 * i;
    ops[3].op.host_end = 100000;
    ops[3].op.host_begin = 98000;
    for (int i = 0; i < OPS; i++)
        advance(&stream, &ops[i], &line);
    /* The error of the kernel's mean duration is the same in each launch, so these errors add up. The spread is
     * independent from launch to launch, so its variances add up. */
    check_op(&ops[0], 3500, 13500, 50 * 50, 50 * 50 + 7 + 100 * 100);
    check_op(&ops[1], 14500, 24500, 50 * 50 + 7 + 100 * 100, 50 * 50 + 14 + 200 * 200);
    check_op(&ops[2], 25500, 35500, 50 * 50 + 14 + 200 * 200, 50 * 50 + 21 + 300 * 300);
    check_op(&ops[3], 102500, 112500, 50 * 50, 50 * 50 + 7 + 100 * 100); /* the stream was idle before */
    assert_true(!ops[0].queued && ops[1].queued && ops[2].queued && !ops[3].queued);
}

/* If a launch arrives at about the time when the stream becomes free, the uncertainty of its arrival counts too. */
static void a_launch_that_came_about_then_may_have_been_late(void **state)
{
    (void)state;
    set_duration(1, 10000, 0, 0);
    ops[0].op.host_end = ops[1].op.host_end = 1000;
    line_begin(&line, 2500 + 40, 0);
    advance(&stream, &ops[0], &line);
    check_op(&ops[0], 3540, 13540, 50 * 50, 50 * 50);
    line_begin(&line, 2500 + 60, 0);
    advance(&stream, &ops[1], &line);
    check_op(&ops[1], 3560, 13560, 0, 0);
}

/* Of two times with equal mean and deviation, the later one is expected 0.56 deviations after their mean. */
static void the_later_of_two_uncertain_times(void **state)
{
    (void)state;
    struct instant a = { 10000, 1000 * 1000 }, b = { 10000, 1000 * 1000 }, later = later_of(a, b);
    assert_in_range(later.time, 10563, 10565);  /* 10000 + 1000 / root(pi) */
    assert_in_range(later.var, 681000, 683000); /* 1 - 1 / pi of one time's variance */
    b.time = 12000;
    later = later_of(a, b);
    assert_in_range(later.time, 12048, 12056);  /* 12,050: Clark's mean for times 1.41 deviations apart */
    assert_in_range(later.var, 880000, 915000); /* Clark's variance: 896,965 */
    b.time = 10000 + 4 * 1415;
    assert_int_equal(later_of(a, b).time, b.time);
    assert_near(later_of(b, a).var, b.var);
    a.var = b.var = 0;
    assert_int_equal(later_of(a, b).time, b.time);
    assert_int_equal(later_of(a, a).time, a.time);
}

/* The operation before may run longer than expected. So the next operation may begin after its launch arrives. */
static void a_stream_that_should_be_free_may_not_be(void **state)
{
    (void)state;
    set_duration(1, 10000, 0, 0);
    ops[0].op.host_end = ops[1].op.host_end = 1000; /* the launches arrive at 2500 */
    line_begin(&line, 2000, 3000.0 * 3000);
    advance(&stream, &ops[0], &line);
    assert_false(ops[0].queued);
    assert_in_range(ops[0].op.begin, 2500 + 1000 + 900, 2500 + 1000 + 1000);
    assert_true((double)ops[0].begin_var > 1500.0 * 1500);
    line_begin(&line, 2000, 50.0 * 50);
    advance(&stream, &ops[1], &line);
    check_op(&ops[1], 3500, 13500, 50 * 50, 50 * 50);
    line_begin(&line, 2000, 3000.0 * 3000);
    line.guessed = true; /* `free` is only guessed, from a kernel without any sample: it delays no later launch */
    advance(&stream, &ops[1], &line);
    assert_int_equal(ops[1].op.begin, 3500);
    assert_false(line.guessed);
    duration_of(1)->samples = 0;
    advance(&stream, &ops[1], &line);
    assert_true(line.guessed);
}

/* A few launches of a kernel that take much longer than most widen the spread of its duration. The next launch may
 * arrive during a long one. */
static void a_launch_may_come_during_a_long_one(void **state)
{
    (void)state;
    set_duration(1, 1000, 0, 0);
    ops[0].op.host_end = 21000; /* the launch arrives at 22500 */
    line_begin(&line, 2500, 10000.0 * 10000);
    advance(&stream, &ops[0], &line);
    assert_true(2500 + STATED * 10000 <= (double)ops[0].op.begin + STATED * ws_root((double)ops[0].begin_var));
    /* only a part of this uncertainty is passed on to the next operation */
    assert_true(line_var(&line) < (double)ops[0].begin_var);
}

/* If the thread was held up in the call, the launch may have arrived long before the call's return. */
static void a_launch_may_arrive_before_its_call_returns(void **state)
{
    (void)state;
    set_duration(1, 1000, 0, 0);
    ops[0].op.host_begin = 50000;
    ops[0].op.host_end = 1050000;
    ops[1].op.host_begin = 2000000;
    ops[1].op.host_end = 2005000; /* a usual call */
    for (int i = 0; i < 2; i++)
        advance(&stream, &ops[i], &line);
    state_times(&context, &(float){ 0 }, &ops[0], &ops[1]);
    /* up to 5 us of a first call count as usual */
    assert_in_range(ops[0].op.begin_error, 995000, 1000000);
    assert_in_range(ops[0].op.end_error, 995000, 1000000);
    assert_in_range(ops[1].op.begin_error, SYSTEMATIC, SYSTEMATIC + 200);
}

static void no_computed_begin_is_before_its_launch(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        ops[i].op.host_begin = 5000;
    set_op(&ops[0], 4000, 4500, 0, 0);
    set_op(&ops[1], 5500, 6000, 0, 0);
    state_times(&context, &(float){ 0 }, &ops[0], &ops[1]);
    check_op(&ops[0], 5000, 5000, 0, 0);
    check_op(&ops[1], 5500, 6000, 0, 0);
}

/* The last comparison of the clocks may be wrong by 8 us (GOOD_FIT), and the drift since then adds to that. The
 * launch still did not begin after it arrived. */
static void a_bad_comparison_of_the_clocks_moves_no_begin(void **state)
{
    (void)state;
    arrival_learn(&context.arrival, 2000, 3000, 0);
    host_off = 9000;
    ops[0].op.host_begin = 2500;
    set_op(&ops[0], 4000, 4500, 0, 0);
    state_times(&context, &(float){ 0 }, &ops[0], &ops[0]);
    check_op(&ops[0], 4000, 4500, 0, 0);
}

/* Several threads launched into the stream, and the order of their operations is uncertain. So the second operation
 * may be off by the time that a longer one takes whose call overlaps its own, and by a quarter more. An operation
 * before it counts less, the more places it is away. */
static void an_uncertain_order_makes_times_uncertain(void **state)
{
    (void)state;
    static const struct {
        int64_t begin_of_last;
        float before;
        uint32_t error;
    } cases[] = { { 150000, 0, 63500 }, { 200000, 0, 2250 }, { 150000, 90000, 110125 } };
    set_duration(1, 1000, 0, 0);
    set_duration(2, 50000, 0, 0);
    ops[2].op.shape = 2;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            set_op(&ops[k], 100000, 100000, 0, 0);
            ops[k].op.flags = k == 1 ? WS_OP_CONTENDED : 0;
            ops[k].op.host_end = 160000;
        }
        ops[2].op.host_begin = cases[i].begin_of_last;
        float before = cases[i].before;
        state_times(&context, &before, &ops[0], &ops[2]);
        assert_int_equal(ops[0].op.begin_error, SYSTEMATIC);
        assert_in_range(ops[1].op.begin_error, cases[i].error + SYSTEMATIC - 1, cases[i].error + SYSTEMATIC);
        assert_in_range(ops[1].op.end_error, cases[i].error + SYSTEMATIC - 1, cases[i].error + SYSTEMATIC);
        assert_int_equal(ops[2].op.end_error, SYSTEMATIC);
    }
    /* The measured end of ops[1] may be that of ops[0], whose call overlaps its own: 1 us and a dispatch time. */
    set_op(&ops[1], 100000, 100000, 0, 0);
    ops[1].op.flags = WS_OP_CONTENDED | WS_TIME_MEASURED << 2;
    state_times(&context, &(float){ 0 }, &ops[0], &ops[2]);
    assert_in_range(ops[1].op.end_error, 2000 + SYSTEMATIC - 1, 2000 + SYSTEMATIC);
}

static void errors_are_stated_for_99_of_100(void **state)
{
    (void)state;
    set_op(&ops[0], 0, 0, 100 * 100, 1000 * 1000);
    set_op(&ops[1], 0, 0, 0, 1e30f);
    ops[1].op.flags = WS_TIME_MEASURED << 2;
    state_times(&context, &(float){ 0 }, &ops[0], &ops[1]);
    assert_int_equal(ops[0].op.begin_error, 260 + SYSTEMATIC);
    assert_int_equal(ops[0].op.end_error, 2600 + SYSTEMATIC);
    assert_int_equal(ops[1].op.begin_error, SYSTEMATIC);
    assert_int_equal(ops[1].op.end_error, 4000000000u + SYSTEMATIC); /* the largest value, instead of an overflow */
    assert_int_equal(ws_op_begin_quality(&ops[0].op), WS_TIME_INFERRED);
    assert_int_equal(ws_op_end_quality(&ops[0].op), WS_TIME_INFERRED);
    assert_int_equal(ws_op_end_quality(&ops[1].op), WS_TIME_MEASURED);
}

/* A collective also waits for other ranks, so its time says nothing about kernels that were never measured. */
static void a_collective_says_nothing_about_kernels(void **state)
{
    (void)state;
    double before = duration_expected(duration_of(2));
    ops[0].op.flags = WS_OP_IN_COLLECTIVE;
    advance(&stream, &ops[0], &line);
    duration_sample(ops[0].duration, 25e6, 0, SAMPLE_EXACT);
    assert_near(duration_expected(duration_of(1)), 25e6);
    assert_near(duration_expected(duration_of(2)), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_not_sure_adds_up, begin_test),
        cmocka_unit_test_setup(a_launch_that_came_about_then_may_have_been_late, begin_test),
        cmocka_unit_test_setup(the_later_of_two_uncertain_times, begin_test),
        cmocka_unit_test_setup(a_stream_that_should_be_free_may_not_be, begin_test),
        cmocka_unit_test_setup(a_launch_may_come_during_a_long_one, begin_test),
        cmocka_unit_test_setup(a_launch_may_arrive_before_its_call_returns, begin_test),
        cmocka_unit_test_setup(no_computed_begin_is_before_its_launch, begin_test),
        cmocka_unit_test_setup(an_uncertain_order_makes_times_uncertain, begin_test),
        cmocka_unit_test_setup(a_bad_comparison_of_the_clocks_moves_no_begin, begin_test),
        cmocka_unit_test_setup(errors_are_stated_for_99_of_100, begin_test),
        cmocka_unit_test_setup(a_collective_says_nothing_about_kernels, begin_test),
    };
    return cmocka_run_group_tests(tests, begin_all, NULL);
}
