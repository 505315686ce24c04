#include "check.h"

#include "analysis/steps/ranges.h"
#include "analysis/steps/steps.h"
#include "built.h"

static const int64_t us = 1000;
enum { MAIN = 1, OTHER = 2 };

static struct builder *begin(struct built *built)
{
    struct builder *trace = built_begin_on(built, "Test GPU", 2);
    build_thread(trace, MAIN, 100, "main");
    build_thread(trace, OTHER, 101, "autograd");
    return trace;
}

/* Adds a kernel that ran from `from` to `to` and was launched at `host`; all in µs. */
static void launch_as(struct builder *trace, const char *name, uint32_t thread, uint32_t stream, int64_t host,
                      int64_t from, int64_t to)
{
    struct ws_op op = build_op(trace, &(struct launch){ .kernel = name,
                                                        .stream = stream,
                                                        .begin = from * us,
                                                        .end = to * us,
                                                        .host_begin = host * us,
                                                        .host_end = host * us + 500 });
    op.thread = thread;
    build_row(trace, WS_FAMILY_op, &op);
}

static void launch(struct builder *trace, uint32_t thread, uint32_t stream, int64_t host, int64_t from, int64_t to)
{
    launch_as(trace, "gemm", thread, stream, host, from, to);
}

static void annotate(struct builder *trace, uint32_t thread, const char *name, int64_t from, int64_t to)
{
    build_range(trace, WS_RANGE_ANNOTATION, thread, name, from * us, to * us);
}

static const struct ws_track_ranges *ranges_of(const struct built *built)
{
    return ws_report_result(built->report, &ws_analysis_ranges, 0);
}

static const struct ws_range_row *row_of(const struct built *built, const char *name)
{
    const struct ws_track_ranges *ranges = ranges_of(built);
    const struct ws_label *labels = ws_model_process(built->model, 0)->labels.rows.data;
    const struct ws_range_row *rows = ranges->rows.data;
    for (size_t i = 0; i < ranges->rows.count; i++)
        if (!strcmp(labels[rows[i].label].text.data, name))
            return &rows[i];
    fail_msg("no row %s", name);
    return NULL;
}

/* The work that a thread launched outside of all ranges that the program set. */
static struct ws_range_work outside_of(const struct built *built, uint32_t thread)
{
    const struct ws_range_outside *outside = ranges_of(built)->outside.data;
    for (size_t i = 0; i < ranges_of(built)->outside.count; i++)
        if (outside[i].thread == thread)
            return outside[i].work;
    return (struct ws_range_work){ 0 };
}

/* Asserts the sums of an amount of work. Times are in µs. */
static void expect_amount(const struct ws_range_amount *amount, uint64_t operations, int64_t busy, int64_t sum,
                          int64_t idle)
{
    assert_int_equal(amount->operations, operations);
    assert_int_equal(amount->busy, busy * us);
    assert_int_equal(amount->sum, sum * us);
    assert_int_equal(amount->idle, idle * us);
}

static void expect_stay(const struct ws_range_stay *stay, uint64_t count, int64_t host)
{
    assert_int_equal(stay->count, count);
    assert_int_equal(stay->host, host * us);
}

/* Asserts that the idle times of all ranges, and of the work in no range, add up to the device's idle time. */
static void expect_all_idle_time(const struct built *built)
{
    const struct ws_track_ranges *ranges = ranges_of(built);
    const struct ws_range_row *rows = ranges->rows.data;
    const struct ws_range_outside *outside = ranges->outside.data;
    int64_t idle = 0;
    for (size_t i = 0; i < ranges->rows.count; i++)
        idle += rows[i].own.all.idle;
    for (size_t i = 0; i < ranges->outside.count; i++)
        idle += outside[i].work.all.idle;
    assert_int_equal(idle, built_activity(built, 0)->idle);
}

