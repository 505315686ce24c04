/* Tests of shim/timing/reconstruct: each step of the arithmetic in numbers. test_reconstruct.c tests whole windows. A
 * run is a series of operations that ran without a pause; the line holds a stream's computed times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* reconstruct.c is compiled in here, so that its steps can be called one at a time. */
#include "shim/timing/reconstruct.c" // NOLINT(bugprone-suspicious-include)

#include "fake_clock.h"
#include "shim/state/lock.h"

enum { KINDS = 3, OPS = 4, FIRST = 1, SECOND = 2 };

static struct pending ops[OPS];
static struct line line;

/* Shapes 1 to KINDS are kernels that differ in their grids. */
static int begin_all(void **state)
{
    (void)state;
    locks_open();
    registry_init();
    if (!registry_lock())
        return -1;
    for (unsigned kind = 1; kind <= KINDS; kind++)
        registry_add(&registry.shape, &(struct ws_shape){ .kind = WS_OP_KERNEL, .grid_x = kind, .stream = 1 });
    registry_unlock();
    for (unsigned kind = 1; kind <= KINDS; kind++)
        duration_of(kind);
    return 0;
}

static int begin_test(void **state)
{
    begin_anew(state);
    memset(ops, 0, sizeof(ops));
    for (int i = 0; i < OPS; i++) {
        ops[i].next = i + 1 < OPS ? &ops[i + 1] : NULL;
        ops[i].op.shape = 1;
        ops[i].kind = WS_OP_KERNEL;
        ops[i].detail = WS_RING_OP_COMPUTED;
        ops[i].queued = i > 0;
        ops[i].direction = COPY_DIRECTIONS;
        ops[i].duration = duration_of(1);
    }
    for (uint32_t kind = 1; kind <= KINDS; kind++)
        *duration_of(kind) = (struct duration){ 0 };
    line = (struct line){ .free = INT64_MIN / 2, .seen = 1, .scale = 1 };
    context.shortest_submit = 3000;
    return 0;
}

static void assert_near(double value, double expected)
{
    double off = value - expected, most = 1e-4 * (expected < 0 ? -expected : expected);
    if (off > most || off < -most)
        fail_msg("%f instead of %f", value, expected);
}

static void check_op(const struct pending *pending, int64_t begin, int64_t end, double begin_var, double end_var)
{
    assert_int_equal(pending->op.begin, begin);
    assert_int_equal(pending->op.end, end);
    assert_near((double)pending->begin_var, begin_var);
    assert_near((double)pending->end_var, end_var);
}

static void set_op(struct pending *pending, int64_t begin, int64_t end, float begin_var, float end_var)
{
    pending->op.begin = begin;
    pending->op.end = end;
    pending->begin_var = begin_var;
    pending->end_var = end_var;
}

static void set_duration(uint32_t kind, float mean, float var, float spread)
{
    *duration_of(kind) = (struct duration){ .mean = mean, .var = var, .spread = spread, .samples = 5 };
}

/* --- forward ------------------------------------------------------------------------------------ */

/* Without probes, a launch is assumed to arrive half a round trip after its call returns, give or take half the
 * clock's error. */
static void what_is_not_sure_adds_up(void **state)
{
    (void)state;
    set_duration(1, 10000, 100 * 100, 7);
    for (int i = 0; i < OPS; i++)
        ops[i].op.host_end = 1000 + 500 * i;
    ops[3].op.host_end = 100000;
    for (int i = 0; i < OPS; i++)
        advance(&context, &ops[i], &line);
    /* The mean's error is the same in each launch, so the errors add up. The spread is independent from launch to
     * launch, so the variances add up. */
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
    advance(&context, &ops[0], &line);
    check_op(&ops[0], 3540, 13540, 50 * 50, 50 * 50);
    line_begin(&line, 2500 + 60, 0);
    advance(&context, &ops[1], &line);
    check_op(&ops[1], 3560, 13560, 0, 0);
}

/* Of two times that are equally likely to be the later one, the later is by 0.56 standard deviations after both. */
static void the_later_of_two_uncertain_times(void **state)
{
    (void)state;
    struct instant a = { 10000, 1000 * 1000 }, b = { 10000, 1000 * 1000 }, later = later_of(a, b);
    assert_in_range(later.time, 10563, 10565);  /* 1 / root(pi) */
    assert_in_range(later.var, 681000, 683000); /* 1 - 1 / pi of the variance */
    b.time = 12000;
    later = later_of(a, b);
    assert_in_range(later.time, 12048, 12056);  /* Clark's mean for times that are 1.41 deviations apart: 12,050 */
    assert_in_range(later.var, 880000, 915000); /* 896,965 */
    b.time = 10000 + 4 * 1415;
    assert_int_equal(later_of(a, b).time, b.time);
    assert_near(later_of(b, a).var, b.var);
    a.var = b.var = 0;
    assert_int_equal(later_of(a, b).time, b.time);
    assert_int_equal(later_of(a, a).time, a.time);
}

