/* Tests of shim/timing/runs. A run is a series of operations of a stream without a pause. The tests check how the
 * event at a run's end corrects the times in the run and the durations of its kernels. A line is all computed times
 * of a stream. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* runs.c is compiled in here, so that its steps can be called one at a time. */
#include "shim/timing/runs.c" // NOLINT(bugprone-suspicious-include)

#include "timed_ops.h"

static void a_run_begins_where_the_stream_was_idle(void **state)
{
    (void)state;
    ops[0].queued = ops[2].queued = false;
    struct run run = run_until(&ops[0], &ops[3]);
    assert_ptr_equal(run.first, &ops[2]);
    assert_ptr_equal(run.last, &ops[3]);
    assert_int_equal(run.count, 2);
    ops[2].queued = true;
    /* the run began with ops[0], but only the times from ops[1] on are computed together */
    run = run_until(&ops[1], &ops[3]);
    assert_ptr_equal(run.first, &ops[1]);
    assert_int_equal(run.count, 3);
}

static void three_runs_far_off_in_a_row_are_no_chance(void **state)
{
    (void)state;
    struct walk expected = { .usual = 100 - EVENT };
    for (int side = -1; side <= 1; side += 2) {
        line.apart = 0;
        assert_true(is_usual(&line, &expected, 40 * side, event_noise, false)); /* 40: four standard deviations */
        assert_false(is_usual(&line, &expected, 41 * side, event_noise, false));
        assert_false(is_usual(&line, &expected, 41 * side, event_noise, false));
        assert_true(is_usual(&line, &expected, 41 * side, event_noise, false));
        assert_true(
            is_usual(&line, &expected, 0, event_noise, false)); /* a run that is as expected ends the series */
        assert_false(is_usual(&line, &expected, 41 * side, event_noise, false));
        assert_false(is_usual(&line, &expected, 41 * side, event_noise, false));
        /* off in the other direction: the first of a new series */
        assert_false(is_usual(&line, &expected, -41 * side, event_noise, false));
        assert_false(is_usual(&line, &expected, -41 * side, event_noise, false));
        assert_true(is_usual(&line, &expected, -41 * side, event_noise, false));
    }
}

/* Three ends in a thousand may be off by more than is stated. Then the tail stays as it is. */
static void the_tail_grows_with_ends_far_off(void **state)
{
    (void)state;
    line.tail = 2;
    for (int i = 0; i < 333; i++)
        line_learn_tail(&line, SYSTEMATIC + (i ? 51 : 53), 100); /* the stated error is SYSTEMATIC + 52 */
    assert_true(line.tail > 1.99 && line.tail < 2.01);
    line_learn_tail(&line, -SYSTEMATIC - 53, 100);
    assert_true(line.tail > 2.1);
    for (int i = 0; i < 10000; i++)
        line_learn_tail(&line, 0, 100);
    assert_true(line.tail == 1);
}

static void of_kernel(struct pending *pending, uint32_t kind)
{
    pending->op.shape = kind;
    pending->duration = duration_of(kind);
}

/* The run has two launches of kernel 1 and one of kernel 2. The variance of the run's length is 23360: 2² × 100 + 400
 * from the errors of the two means, 10 + 10 + 40 from the spreads, and 150² from the event. */
static void each_kernel_takes_its_share_of_a_run(void **state)
{
    (void)state;
    struct run run = { &ops[0], &ops[2], 3 };
    of_kernel(&ops[1], 2);
    for (int known = 0; known < 2; known++) {
        set_duration(1, 1000, 100, 10);
        set_duration(2, 2000, 400, 40);
        duration_of(2)->samples = known ? 5 : 0;
        double all = run_walk(run).end + EVENT;
        if (known)
            assert_near(all, 23360);
        run_learn(run, run_walk(run), 233.6, EVENT, true, &line);
        /* If kernel 2 was never sampled, the whole difference may come from it, so no kernel's duration is
         * changed. */
        assert_near((double)duration_of(1)->mean, known ? 1002 : 1000);
        assert_near((double)duration_of(1)->var, known ? 100 * (1 - 400 / 23360.0) : 100);
        assert_near((double)duration_of(2)->mean, known ? 2004 : 2000);
        assert_near((double)duration_of(2)->var, known ? 400 * (1 - 400 / 23360.0) : 400);
    }
    struct run one = { &ops[0], &ops[0], 1 };
    set_duration(1, 10, 1e8f, 0);
    run_learn(one, run_walk(one), -5000, EVENT, true, &line);
    assert_true(duration_of(1)->mean == 0); /* the mean does not fall below 0 */
}