static void a_range_has_its_own_work_and_that_of_ranges_within(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    built.steps = WS_STEPS_NOT_ASKED;
    annotate(trace, MAIN, "forward", 10, 100);
    annotate(trace, MAIN, "attention", 30, 50);
    annotate(trace, MAIN, "attention", 60, 70);
    annotate(trace, MAIN, "data loading", 200, 300);
    launch(trace, MAIN, 1, 5, 20, 25);    /* launched outside of all ranges */
    launch(trace, MAIN, 1, 12, 40, 60);   /* launched in forward but not in attention; 15 µs idle before it */
    launch(trace, MAIN, 1, 30, 60, 90);   /* launched exactly when attention begins */
    launch(trace, MAIN, 2, 49, 80, 100);  /* launched in attention; overlaps the kernel above by 10 µs */
    launch(trace, MAIN, 1, 50, 130, 140); /* launched in forward, as attention has just ended; 30 µs idle before it */
    launch(trace, MAIN, 1, 65, 150, 160);    /* launched in the second attention; 10 µs idle before it */
    launch(trace, MAIN, 1, 100, 1000, 1001); /* launched after forward */
    built_report(&built);
    assert_int_equal(ranges_of(&built)->rows.count, 3);
    const struct ws_range_row *forward = row_of(&built, "forward"), *attention = row_of(&built, "attention");
    const struct ws_range_row *loading = row_of(&built, "data loading");
    expect_stay(&forward->all, 1, 90);
    assert_int_equal(forward->all.own, 60 * us);
    assert_int_equal(attention->all.own, 30 * us);
    expect_amount(&forward->work.all, 5, 80, 90, 55);
    expect_amount(&forward->own.all, 2, 30, 30, 45);
    expect_stay(&attention->all, 2, 30);
    expect_amount(&attention->work.all, 3, 50, 60, 10);
    expect_amount(&attention->own.all, 3, 50, 60, 10);
    expect_stay(&loading->all, 1, 100);
    expect_amount(&loading->work.all, 0, 0, 0, 0);
    struct ws_range_work outside = outside_of(&built, MAIN);
    expect_amount(&outside.all, 2, 6, 6, 840);
    expect_all_idle_time(&built);
    built_finish(&built);
}

/* Operators have sums and a table of their own, apart from the ranges that the program set. */
static void operators_have_a_table_of_their_own(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    built.steps = WS_STEPS_NOT_ASKED;
    annotate(trace, MAIN, "forward", 0, 100);
    build_range(trace, WS_RANGE_OPERATOR, MAIN, "aten::linear", 10 * us, 50 * us);
    build_range(trace, WS_RANGE_OPERATOR, MAIN, "aten::addmm", 20 * us, 40 * us);
    launch(trace, MAIN, 1, 15, 60, 70);
    launch(trace, MAIN, 1, 30, 70, 90);
    launch(trace, MAIN, 1, 80, 100, 130); /* launched outside of all operators */
    built_report(&built);
    const struct ws_track_ranges *operators = ws_report_result(built.report, &ws_analysis_operators, 0);
    const struct ws_range_row *rows = operators->rows.data;
    assert_int_equal(ranges_of(&built)->rows.count, 1);
    assert_int_equal(operators->rows.count, 2);
    expect_stay(&rows[0].all, 1, 40); /* the row of the operator "linear" */
    assert_int_equal(rows[0].all.own, 20 * us);
    expect_amount(&rows[0].work.all, 2, 30, 30, 0);
    expect_amount(&rows[0].own.all, 1, 10, 10, 0);
    expect_stay(&rows[1].all, 1, 20);
    expect_amount(&rows[1].work.all, 1, 20, 20, 0);
    char *text = built_text(&built, "operators", false);
    assert_non_null(strstr(text, "aten::addmm"));
    assert_null(strstr(text, "forward"));
    free(text);
    built_finish(&built);
}

static void ranges_of_one_name_within_each_other_count_work_once(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    built.steps = WS_STEPS_NOT_ASKED;
    annotate(trace, MAIN, "block", 0, 100);
    annotate(trace, MAIN, "linear", 10, 90);
    annotate(trace, MAIN, "block", 20, 80);
    annotate(trace, OTHER, "block", 0, 40);
    launch(trace, MAIN, 1, 30, 200, 210);
    built_report(&built);
    expect_stay(&row_of(&built, "block")->all, 3, 140);
    expect_amount(&row_of(&built, "block")->work.all, 1, 10, 10, 0);
    expect_amount(&row_of(&built, "block")->own.all, 1, 10, 10, 0);
    expect_amount(&row_of(&built, "linear")->work.all, 1, 10, 10, 0);
    expect_amount(&row_of(&built, "linear")->own.all, 0, 0, 0, 0);
    built_finish(&built);
}