/* If the operation before may run longer than expected, the next one may begin after its launch arrived. */
static void a_stream_that_should_be_free_may_not_be(void **state)
{
    (void)state;
    set_duration(1, 10000, 0, 0);
    ops[0].op.host_end = ops[1].op.host_end = 1000; /* arrives at 2500 */
    line_begin(&line, 2000, 3000.0 * 3000);
    advance(&context, &ops[0], &line);
    assert_false(ops[0].queued);
    assert_in_range(ops[0].op.begin, 2500 + 1000 + 900, 2500 + 1000 + 1000);
    assert_true((double)ops[0].begin_var > 1500.0 * 1500);
    line_begin(&line, 2000, 50.0 * 50);
    advance(&context, &ops[1], &line);
    check_op(&ops[1], 3500, 13500, 50 * 50, 50 * 50);
    line_begin(&line, 2000, 3000.0 * 3000);
    line.guessed = true; /* the end of a kernel that was never sampled delays nothing */
    advance(&context, &ops[1], &line);
    assert_int_equal(ops[1].op.begin, 3500);
    assert_false(line.guessed);
    duration_of(1)->samples = 0;
    advance(&context, &ops[1], &line);
    assert_true(line.guessed);
}

static void errors_are_stated_for_99_of_100(void **state)
{
    (void)state;
    set_op(&ops[0], 0, 0, 100 * 100, 1000 * 1000);
    set_op(&ops[1], 0, 0, 0, 1e30f);
    ops[1].op.flags = WS_TIME_MEASURED << 2;
    state_times(&ops[0], &ops[1]);
    assert_int_equal(ops[0].op.begin_error, 260 + SYSTEMATIC);
    assert_int_equal(ops[0].op.end_error, 2600 + SYSTEMATIC);
    assert_int_equal(ops[1].op.begin_error, SYSTEMATIC);
    assert_int_equal(ops[1].op.end_error, 4000000000u + SYSTEMATIC); /* it does not overflow */
    assert_int_equal(ws_op_begin_quality(&ops[0].op), WS_TIME_INFERRED);
    assert_int_equal(ws_op_end_quality(&ops[0].op), WS_TIME_INFERRED);
    assert_int_equal(ws_op_end_quality(&ops[1].op), WS_TIME_MEASURED);
}

/* --- back --------------------------------------------------------------------------------------- */

static void an_event_tells_if_it_came_well_before_it_passed(void **state)
{
    (void)state;
    struct pool_event event = { .time = 100000 + 1000 + 380 };
    struct instant arrived = { 100000, 0 }; /* the event's standard deviation is 150; 2.6 times that is 390 */
    assert_false(event_tells(&event, arrived));
    event.time += 20;
    assert_true(event_tells(&event, arrived));
    arrived.var = 300 * 300 - 150 * 150;
    assert_false(event_tells(&event, arrived));
    event.time += 390;
    assert_true(event_tells(&event, arrived));
}

static void a_run_begins_where_the_stream_was_idle(void **state)
{
    (void)state;
    ops[0].queued = ops[2].queued = false;
    struct run run = run_until(&ops[0], &ops[3]);
    assert_ptr_equal(run.first, &ops[2]);
    assert_ptr_equal(run.last, &ops[3]);
    assert_int_equal(run.count, 2);
    ops[2].queued = true;
    run = run_until(&ops[1], &ops[3]); /* the stream was idle before ops[0], in an earlier window */
    assert_ptr_equal(run.first, &ops[1]);
    assert_int_equal(run.count, 3);
}

static void three_runs_far_off_in_a_row_are_no_chance(void **state)
{
    (void)state;
    for (int side = -1; side <= 1; side += 2) {
        line.apart = 0;
        assert_true(is_usual(&line, 40 * side, 100)); /* four deviations */
        assert_false(is_usual(&line, 41 * side, 100));
        assert_false(is_usual(&line, 41 * side, 100));
        assert_true(is_usual(&line, 41 * side, 100));
        assert_true(is_usual(&line, 0, 100)); /* this one ends the row */
        assert_false(is_usual(&line, 41 * side, 100));
        assert_false(is_usual(&line, 41 * side, 100));
        assert_false(is_usual(&line, -41 * side, 100)); /* on the other side: the first of a new row */
        assert_false(is_usual(&line, -41 * side, 100));
        assert_true(is_usual(&line, -41 * side, 100));
    }
}

