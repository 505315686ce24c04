/* Tests of where marked steps begin and end. On the host, an iteration lasts from marker to marker. On the device, it
 * begins when earlier work has ended. */
#include "check.h"

#include "analysis/gaps/gaps.h"
#include "analysis/gaps/savings.h"
#include "analysis/verdict/wall.h"
#include "built.h"

static const int64_t us = 1000, ms = 1000000;
static const char gemm[] = "ampere_sgemm_128x64_nn";

static struct builder *begin(struct built *built)
{
    struct builder *trace = built_begin_on(built, "Test GPU", 2);
    build_thread(trace, 1, 100, "main");
    return trace;
}

static void mark(struct builder *trace, int64_t from, int64_t to)
{
    build_range(trace, WS_RANGE_STEP, 1, "ProfilerStep", from, to);
}

/* Adds a kernel that a call of 5 µs launched at `host`. */
static void launch(struct builder *trace, int64_t host, int64_t from, int64_t to)
{
    build_launch(
        trace,
        &(struct launch){ .kernel = gemm, .begin = from, .end = to, .host_begin = host, .host_end = host + 5 * us });
}

/* Adds a kernel whose launch the trace lacks. */
static void without_launch(struct builder *trace, int64_t from, int64_t to)
{
    struct ws_op op = build_op(trace, &(struct launch){ .kernel = gemm, .begin = from, .end = to });
    op.thread = 0;
    build_row(trace, WS_FAMILY_op, &op);
}

static const struct ws_track_wall *wall_of(const struct built *built)
{
    return built_result(built, &ws_analysis_wall, 0);
}

static void expect_step(const struct built *built, size_t place, int64_t from, int64_t to)
{
    const struct ws_step *step = built_step(built_steps(built), place);
    assert_int_equal(step->begin, from);
    assert_int_equal(step->end, to);
}

/* Asserts that the parts of an average step add up to the step's length. */
static void expect_whole(const struct built *built)
{
    const struct ws_track_wall *wall = wall_of(built);
    int64_t sum = 0;
    for (int part = 0; part < WS_PART_COUNT; part++) {
        assert_true(wall->parts[part] >= 0);
        sum += wall->parts[part];
    }
    assert_true(llabs(sum - wall->length) < WS_PART_COUNT);
}

/* One step whose host prepares a batch in Python for 60 ms and then copies the batch to the device. */
static void what_the_host_does_before_the_first_operation_is_in_the_step(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    mark(trace, 0, 100 * ms);
    build_range(trace, WS_RANGE_PYTHON, 1, "train.py(12): load_video", 10 * us, 60 * ms);
    build_launch(trace, &(struct launch){ .from = WS_SPACE_PAGEABLE,
                                          .to = WS_SPACE_DEVICE,
                                          .bytes = 1 << 20,
                                          .begin = 60 * ms + 20 * us,
                                          .end = 60 * ms + 220 * us,
                                          .host_begin = 60 * ms + 10 * us,
                                          .host_end = 60 * ms + 230 * us });
    launch(trace, 60 * ms + 240 * us, 60 * ms + 250 * us, 98 * ms);
    built_report(&built);
    const struct ws_track_wall *wall = wall_of(&built);
    expect_step(&built, 0, 0, 100 * ms);
    expect_whole(&built);
    assert_int_equal(wall->wall, WS_WALL_OVERHEAD);
    assert_int_equal(wall->cause, WS_PART_INPUT);
    assert_int_equal(wall->parts[WS_PART_INPUT], 60 * ms + 20 * us);
    const struct ws_advice *advice = wall->advice.items.data;
    assert_true(wall->advice.items.count > 0);
    assert_non_null(strstr(advice->what, "prepare input faster"));
    assert_string_equal(advice->where, "load_video (train.py:12)");
    assert_true(advice->saving_ns > 59 * ms);
    char *text = built_text(&built, "gaps", false);
    assert_non_null(strstr(text, "Of this, 60.0 ms (input) in all is before the device's first operation."));
    assert_null(strstr(text, "outside the steady steps"));
    free(text);
    built_finish(&built);
}

/* The device waits for 60 ms before a kernel. Nothing shows that the host waited for input, so the pause does not
 * count as a wait for input. */
static void a_pause_before_a_kernel_is_no_wait_for_input(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    mark(trace, 0, 100 * ms);
    build_range(trace, WS_RANGE_PYTHON, 1, "train.py(12): plan", 10 * us, 60 * ms);
    launch(trace, 60 * ms + 10 * us, 60 * ms + 20 * us, 98 * ms);
    built_report(&built);
    expect_step(&built, 0, 0, 100 * ms);
    expect_whole(&built);
    assert_int_equal(wall_of(&built)->parts[WS_PART_INPUT], 0);
    assert_int_equal(wall_of(&built)->parts[WS_PART_LAUNCH], 60 * ms + 20 * us);
    built_finish(&built);
}