static void ranges_that_overlap_both_hold_what_is_in_both(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    built.steps = WS_STEPS_NOT_ASKED;
    annotate(trace, MAIN, "first", 0, 50);
    annotate(trace, MAIN, "second", 30, 100);
    launch(trace, MAIN, 1, 10, 200, 201);
    launch(trace, MAIN, 1, 40, 201, 203);
    launch(trace, MAIN, 1, 60, 203, 207);
    built_report(&built);
    expect_amount(&row_of(&built, "first")->work.all, 2, 3, 3, 0);
    expect_amount(&row_of(&built, "first")->own.all, 1, 1, 1, 0);
    expect_amount(&row_of(&built, "second")->work.all, 2, 6, 6, 0);
    built_finish(&built);
}

static void work_is_of_the_thread_that_launched_it(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    built.steps = WS_STEPS_NOT_ASKED;
    annotate(trace, MAIN, "backward", 0, 100);
    annotate(trace, 3, "loader", 0, 500); /* a range of a thread that launches nothing */
    launch(trace, MAIN, 1, 5, 10, 20);
    launch(trace, OTHER, 1, 50, 60, 90);
    launch(trace, 0, 1, 50, 100, 107); /* a kernel whose launch is not in the trace */
    built_report(&built);
    expect_amount(&row_of(&built, "backward")->work.all, 1, 10, 10, 0);
    expect_stay(&row_of(&built, "loader")->all, 1, 500);
    struct ws_range_work other = outside_of(&built, OTHER), unknown = outside_of(&built, 0);
    expect_amount(&other.all, 1, 30, 30, 40);
    expect_amount(&unknown.all, 1, 7, 7, 10);
    expect_all_idle_time(&built);
    built_finish(&built);
}

/* Six marked steps of 1 ms. The host is 200 µs ahead of the device, and the end of the recording cuts off the last
 * step. */
static void figures_of_a_step_are_of_the_steady_ones(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    annotate(trace, MAIN, "training", 500, 9000); /* around all steps; it does not end before the recording does */
    annotate(trace, MAIN, "overlap", 2900,
             3100);                          /* across the end of a step: it counts for the step in which it ends */
    annotate(trace, MAIN, "setup", 10, 400); /* a range before all steps */
    for (int64_t i = 1; i <= 6; i++) {
        char name[32];
        snprintf(name, sizeof(name), "ProfilerStep#%d", (int)i);
        build_range(trace, WS_RANGE_STEP, MAIN, name, 1000 * i * us, (1000 * i + 990) * us);
        annotate(trace, MAIN, "load", 1000 * i, 1000 * i + 100);
        annotate(trace, MAIN, "forward", 1000 * i + 100, 1000 * i + 300);
        annotate(trace, MAIN, "optimizer", 1000 * i + 900, 1000 * i + 980);
        launch(trace, MAIN, 1, 1000 * i + 150, 1000 * i + 350, 1000 * i + 750);
        /* launched in this step, but it ends 10 µs after the next step's first kernel has begun */
        launch(trace, MAIN, 2, 1000 * i + 950, 1000 * i + 1150, 1000 * i + 1360);
    }
    built_report(&built);
    const struct ws_track_steps *steps = ws_report_result(built.report, &ws_analysis_steps, 0);
    assert_int_equal(steps->source, WS_STEPS_MARKED);
    int64_t steady = (int64_t)steps->kinds[WS_STEP_STEADY];
    assert_true(steady >= 4 && steady < 6);
    const struct ws_range_row *forward = row_of(&built, "forward"), *optimizer = row_of(&built, "optimizer");
    expect_stay(&forward->all, 6, 1200);
    expect_stay(&forward->steady, (uint64_t)steady, 200 * steady);
    expect_amount(&forward->work.steady, (uint64_t)steady, 400 * steady, 400 * steady, 0);
    expect_stay(&optimizer->steady, (uint64_t)steady, 80 * steady);
    expect_amount(&optimizer->work.steady, (uint64_t)steady, 210 * steady, 210 * steady, 400 * steady);
    expect_stay(&row_of(&built, "load")->steady, (uint64_t)steady, 100 * steady);
    expect_stay(&row_of(&built, "training")->all, 1, 8500);
    expect_stay(&row_of(&built, "training")->steady, 0, 1000 * steady);
    expect_amount(&row_of(&built, "training")->work.all, 12, 6 * 610 - 5 * 10, 6 * 610, 6 * 400);
    expect_stay(&row_of(&built, "overlap")->steady, 1, 200);
    expect_stay(&row_of(&built, "setup")->all, 1, 390);
    expect_stay(&row_of(&built, "setup")->steady, 0, 0);
    built_finish(&built);
}