static void of_kernel(struct pending *pending, uint32_t kind)
{
    pending->op.shape = kind;
    pending->duration = duration_of(kind);
}

/* Two launches of one kernel and one of another. The variance is 23360: 2² × 100 + 400 from the errors of the two
 * means, 10 + 10 + 40 from the spreads, and 150² from the event. */
static void each_kernel_takes_its_share_of_a_run(void **state)
{
    (void)state;
    struct run run = { &ops[0], &ops[2], 3 };
    of_kernel(&ops[1], 2);
    for (int known = 0; known < 2; known++) {
        set_duration(1, 1000, 100, 10);
        set_duration(2, 2000, 400, 40);
        duration_of(2)->samples = known ? 5 : 0;
        double all = known ? count_run(run).end + EVENT : 23360;
        count_run(run);
        assert_near(all, 23360);
        learn_from(run, 233.6, all, true, &line);
        /* If one kernel was never sampled, the difference may be due to it, and nothing is learned. */
        assert_near((double)duration_of(1)->mean, known ? 1002 : 1000);
        assert_near((double)duration_of(1)->var, known ? 100 * (1 - 400 / 23360.0) : 100);
        assert_near((double)duration_of(2)->mean, known ? 2004 : 2000);
        assert_near((double)duration_of(2)->var, known ? 400 * (1 - 400 / 23360.0) : 400);
    }
    struct run one = { &ops[0], &ops[0], 1 };
    set_duration(1, 10, 1e8f, 0);
    learn_from(one, -5000, count_run(one).end + EVENT, true, &line);
    assert_true(duration_of(1)->mean == 0); /* not below 0 */
}

/* If the event tells the run's end only because the run was long, the run is no fair sample. A steady kernel is
 * learned from all the same: its runs cannot be much longer than others. */
static void a_run_seen_because_it_was_long_is_no_fair_sample(void **state)
{
    (void)state;
    struct run run = { &ops[0], &ops[1], 2 };
    for (int foreseen = 0; foreseen < 2; foreseen++) {
        for (int steady = 0; steady < 2; steady++) {
            set_duration(1, 1000, 10000, steady ? 149 * 149 : 151 * 151);
            double all = count_run(run).end + EVENT;
            learn_from(run, 100, all, foreseen, &line);
            assert_int_equal(duration_of(1)->mean > 1000, foreseen || steady);
        }
    }
}

/* The scale is three times the recent squared error of runs relative to their expected variance. */
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

/* A run of a launch of kernel 1 and one of kernel 2, whose means are certain, with these spreads. `begun`: variance
 * of the run's begin. */
static struct run run_of_two(float begin_var, float first, float second)
{
    set_duration(1, 1000, 0, first);
    set_duration(2, 1000, 0, second);
    of_kernel(&ops[1], 2);
    set_op(&ops[0], 1000, 2000, begin_var, 0);
    set_op(&ops[1], 2000, 3000, 0, 0);
    return (struct run){ &ops[0], &ops[1], 2 };
}

/* The variance at this share of a run that was `off` by so much: durations may have changed within the run. */
static double uneven(double off, double share)
{
    return ws_square(off * share * (1 - share));
}

static void a_correction_grows_as_the_uncertainty_does(void **state)
{
    (void)state;
    struct run run = run_of_two(100, 300, 500);
    line.bias = 5;
    bridge(run, count_run(run), 3027, 25, &line);
    double begin_var = 100 * (8 / 9.0) + 25 / 81.0 + uneven(27, 1 / 9.0);
    double inner_var = 400 * (5 / 9.0) + 25 * 16 / 81.0 + uneven(27, 4 / 9.0);
    check_op(&ops[0], 1003, 2012, begin_var, inner_var);
    check_op(&ops[1], 2012, 3027, inner_var, 25);
    assert_int_equal(line.free, 3027);
    assert_near(line_var(&line), 25);
    /* If a run is off by more than expected, its inner times become less certain in proportion. */
    run = run_of_two(0, 450, 450);
    bridge(run, count_run(run), 3090, 0, &line);
    check_op(&ops[0], 1000, 2045, 0, 9 * 225 + uneven(90, 0.5));
    check_op(&ops[1], 2045, 3090, 9 * 225 + uneven(90, 0.5), 0);
}