/* The host is in Python for a while before a copy. This pause is a wait for input only at the begin of a step, and
 * only if the copy is large enough for a batch. */
static void a_pause_before_another_copy_is_no_wait_for_input(void **state)
{
    (void)state;
    for (int within = 0; within < 2; within++) {
        struct built built;
        struct builder *trace = begin(&built);
        int64_t copy = 60 * ms;
        mark(trace, 0, 100 * ms);
        build_range(trace, WS_RANGE_PYTHON, 1, "train.py(12): plan", 10 * us, 99 * ms);
        if (within)
            launch(trace, 20 * us, 30 * us, 10 * ms);
        build_launch(trace, &(struct launch){ .from = WS_SPACE_PAGEABLE,
                                              .to = WS_SPACE_DEVICE,
                                              .bytes = within ? 1 << 20 : 8,
                                              .begin = copy + 20 * us,
                                              .end = copy + 40 * us,
                                              .host_begin = copy + 10 * us,
                                              .host_end = copy + 50 * us });
        launch(trace, copy + 60 * us, copy + 70 * us, 98 * ms);
        built_report(&built);
        assert_int_equal(wall_of(&built)->parts[WS_PART_INPUT], 0);
        assert_true(wall_of(&built)->parts[WS_PART_LAUNCH] > (within ? 50 : 60) * ms);
        built_finish(&built);
    }
}

/* The host first waits for work that it launched before the recording. That work does not belong to the step. */
static void work_launched_before_the_recording_is_not_in_the_step(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    mark(trace, 0, 45 * ms);
    for (int64_t i = 0; i < 10; i++)
        without_launch(trace, i * ms - 500 * us, (i + 1) * ms - 500 * us);
    struct ws_op op =
        build_op(trace, &(struct launch){ .kernel = gemm, .stream = 2, .begin = 9 * ms, .end = 9600 * us });
    op.thread = 0;
    build_row(trace, WS_FAMILY_op, &op); /* this operation is on another stream, and the trace lacks its launch */
    build_call(trace, "cuCtxSynchronize", WS_CALL_SYNC, 100 * us, 9600 * us);
    for (int64_t i = 10; i < 40; i++)
        launch(trace, i * ms - 200 * us, i * ms, (i + 1) * ms - 50 * us);
    built_report(&built);
    expect_step(&built, 0, 9600 * us, 45 * ms);
    assert_int_equal(built_step(built_steps(&built), 0)->count, 30);
    expect_whole(&built);
    built_finish(&built);
}

/* The launch of an operation in the middle is missing. The operation belongs to the same step as its neighbours. */
static void an_operation_whose_launch_was_lost_moves_no_step(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    for (int64_t step = 0; step < 6; step++) {
        int64_t at = step * 10 * ms;
        mark(trace, at, at + 10 * ms);
        for (int64_t i = 0; i < 10; i++) /* the device is 5 ms behind the host */
            if (i == 7)
                without_launch(trace, at + 5 * ms + i * ms, at + 6 * ms + i * ms);
            else
                launch(trace, at + i * ms, at + 5 * ms + i * ms, at + 6 * ms + i * ms);
    }
    built_report(&built);
    for (size_t i = 0; i < 5; i++) {
        expect_step(&built, i, (int64_t)i * 10 * ms + 5 * ms, (int64_t)i * 10 * ms + 15 * ms);
        assert_int_equal(built_step(built_steps(&built), i)->count, 10);
    }
    built_finish(&built);
}

/* In a trace without launch calls, an operation counts as launched when it begins on the device. */
static void without_launches_the_device_tells(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    for (int64_t step = 0; step < 4; step++) {
        mark(trace, step * 10 * ms, (step + 1) * 10 * ms);
        without_launch(trace, step * 10 * ms + 2 * ms, step * 10 * ms + 8 * ms);
    }
    built_report(&built);
    assert_int_equal(built_steps(&built)->steps.count, 4);
    for (size_t i = 0; i < 4; i++)
        expect_step(&built, i, (int64_t)i * 10 * ms, (int64_t)(i + 1) * 10 * ms);
    built_finish(&built);
}

/* The device is slower than the host. A step lasts as long as its work on the device, whatever the lengths of the
 * markers. */
static void markers_that_jitter_leave_the_period_of_the_device(void **state)
{
    static const int64_t lengths[] = { 6, 14, 8, 15, 5, 11 };
    struct built built;
    struct builder *trace = begin(&built);
    int64_t host = 0, device = 1 * ms;
    (void)state;
    for (size_t step = 0; step < 6; step++) {
        mark(trace, host, host + lengths[step] * ms);
        for (int64_t i = 0; i < 12; i++, device += ms)
            launch(trace, host + (i + 1) * 20 * us, device, device + ms);
        host += lengths[step] * ms;
    }
    built_report(&built);
    assert_int_equal(built_steps(&built)->steps.count, 6);
    for (size_t i = 0; i < 6; i++)
        expect_step(&built, i, ms + (int64_t)i * 12 * ms, ms + (int64_t)(i + 1) * 12 * ms);
    expect_whole(&built);
    built_finish(&built);
}

