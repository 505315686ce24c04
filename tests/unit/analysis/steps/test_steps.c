#include "check.h"

#include "analysis/steps/slow_steps.h"
#include "built.h"

static void mark(struct builder *trace, int64_t from, int64_t to)
{
    build_range(trace, WS_RANGE_STEP, 1, "ProfilerStep", from, to);
}

/* build_kernel puts a launch 10 µs before the kernel's begin. So the kernel "before" is launched before the marker,
 * and "first" is the first kernel launched after the marker. The step begins when "before" has ended. */
static void a_step_begins_when_the_work_before_its_marker_has_ended(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 2);
    (void)state;
    for (int64_t i = 0; i < 5; i++) {
        int64_t at = 1000000 * (i + 1);
        build_kernel(trace, 1, "before", at - 5000, at + 15000);
        mark(trace, at - 12000, at + 988000);
        build_copy(trace, 2, WS_SPACE_PINNED, WS_SPACE_DEVICE, 4096, at, at + 10000); /* the copy of a later batch */
        build_kernel(trace, 1, "first", at + 20000, at + 80000);
        build_kernel(trace, 1, "second", at + 80000, at + 100000);
        build_kernel(trace, 1, "third", at + 100000, at + 120000);
        build_kernel(trace, 2, "ncclDevKernel_AllReduce", at + 100000, at + 200000);
        build_copy(trace, 2, WS_SPACE_DEVICE, WS_SPACE_PINNED, 4, at + 300000, at + 350000);
    }
    build_kernel(trace, 1, "before", 6100000, 6200000);
    built_report(&built);
    const struct ws_track_steps *steps = built_steps(&built);
    assert_int_equal(steps->source, WS_STEPS_MARKED);
    assert_int_equal(steps->steps.count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(built_step(steps, i)->begin, 1000000 * (int64_t)(i + 1) + 15000);
    assert_int_equal(built_step(steps, 4)->end, 5988000);
    assert_int_equal(built_step(steps, 0)->first, 2);
    assert_int_equal(built_step(steps, 0)->count, 7);
    assert_int_equal(steps->kinds[WS_STEP_STEADY], 5);
    assert_int_equal(steps->median, 1000000);
    assert_true(steps->stable);
    /* All 20 µs of the kernel "before" are in one step. This kernel was launched before the next step's marker, so
     * the next step begins only when the kernel ends. */
    assert_int_equal(built_step(steps, 0)->split.busy, 250000);
    assert_int_equal(steps->comm.median, 100000);
    assert_int_equal(steps->exposed_comm.median, 80000);
    assert_int_equal(steps->memory.median, 60000);
    built_finish(&built);
}

/* The recording consists of bursts, each of twenty steps and two kernels of the next step. Between bursts nothing is
 * recorded for 2 s. A step that such a pause interrupts must not count as a step of 2 s. If a marked step began
 * during a pause, its first recorded operation counts as its begin, so it is 12 µs shorter than the others. */