/* A kernel whose duration changed before may change again, by about as much. If a run is off by much more, something
 * delayed it. */
static void one_run_shows_a_change_that_came_before(void **state)
{
    (void)state;
    struct run run = { &ops[0], &ops[1], 2 };
    for (int held_up = 0; held_up < 2; held_up++) {
        set_duration(1, 1000, 100, 100);
        duration_of(1)->changed = true;
        duration_of(1)->change = 500 * 500;
        line.apart = 0;
        run_learn(run, run_walk(run), held_up ? 1e6 : 1000, EVENT, true, &line);
        assert_int_equal(duration_of(1)->mean > 1400, !held_up);
        assert_int_equal(duration_of(1)->change > 1000 * 1000, 0);
    }
}

/* Here the event tells the run's end only because the run was long. Runs that were chosen for their length do not
 * represent all runs, so they change no kernel's duration. A steady kernel is the exception: none of its runs can be
 * much longer than others. */
static void a_run_seen_because_it_was_long_is_no_fair_sample(void **state)
{
    (void)state;
    struct run run = { &ops[0], &ops[1], 2 };
    for (int foreseen = 0; foreseen < 2; foreseen++) {
        for (int steady = 0; steady < 2; steady++) {
            set_duration(1, 1000, 10000, steady ? 99 * 99 : 101 * 101);
            run_learn(run, run_walk(run), 100, EVENT, foreseen, &line);
            assert_int_equal(duration_of(1)->mean > 1000, foreseen || steady);
        }
    }
}

/* If it is not certain which operation the event follows, the run's end is known badly, and tells nothing. */
static void a_badly_known_end_tells_nothing(void **state)
{
    (void)state;
    struct run run = { &ops[0], &ops[1], 2 };
    set_duration(1, 1000, 10000, 100);
    duration_of(1)->doubt = 500;
    line.apart = 2;
    run_learn(run, run_walk(run), 2000, ws_square(20000), true, &line);
    assert_true(duration_of(1)->mean == 1000 && duration_of(1)->doubt == 500);
    assert_int_equal(line.apart, 2);
    assert_near(line.seen, 1);
}

/* A run's squared difference from its expected length is divided by its expected variance. line.scale is three times
 * the average of this quotient over recent runs. */
static void the_scale_follows_what_runs_are_off_by(void **state)
{
    (void)state;
    learn_scale(&line, 9);
    assert_near(line.seen, 2);
    assert_near(line.scale, 6);
    learn_scale(&line, 1e9); /* one run alone changes little */
    assert_near(line.seen, 2 + 7 / 8.0);
    assert_near(line.scale, 3 * (2 + 7 / 8.0));
    for (int i = 0; i < 150; i++)
        learn_scale(&line, i < 50 ? 100 : 0);
    assert_near(line.scale, SCALE_LEAST);
}

/* Makes a run of one launch of kernel 1 and one of kernel 2. The means are certain; `first` and `second` are the
 * variances from launch to launch. `begin_var`: the variance of the run's begin. */
static struct run run_of_two(float begin_var, float first, float second)
{
    set_duration(1, 1000, 0, first);
    set_duration(2, 1000, 0, second);
    of_kernel(&ops[1], 2);
    set_op(&ops[0], 1000, 2000, begin_var, 0);
    set_op(&ops[1], 2000, 3000, 0, 0);
    return (struct run){ &ops[0], &ops[1], 2 };
}

/* Corrects the times of a run whose event shows that it took `off` ns longer than expected. */
static void bridge_off(struct run run, struct walk walk, int64_t off)
{
    run_bridge(run, walk, run.last->op.end + off, 0, &line);
}

/* The variance of a time inside a run that took `off` ns longer than expected: the extra time may be unevenly
 * distributed. `share`: the part of the run that lies before that time. */
static double uneven_var(double off, double share)
{
    return ws_square(off * share * (1 - share));
}