/* A single step, whose marker ends long before its work. */
static void a_step_lasts_as_long_as_its_work(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    mark(trace, 0, 10 * ms);
    for (int64_t i = 0; i < 20; i++)
        launch(trace, (i + 1) * 100 * us, ms + i * ms, ms + (i + 1) * ms);
    built_report(&built);
    expect_step(&built, 0, ms, 21 * ms);
    built_finish(&built);
}

/* The host prepares input for 60 ms, and the device works on after the marker's end for 30 ms. The host would prepare
 * the next step's input in these 30 ms, so an iteration takes 100 ms, not 130 ms. */
static void what_outlasts_the_marker_overlaps_the_next_step(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    mark(trace, 0, 100 * ms);
    launch(trace, 60 * ms, 60 * ms + 10 * us, 130 * ms);
    built_report(&built);
    expect_step(&built, 0, 30 * ms, 130 * ms);
    built_finish(&built);
}

/* The recording begins while the stream is busy. So the first recorded operation waits for 50 ms, although no
 * recorded operation runs then. */
static void a_queue_filled_before_the_recording_is_not_in_the_step(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    mark(trace, 0, 60 * ms);
    build_meta(trace, "import", "Kineto (PyTorch profiler) JSON");
    build_kernel(trace, 2, "fill", 15 * us, 20 * us);
    for (int64_t i = 0; i < 10; i++)
        launch(trace, (i + 3) * 10 * us, 50 * ms + i * ms, 51 * ms + i * ms);
    built_report(&built);
    expect_step(&built, 0, 50 * ms, 60 * ms);
    assert_int_equal(wall_of(&built)->length, 10 * ms);
    expect_whole(&built);
    built_finish(&built);
}

/* On the host, each step begins 1 ms before its first launch and ends 2 ms after the device became idle. So each gap
 * belongs to two steps. Only that part of a gap counts which is in a steady step. */
static void a_gap_across_a_boundary_is_divided(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    for (int64_t step = 0; step < 5; step++) {
        int64_t at = step * 10 * ms;
        mark(trace, at, at + 10 * ms);
        launch(trace, at + ms, at + ms + 10 * us, at + 8 * ms);
    }
    built_report(&built);
    const struct ws_track_causes *causes = built_result(&built, &ws_analysis_causes, 0);
    const struct ws_track_steps *steps = built_steps(&built);
    int64_t sum = 0;
    for (int cause = 0; cause < WS_CAUSE_COUNT; cause++)
        sum += causes->totals[cause].steady;
    assert_int_equal(steps->kinds[WS_STEP_CUT], 1);
    assert_int_equal(sum, 4 * (3 * ms + 10 * us));
    expect_whole(&built);
    built_finish(&built);
}

/* If half of the time lies between one marker's end and the next one's begin, the markers do not show how long the
 * last iteration took. */
static void the_last_marker_may_not_be_the_whole_iteration(void **state)
{
    (void)state;
    for (int tile = 0; tile < 2; tile++) {
        struct built built;
        struct builder *trace = begin(&built);
        for (int64_t step = 0; step < 6; step++) {
            mark(trace, step * 10 * ms, step * 10 * ms + (tile ? 10 : 5) * ms);
            launch(trace, step * 10 * ms + ms, step * 10 * ms + 2 * ms, step * 10 * ms + 4 * ms);
        }
        launch(trace, 70 * ms, 71 * ms, 72 * ms);
        built_report(&built);
        assert_int_equal(built_steps(&built)->kinds[WS_STEP_CUT], !tile);
        assert_int_equal(built_steps(&built)->most, 10 * ms);
        built_finish(&built);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_host_does_before_the_first_operation_is_in_the_step),
        cmocka_unit_test(a_pause_before_a_kernel_is_no_wait_for_input),
        cmocka_unit_test(a_pause_before_another_copy_is_no_wait_for_input),
        cmocka_unit_test(work_launched_before_the_recording_is_not_in_the_step),
        cmocka_unit_test(an_operation_whose_launch_was_lost_moves_no_step),
        cmocka_unit_test(without_launches_the_device_tells),
        cmocka_unit_test(markers_that_jitter_leave_the_period_of_the_device),
        cmocka_unit_test(a_step_lasts_as_long_as_its_work),
        cmocka_unit_test(what_outlasts_the_marker_overlaps_the_next_step),
        cmocka_unit_test(a_queue_filled_before_the_recording_is_not_in_the_step),
        cmocka_unit_test(a_gap_across_a_boundary_is_divided),
        cmocka_unit_test(the_last_marker_may_not_be_the_whole_iteration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