static void steps_in_which_the_recording_paused_are_left_out(void **state)
{
    const int64_t second = 1000000000, step_ns = 1000000;
    (void)state;
    for (int marked = 0; marked < 2; marked++) {
        struct built built;
        struct builder *trace = built_begin_on(&built, "Test GPU", 2);
        for (int64_t burst = 0; burst < 4; burst++) {
            int64_t start = second + burst * 2 * second;
            for (int64_t i = 0; i < 21; i++) {
                int64_t at = start + i * step_ns;
                if (marked)
                    mark(trace, at - 12000, at + 980000);
                build_kernel(trace, 1, "first", at, at + 300000);
                build_kernel(trace, 1, "second", at + 300000, at + 500000);
                if (i == 20)
                    break;
                build_kernel(trace, 1, "third", at + 500000, at + 600000);
                build_kernel(trace, 1, "multi_tensor_apply_kernel<Adam>", at + 600000, at + 900000);
            }
            for (int64_t time = start + 250000000; burst < 3 && time < start + 2 * second; time += 250000000) {
                struct ws_loss loss = { .reason = WS_LOSS_BURST, .thread = 1, .count = 10, .host_ns = time };
                build_row(trace, WS_FAMILY_loss, &loss);
            }
        }
        built_report(&built);
        const struct ws_track_steps *steps = built_steps(&built);
        assert_int_equal(steps->source, marked ? WS_STEPS_MARKED : WS_STEPS_FOUND);
        assert_true(steps->kinds[WS_STEP_STEADY] >= 75);
        assert_int_equal(steps->most, step_ns);
        assert_true(step_ns - steps->mean <= (marked ? 12000 * 3 / 75 : 0));
        assert_int_equal(steps->idle.median, 100000);
        if (marked)
            assert_int_equal(steps->kinds[WS_STEP_PAUSED], 3);
        built_finish(&built);
    }
}

static void run_lengths(struct built *built, const int64_t *lengths, size_t count)
{
    struct builder *trace = built_begin_on(built, "Test GPU", 2);
    int64_t at = 1000000;
    for (size_t i = 0; i < count; i++) {
        mark(trace, at - 11000, at + lengths[i] - 11000);
        build_kernel(trace, 1, "a", at, at + 1000);
        build_kernel(trace, 1, "b", at + 2000, at + lengths[i] / 2);
        at += lengths[i];
    }
    build_kernel(trace, 1, "end", at, at + 1000);
    built_report(built);
}

static void warm_up_and_slow_steps_are_told_apart(void **state)
{
    static const int64_t lengths[] = { 9000000, 1000000, 1500000, 1000000, 1100000, 1000000,
                                       1000000, 1000000, 2000000, 900000,  1000000 };
    struct built built;
    (void)state;
    run_lengths(&built, lengths, sizeof(lengths) / sizeof(lengths[0]));
    const struct ws_track_steps *steps = built_steps(&built);
    assert_int_equal(steps->kinds[WS_STEP_WARM_UP], 3);
    assert_int_equal(steps->kinds[WS_STEP_STEADY], 8);
    assert_int_equal(built_step(steps, 2)->kind, WS_STEP_WARM_UP);
    assert_int_equal(built_step(steps, 3)->kind, WS_STEP_STEADY);
    assert_int_equal(steps->median, 1000000);
    assert_int_equal(steps->most, 2000000);
    assert_int_equal(steps->slow, 1);
    assert_true(built_step(steps, 8)->slow);
    assert_false(steps->stable);
    assert_int_equal(steps->mean, 1125000);
    const struct ws_slow_step *slow = steps->slow_steps.data;
    assert_int_equal(steps->slow_steps.count, 1);
    assert_int_equal(slow->step, 8);
    assert_int_equal(slow->more[WS_SLOW_IDLE], 500000);
    assert_int_equal(slow->more[WS_SLOW_COMPUTE], 500000);
    assert_int_equal(slow->more[WS_SLOW_EXPOSED_MEMORY], 0);
    assert_string_equal(ws_model_name(built.model, slow->name)->text, "b");
    assert_int_equal(slow->name_more, 500000);
    assert_ptr_equal(ws_steps_at(steps, built_step(steps, 4)->begin), built_step(steps, 4));
    assert_ptr_equal(ws_steps_at(steps, built_step(steps, 4)->end - 1), built_step(steps, 4));
    assert_null(ws_steps_at(steps, built_step(steps, 0)->begin - 1));
    assert_null(ws_steps_at(steps, built_step(steps, 10)->end));
    size_t cursor = 0;
    for (int64_t time = 0; time < 25000000; time += 70000)
        assert_ptr_equal(ws_steps_next(steps, &cursor, time), ws_steps_at(steps, time));
    built_finish(&built);
}