static void a_correction_grows_as_the_uncertainty_does(void **state)
{
    (void)state;
    struct run run = run_of_two(100, 300, 500);
    line.bias = 5;
    run_bridge(run, run_walk(run), 3027, 25, &line);
    double begin_var = 100 * (8 / 9.0) + 25 / 81.0 + uneven_var(27, 1 / 9.0);
    double inner_var = 400 * (5 / 9.0) + 25 * 16 / 81.0 + uneven_var(27, 4 / 9.0);
    check_op(&ops[0], 1003, 2012, begin_var, inner_var);
    check_op(&ops[1], 2012, 3027, inner_var, 25);
    assert_int_equal(line.free, 3027);
    assert_near(line_var(&line), 25);
    /* If a run is off by more than expected, the times inside it become less certain in proportion. */
    run = run_of_two(0, 450, 450);
    run_bridge(run, run_walk(run), 3090, 0, &line);
    check_op(&ops[0], 1000, 2045, 0, 9 * 225 + uneven_var(90, 0.5));
    check_op(&ops[1], 2045, 3090, 9 * 225 + uneven_var(90, 0.5), 0);
}

/* Each launch of a run is assumed to take as long as its kernel on average. If both launches are of one kernel, the
 * error of this average enters twice. So the run's end tells the error, and the error in the middle is half of that
 * at the end. With two kernels, it is not known which of the two averages was wrong. */
static void the_run_s_end_tells_the_error_of_a_mean(void **state)
{
    (void)state;
    for (int kinds = 1; kinds <= 2; kinds++) {
        struct run run = run_of_two(0, 0, 0);
        of_kernel(&ops[1], (uint32_t)kinds);
        duration_of(1)->var = duration_of(2)->var = 100 * 100;
        run_bridge(run, run_walk(run), 3090, 0, &line);
        check_op(&ops[0], 1000, 2045, 0, (kinds == 1 ? 0 : 100 * 100 / 2) + uneven_var(90, 0.5));
        assert_int_equal(ops[1].op.end, 3090);
    }
}

/* If a run was so short that an operation would get a negative length, all its operations are shortened by one factor
 * instead. */
static void a_run_that_is_too_long_is_pressed(void **state)
{
    (void)state;
    struct run run = run_of_two(0, 10, 990);
    run_bridge(run, run_walk(run), 1500, 0, &line);
    check_op(&ops[0], 1000, 1250, 0, (double)ops[0].end_var);
    check_op(&ops[1], 1250, 1500, (double)ops[1].begin_var, 0);
    assert_int_equal(line.free, 1500);
    run_bridge(run, run_walk(run), 600, 0, &line); /* 600: the event passed even before the run began */
    check_op(&ops[0], 600, 600, 0, (double)ops[0].end_var);
    check_op(&ops[1], 600, 600, (double)ops[1].begin_var, 0);
}

/* A run may end far from its computed end, or the durations of its kernels may be changing. Then the whole difference
 * may have arisen at one end of the run. */
static void a_change_may_come_anywhere_in_a_run(void **state)
{
    (void)state;
    for (int changing = 0; changing < 3; changing++) {
        struct run run = run_of_two(0, 400, 400);
        bool far = changing == 2;
        duration_of(1)->change = changing == 1 ? 1 : 0;
        struct walk walk = run_walk(run);
        bridge_off(run, walk, far ? 9000 : 60);
        double reach = STATED * ws_root((double)ops[0].end_var);
        if (changing == 0)
            assert_true(reach < 100);
        else if (changing == 1)
            assert_true(reach > (60 + 28) / 2.0 && reach < 150);
        else
            assert_true(reach >= 4500);
        assert_true((double)ops[1].end_var < 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_run_begins_where_the_stream_was_idle, begin_test),
        cmocka_unit_test_setup(the_tail_grows_with_ends_far_off, begin_test),
        cmocka_unit_test_setup(three_runs_far_off_in_a_row_are_no_chance, begin_test),
        cmocka_unit_test_setup(each_kernel_takes_its_share_of_a_run, begin_test),
        cmocka_unit_test_setup(one_run_shows_a_change_that_came_before, begin_test),
        cmocka_unit_test_setup(a_run_seen_because_it_was_long_is_no_fair_sample, begin_test),
        cmocka_unit_test_setup(the_run_s_end_tells_the_error_of_a_mean, begin_test),
        cmocka_unit_test_setup(a_badly_known_end_tells_nothing, begin_test),
        cmocka_unit_test_setup(the_scale_follows_what_runs_are_off_by, begin_test),
        cmocka_unit_test_setup(a_correction_grows_as_the_uncertainty_does, begin_test),
        cmocka_unit_test_setup(a_run_that_is_too_long_is_pressed, begin_test),
        cmocka_unit_test_setup(a_change_may_come_anywhere_in_a_run, begin_test),
    };
    return cmocka_run_group_tests(tests, begin_all, NULL);
}