/* The error of a kernel's mean is the same in both launches. So the run's end tells it, and half of it is the error
 * in the middle. With two kernels it is not known which mean was wrong. */
static void the_run_s_end_tells_the_error_of_a_mean(void **state)
{
    (void)state;
    for (int kinds = 1; kinds <= 2; kinds++) {
        struct run run = run_of_two(0, 0, 0);
        of_kernel(&ops[1], (uint32_t)kinds);
        duration_of(1)->var = duration_of(2)->var = 100 * 100;
        bridge(run, count_run(run), 3090, 0, &line);
        check_op(&ops[0], 1000, 2045, 0, (kinds == 1 ? 0 : 100 * 100 / 2) + uneven(90, 0.5));
        assert_int_equal(ops[1].op.end, 3090);
    }
}

/* If an operation would get a negative length, all operations of the run are shortened by one factor instead. */
static void a_run_that_is_too_long_is_pressed(void **state)
{
    (void)state;
    struct run run = run_of_two(0, 10, 990);
    bridge(run, count_run(run), 1500, 0, &line);
    check_op(&ops[0], 1000, 1250, 0, (double)ops[0].end_var);
    check_op(&ops[1], 1250, 1500, (double)ops[1].begin_var, 0);
    assert_int_equal(line.free, 1500);
    bridge(run, count_run(run), 600, 0, &line); /* the event passed before the run began */
    check_op(&ops[0], 600, 600, 0, (double)ops[0].end_var);
    check_op(&ops[1], 600, 600, (double)ops[1].begin_var, 0);
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
        anchor(&ops[0], &ops[1], &event, EVENT, tells ? TOLD_END : TOLD_NOTHING, &line);
        double all = EVENT + 4 * 1000;
        assert_near((double)duration_of(1)->mean, tells ? 1000 + 2000 / all * 100 : 1000);
        assert_near(line.seen, tells ? 1 + (100 * 100 / all - 1) / 8 : 1);
        assert_int_equal(ops[1].op.end, tells ? 3100 : 3000); /* the operation may have ended before the event */
    }
    /* A run of a single operation is not learned from here: it says no more about its kernel than a sample. */
    set_duration(1, 1000, 1000, 0);
    anchor(&ops[0], &ops[0], &event, EVENT, TOLD_SURELY, &line);
    assert_true(duration_of(1)->mean == 1000);
}

/* Even an event that tells nothing else passed after the operation's end. So an end after the event is moved before
 * it; the further off the end was, the closer to the event it comes. */
static void no_end_is_after_its_event(void **state)
{
    (void)state;
    struct pool_event event = { .time = 2900 };
    set_duration(1, 2000, 0, 100 * 100);
    set_op(&ops[0], 1000, 3000, 0, 0);
    anchor(&ops[0], &ops[0], &event, 400, TOLD_NOTHING, &line);
    assert_in_range(ops[0].op.end, 2850, 2851); /* 100² / (100 + 100) before the event */
    assert_near((double)ops[0].end_var, 400 + 50 * 50);
    assert_int_equal(line.free, ops[0].op.end);
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
    settle_pair(10000, 13000);
    ops[0].detail |= WS_RING_OP_GATED;
    assert_true(settle_last(&context, &ops[0], &events[0], &events[1], &line));
    check_op(&ops[0], 11000, 13000, EVENT, EVENT);
    assert_near((double)duration_of(1)->mean, 2000);
    /* The variance of two events and of one dispatch that was not measured yet. */
    assert_near((double)(duration_of(1)->var - duration_of(1)->spread), 2 * EVENT + 500 * 500);
    assert_true(context.dispatch.wanted);
    assert_int_equal(line.free, 13000);
    context.dispatch = (struct dispatch){ .mean = 800, .var = 50, .count = 4 };
    *duration_of(1) = (struct duration){ 0 };
    settle_gated(&context, &ops[0], &events[0], &events[1], &line);
    check_op(&ops[0], 10800, 13000, EVENT, EVENT);
    assert_near((double)(duration_of(1)->var - duration_of(1)->spread), 2 * EVENT + 50);
    settle_pair(10000, 10300); /* shorter than a dispatch, but the length is not negative */
    settle_gated(&context, &ops[0], &events[0], &events[1], &line);
    check_op(&ops[0], 10300, 10300, EVENT, EVENT);
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
        assert_int_equal(settle_last(&context, &ops[0], &events[0], &events[1], &line) != TOLD_NOTHING,
                         cases[i].tells);
        assert_int_equal(duration_of(1)->samples, cases[i].sampled);
    }
}