/* While the loader has batches in stock, the first steps are short: they count as warm-up. If later steps are as
 * short, the lengths just vary, and no step counts as warm-up. */
static void short_steps_at_the_beginning_are_no_steady_ones(void **state)
{
    static const int64_t stock[] = { 400000, 400000, 600000, 1000000, 1100000, 1000000, 900000, 1000000, 1000000 };
    static const int64_t differ[] = { 400000, 600000, 1000000, 1300000, 500000, 1000000, 1400000, 600000, 1000000 };
    struct built built;
    (void)state;
    run_lengths(&built, stock, sizeof(stock) / sizeof(stock[0]));
    assert_int_equal(built_steps(&built)->kinds[WS_STEP_WARM_UP], 3);
    assert_int_equal(built_steps(&built)->mean, 1000000);
    built_finish(&built);
    run_lengths(&built, differ, sizeof(differ) / sizeof(differ[0]));
    assert_int_equal(built_steps(&built)->kinds[WS_STEP_WARM_UP], 0);
    built_finish(&built);
}

static void steps_tile_whatever_markers_say(void **state)
{
    uint64_t random = 3;
    (void)state;
    for (int round = 0; round < 50; round++) {
        struct built built;
        struct builder *trace = built_begin_on(&built, "Test GPU", 2);
        for (int i = 0; i < 20; i++) {
            int64_t from = (int64_t)(next_random(&random) % 1000000);
            mark(trace, from, from + (int64_t)(next_random(&random) % 100000) - 1000);
        }
        for (int i = 0; i < 60; i++) {
            int64_t from = (int64_t)(next_random(&random) % 1000000);
            build_kernel(trace, 1 + next_random(&random) % 2, "k", from,
                         from + (int64_t)(next_random(&random) % 30000));
        }
        built_report(&built);
        const struct ws_track_steps *steps = built_steps(&built);
        const struct ws_track_activity *activity = built_activity(&built, 0);
        struct ws_steady_walk walk = ws_steady_walk(steps);
        int64_t busy = 0;
        for (int64_t time = -5000; time < 1200000; time += 1 + (int64_t)(next_random(&random) % 9000))
            assert_int_equal(ws_steady_at(&walk, time), ws_step_is_steady(ws_steps_at(steps, time)));
        for (size_t i = 0; i < steps->steps.count; i++) {
            assert_true(built_step(steps, i)->begin < built_step(steps, i)->end);
            assert_true(!i || built_step(steps, i)->begin == built_step(steps, i - 1)->end);
            assert_true(built_step(steps, i)->split.busy <= built_step(steps, i)->end - built_step(steps, i)->begin);
            busy += built_step(steps, i)->split.busy;
        }
        assert_true(busy <= activity->busy);
        built_finish(&built);
    }
}

static void markers_may_be_left_aside(void **state)
{
    static const int64_t lengths[] = { 1000000, 1000000, 1000000 };
    struct built built = { 0 };
    (void)state;
    struct builder *trace = built_begin_on(&built, "Test GPU", 2);
    mark(trace, 0, 1000);
    build_kernel(trace, 1, "a", 11000, 12000);
    built.steps = WS_STEPS_NOT_ASKED;
    built_report(&built);
    assert_int_equal(built_steps(&built)->source, WS_STEPS_NONE);
    assert_non_null(built_steps(&built)->why_none);
    built_finish(&built);
    run_lengths(&built, lengths, 3);
    assert_int_equal(built_steps(&built)->kinds[WS_STEP_STEADY], 3);
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_begins_when_the_work_before_its_marker_has_ended),
        cmocka_unit_test(steps_in_which_the_recording_paused_are_left_out),
        cmocka_unit_test(warm_up_and_slow_steps_are_told_apart),
        cmocka_unit_test(short_steps_at_the_beginning_are_no_steady_ones),
        cmocka_unit_test(steps_tile_whatever_markers_say),
        cmocka_unit_test(markers_may_be_left_aside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