static void steps_that_were_found_lie_between_launches(void **state)
{
    struct built built;
    static const char *const names[] = { "embedding", "gemm",      "softmax",
                                         "gemm",      "softmax",   "gemm",
                                         "softmax",   "gemm_grad", "multi_tensor_apply_adam" };
    const int64_t kernels = sizeof(names) / sizeof(names[0]);
    struct builder *trace = begin(&built);
    (void)state;
    for (int64_t i = 0; i < 40; i++) {
        annotate(trace, MAIN, "batch", 1000 * i, 1000 * i + 800);
        for (int64_t k = 0; k < kernels; k++)
            launch_as(trace, names[k], MAIN, 1, 1000 * i + 10 * k, 1000 * i + 100 + 100 * k,
                      1000 * i + 190 + 100 * k + k);
    }
    built_report(&built);
    const struct ws_track_steps *steps = ws_report_result(built.report, &ws_analysis_steps, 0);
    if (steps->source != WS_STEPS_FOUND)
        fail_msg("no steps: %s", steps->why_none);
    uint64_t steady = steps->kinds[WS_STEP_STEADY];
    expect_stay(&row_of(&built, "batch")->steady, steady, 800 * (int64_t)steady);
    assert_int_equal(row_of(&built, "batch")->work.steady.operations, (uint64_t)kernels * steady);
    built_finish(&built);
}

static void deep_and_odd_ranges_are_read(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    built.steps = WS_STEPS_NOT_ASKED;
    for (int i = 0; i < 3000; i++)
        annotate(trace, MAIN, i % 2 ? "odd" : "even", i, 20000 - i);
    annotate(trace, MAIN, "backwards", 50, 40);
    annotate(trace, MAIN, "empty", 50, 50);
    launch(trace, MAIN, 1, 9000, 9500, 9600);
    built_report(&built);
    expect_amount(&row_of(&built, "odd")->work.all, 1, 100, 100, 0);
    expect_amount(&row_of(&built, "even")->work.all, 1, 100, 100, 0);
    expect_stay(&row_of(&built, "even")->all, 1500, 20000);
    expect_stay(&row_of(&built, "backwards")->all, 1, 0);
    expect_stay(&row_of(&built, "empty")->all, 1, 0);
    built_finish(&built);
}

static void without_such_ranges_there_is_no_section(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    build_range(trace, WS_RANGE_OPERATOR, MAIN, "aten::mm", 0, 100 * us);
    build_range(trace, WS_RANGE_PYTHON, MAIN, "train.py(1): step", 0, 100 * us);
    build_range(trace, WS_RANGE_STEP, MAIN, "ProfilerStep#1", 0, 100 * us);
    build_range(trace, WS_RANGE_COMMUNICATION, MAIN, "nccl:all_reduce", 0, 100 * us);
    launch(trace, MAIN, 1, 5, 10, 20);
    built_report(&built);
    assert_int_equal(ranges_of(&built)->rows.count, 0);
    char *text = built_text(&built, NULL, false), *asked = built_text(&built, "ranges", false);
    assert_non_null(strstr(text, "Kernels, copies and memsets"));
    assert_null(strstr(text, "Ranges of the program"));
    assert_non_null(strstr(asked, "Ranges of the program"));
    assert_non_null(strstr(asked, "holds no ranges"));
    free(text);
    free(asked);
    json_t *report = ws_report_json(built.report);
    json_t *device =
        json_array_get(json_object_get(json_array_get(json_object_get(report, "processes"), 0), "devices"), 0);
    assert_non_null(device);
    assert_null(json_object_get(device, "ranges"));
    json_decref(report);
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_has_its_own_work_and_that_of_ranges_within),
        cmocka_unit_test(operators_have_a_table_of_their_own),
        cmocka_unit_test(ranges_of_one_name_within_each_other_count_work_once),
        cmocka_unit_test(ranges_that_overlap_both_hold_what_is_in_both),
        cmocka_unit_test(work_is_of_the_thread_that_launched_it),
        cmocka_unit_test(figures_of_a_step_are_of_the_steady_ones),
        cmocka_unit_test(steps_that_were_found_lie_between_launches),
        cmocka_unit_test(deep_and_odd_ranges_are_read),
        cmocka_unit_test(without_such_ranges_there_is_no_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