/* Behind a gate all launches are measured, the short ones too. Other samples of such a kernel count only if it is
 * steady, or if its end was certain to be measured. */
static void a_kernel_with_fair_samples_needs_no_others(void **state)
{
    (void)state;
    settle_pair(2000, 10000);
    for (int gated = 0; gated < 2; gated++) {
        set_duration(1, 5000, 100, 3000 * 3000);
        duration_of(1)->gated = gated;
        line_begin(&line, 0, 0);
        assert_int_equal(settle_last(&context, &ops[0], &events[0], &events[1], &line), TOLD_END);
        assert_int_equal(duration_of(1)->samples, gated ? 5 : 6);
    }
    duration_of(1)->spread = 700 * 700; /* steady */
    line_begin(&line, 0, 0);
    settle_last(&context, &ops[0], &events[0], &events[1], &line);
    assert_int_equal(duration_of(1)->samples, 6);
}

static void a_begin_event_says_when_the_stream_was_free(void **state)
{
    (void)state;
    set_duration(1, 1000, 0, 0);
    settle_pair(30000, 100000);
    line_begin(&line, 20000, 0);
    settle_last(&context, &ops[0], &events[0], &events[1], &line);
    check_op(&ops[0], 31000, 32000, EVENT, EVENT);
    line_begin(&line, 40000, 77); /* by the computed times, the event passed while the stream was still busy */
    settle_last(&context, &ops[0], &events[0], &events[1], &line);
    assert_int_equal(ops[0].op.begin, 41000);
    assert_near((double)ops[0].begin_var, 77);
}

/* --- a window ----------------------------------------------------------------------------------- */

static void set_stream(int64_t free, float var, float seen)
{
    stream.line_known = true;
    stream.line_free = free;
    stream.line_var = var;
    stream.line_seen = seen;
    stream.line_apart = 0;
}

static void a_stream_keeps_how_sure_it_is(void **state)
{
    (void)state;
    set_duration(1, 10000, 100 * 100, 7);
    set_stream(50000, 11, 2.5f);
    reconstruct(&stream, &ops[0], &ops[1], 0);
    check_op(&ops[1], 62000, 72000, 11 + 7 + 100 * 100, 11 + 14 + 200 * 200);
    assert_int_equal(stream.line_free, 72000);
    assert_near((double)stream.line_var, 11 + 14 + 200 * 200);
    assert_near((double)stream.line_seen, 2.5);
    /* An event that could not be read says nothing. */
    put_event(FIRST, 90000);
    events[0].state = EVENT_FAILED;
    set_stream(50000, 11, 2.5f);
    reconstruct(&stream, &ops[0], &ops[1], FIRST);
    assert_int_equal(ops[1].op.end, 72000);
    assert_int_equal(ws_op_end_quality(&ops[1].op), WS_TIME_INFERRED);
}

/* The count of runs in a row that are far off does not wrap around. */
static void a_long_row_of_runs_is_counted_to_100(void **state)
{
    (void)state;
    for (int side = -1; side <= 1; side += 2) {
        for (int i = 0; i < 2; i++)
            ops[i].op.flags = 0;
        set_duration(1, 10000, 1, 1);
        set_stream(50000, 1, 1);
        stream.line_apart = (int8_t)(100 * side);
        put_event(FIRST, 72000 + 9000 * side);
        ops[1].late = 100;
        reconstruct(&stream, &ops[0], &ops[1], FIRST);
        assert_int_equal(stream.line_apart, 100 * side);
    }
}

/* The begin event of the last operation corrects the operations before it, with less certainty than an end event
 * would. */
static void a_begin_event_ends_the_run_before_it(void **state)
{
    (void)state;
    set_duration(1, 10000, 1000, 0);
    set_stream(50000, 0, 1);
    ops[0].op.host_end = ops[1].op.host_end = 1000;
    ops[1].begin_event = FIRST;
    ops[1].late = 100;
    put_event(FIRST, 61500);
    put_event(SECOND, 72500);
    reconstruct(&stream, &ops[0], &ops[1], SECOND);
    check_op(&ops[0], 51000, 61500, 0, BEGIN_EVENT);
    assert_int_equal(ops[1].op.begin, 62500);
    assert_int_equal(ops[1].op.end, 72500);
    assert_int_equal(stream.line_free, 72500);
    assert_near((double)stream.line_var, EVENT);
}

/* A gate is opened some time after the end event was put into the stream. The begin event behind the gate passes
 * then, even in an idle stream. It tells the end of the operation before only if it passes later than that, and if
 * that operation may have run so long. */
static void a_gate_that_opened_tells_nothing_of_what_was_before(void **state)
{
    (void)state;
    set_duration(1, 10000, 0, 0);
    for (int i = 0; i < 4; i++) {
        bool late = i & 1, unsure = i & 2;
        set_stream(50000, unsure ? 4000 * 4000 : 100, 1);
        ops[0].op.host_end = 40000;
        ops[1].detail = WS_RING_OP_COMPUTED | WS_RING_OP_GATED;
        ops[1].op.host_end = 70000;
        ops[1].late = 100;
        ops[1].begin_event = FIRST;
        put_event(FIRST, 70100 + OPENING_NS + 1500 + (late ? 1500 : 1000));
        put_event(SECOND, 90000);
        reconstruct(&stream, &ops[0], &ops[1], SECOND);
        assert_int_equal(ops[0].op.end, late && unsure ? events[0].time : 61000);
    }
}

/* An operation that is timed by its events alone keeps the times and errors that its events give. */
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
    assert_int_equal(ops[1].op.begin, 100750); /* as in test_times.c */
    assert_int_equal(ops[1].op.begin_error, 1250);
    assert_int_equal(ops[1].op.end, 149500);
    assert_int_equal(ops[1].op.end_error, 1000);
    assert_int_equal(ws_op_begin_quality(&ops[1].op), WS_TIME_MEASURED);
    assert_int_equal(ws_op_begin_quality(&ops[0].op), WS_TIME_INFERRED);
    assert_int_equal(stream.line_free, 149500);
    assert_near((double)stream.line_var, 1000 * 1000 / (2.6 * 2.6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_not_sure_adds_up, begin_test),
        cmocka_unit_test_setup(a_launch_that_came_about_then_may_have_been_late, begin_test),
        cmocka_unit_test_setup(the_later_of_two_uncertain_times, begin_test),
        cmocka_unit_test_setup(a_stream_that_should_be_free_may_not_be, begin_test),
        cmocka_unit_test_setup(errors_are_stated_for_99_of_100, begin_test),
        cmocka_unit_test_setup(an_event_tells_if_it_came_well_before_it_passed, begin_test),
        cmocka_unit_test_setup(a_run_begins_where_the_stream_was_idle, begin_test),
        cmocka_unit_test_setup(three_runs_far_off_in_a_row_are_no_chance, begin_test),
        cmocka_unit_test_setup(each_kernel_takes_its_share_of_a_run, begin_test),
        cmocka_unit_test_setup(a_run_seen_because_it_was_long_is_no_fair_sample, begin_test),
        cmocka_unit_test_setup(the_run_s_end_tells_the_error_of_a_mean, begin_test),
        cmocka_unit_test_setup(a_kernel_with_fair_samples_needs_no_others, begin_test),
        cmocka_unit_test_setup(the_scale_follows_what_runs_are_off_by, begin_test),
        cmocka_unit_test_setup(a_correction_grows_as_the_uncertainty_does, begin_test),
        cmocka_unit_test_setup(a_run_that_is_too_long_is_pressed, begin_test),
        cmocka_unit_test_setup(an_event_that_tells_is_learned_from, begin_test),
        cmocka_unit_test_setup(no_end_is_after_its_event, begin_test),
        cmocka_unit_test_setup(a_gated_launch_by_its_two_events, begin_test),
        cmocka_unit_test_setup(a_sample_needs_both_events_and_no_other_work, begin_test),
        cmocka_unit_test_setup(a_begin_event_says_when_the_stream_was_free, begin_test),
        cmocka_unit_test_setup(a_stream_keeps_how_sure_it_is, begin_test),
        cmocka_unit_test_setup(a_long_row_of_runs_is_counted_to_100, begin_test),
        cmocka_unit_test_setup(a_begin_event_ends_the_run_before_it, begin_test),
        cmocka_unit_test_setup(a_gate_that_opened_tells_nothing_of_what_was_before, begin_test),
        cmocka_unit_test_setup(events_alone_time_what_is_not_computed, begin_test),
    };
    return cmocka_run_group_tests(tests, begin_all, NULL);
}
