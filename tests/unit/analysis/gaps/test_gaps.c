#include "check.h"

#include "analysis/gaps/gaps.h"
#include "analysis/verdict/wall.h"
#include "gap_trace.h"

static const struct ws_track_causes *causes_of(struct built *built)
{
    built_report(built);
    return ws_report_result(built->report, &ws_analysis_causes, 0);
}

/* Asserts that there is one gap and that its cause is `cause`. */
static void expect(struct built *built, enum ws_part cause)
{
    const struct ws_track_causes *causes = causes_of(built);
    const struct ws_gap_line *lines = causes->lines.data;
    assert_int_equal(built_activity(built, 0)->gaps.count, 1);
    assert_int_equal(causes->lines.count, 1);
    assert_string_equal(ws_part_name(lines[0].cause), ws_part_name(cause));
    assert_int_equal(causes->totals[cause].count, 1);
    assert_int_equal(causes->totals[cause].total, built_activity(built, 0)->idle);
}

static void expect_line(struct built *built, const char *expected)
{
    const struct ws_track_causes *causes = ws_report_result(built->report, &ws_analysis_causes, 0);
    char text[128];
    ws_gap_line_text(ws_model_process(built->model, 0), causes->lines.data, text, sizeof(text));
    assert_string_equal(text, expected);
}

static const char *function_of(const struct built *built)
{
    const struct ws_track_causes *causes = ws_report_result(built->report, &ws_analysis_causes, 0);
    const struct ws_gap_line *line = causes->lines.data;
    const struct ws_driver_function *function =
        ws_entries_find(&ws_model_process(built->model, 0)->driver_functions, line->function);
    return function ? function->name.data : "";
}

/* The host waits until the device is idle. The gap from the end of this wait to the host's next launch was caused by
 * the wait. */
static void after_a_wait(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    first(trace);
    build_call(trace, "cuStreamSynchronize", WS_CALL_SYNC, -90 * us, ms + 8 * us);
    second(trace, ms + 60 * us);
    expect(&built, WS_PART_SYNC);
    assert_string_equal(function_of(&built), "cuStreamSynchronize");
    built_finish(&built);
}

/* The call of a copy returned only when the copy was done. Such a call counts as a wait, even if no flag says that it
 * blocks. */
static void after_a_copy_that_blocked(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    first(trace);
    build_launch(trace, &(struct launch){ .from = WS_SPACE_DEVICE,
                                          .to = WS_SPACE_PAGEABLE,
                                          .call = "cudaMemcpyAsync",
                                          .begin = ms,
                                          .end = ms + 3 * us,
                                          .host_begin = 20 * us,
                                          .host_end = ms + 8 * us });
    second(trace, ms + 60 * us);
    expect(&built, WS_PART_SYNC);
    assert_string_equal(function_of(&built), "cudaMemcpyAsync");
    built_finish(&built);
}

/* A wait of 10 µs does not explain a pause of 2 ms without launches. */
static void a_short_wait_before_a_long_pause(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    first(trace);
    build_call(trace, "cuStreamSynchronize", WS_CALL_SYNC, ms - 5 * us, ms + 5 * us);
    second(trace, 3 * ms);
    expect(&built, WS_PART_UNEXPLAINED);
    built_finish(&built);
}

static void in_an_allocation(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    first(trace);
    build_call(trace, "cuMemAlloc_v2", WS_CALL_MEMORY, ms - 10 * us, ms + 300 * us);
    second(trace, ms + 320 * us);
    expect(&built, WS_PART_ALLOCATION);
    assert_string_equal(function_of(&built), "cuMemAlloc_v2");
    built_finish(&built);
}

/* The trace does not say what the thread did in the gap. A copy to the device came next, so the thread waited for
 * input. */
static void a_batch_that_came_late(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    first(trace);
    launch(trace, COMPUTE, NULL, 3 * ms, 3 * ms + 8 * us, 4 * ms);
    expect(&built, WS_PART_INPUT);
    built_finish(&built);
}

static void in_a_loader(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    first(trace);
    build_range(trace, WS_RANGE_PYTHON, 1, "train.py(41): main", -ms, 5 * ms);
    build_range(trace, WS_RANGE_ANNOTATION, 1, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", ms / 2,
                3 * ms - 20 * us);
    second(trace, 3 * ms);
    expect(&built, WS_PART_INPUT);
    expect_line(&built, "main (train.py:41)");
    built_finish(&built);
}

/* The host ran an operator during the gap. So the host was slow, and did not wait for input. */
static void in_an_operator(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    first(trace);
    build_range(trace, WS_RANGE_OPERATOR, 1, "aten::nonzero", ms / 2, 4 * ms);
    launch(trace, COMPUTE, NULL, 3 * ms, 3 * ms + 8 * us, 4 * ms);
    expect(&built, WS_PART_LAUNCH);
    expect_line(&built, "aten::nonzero");
    built_finish(&built);
}

static void between_launches(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    first(trace);
    second(trace, ms + 30 * us);
    expect(&built, WS_PART_LAUNCH);
    built_finish(&built);
}

/* The launch call began only 2 µs before the device became idle. That was too late for its kernel to follow at
 * once. */
static void launched_just_too_late(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    first(trace);
    second(trace, ms - 2 * us);
    expect(&built, WS_PART_LAUNCH);
    built_finish(&built);
}

static void queued(struct built *built, uint32_t stream, const char *name, int64_t gap)
{
    struct builder *trace = begin(built);
    first(trace);
    launch(trace, stream, name, -80 * us, ms + gap, 2 * ms);
}

static void queued_work(void **state)
{
    struct built built;
    (void)state;
    queued(&built, COMPUTE, gemm, 4 * us);
    expect(&built, WS_PART_DISPATCH);
    built_finish(&built);
    queued(&built, OTHER, gemm, 40 * us);
    expect(&built, WS_PART_WAIT);
    built_finish(&built);
    queued(&built, OTHER, all_reduce, 40 * us);
    expect(&built, WS_PART_COMM_WAIT);
    built_finish(&built);
}

/* Two nodes of a graph: one call launched both, long before they ran. If the gap between them is longer than a
 * dispatch (the start of the next queued operation) can take, the second node waited for something. */
static void between_nodes_of_a_graph(void **state)
{
    static const struct {
        int64_t gap;
        enum ws_part cause;
    } cases[] = { { 6000, WS_PART_DISPATCH }, { 20000, WS_PART_DISPATCH }, { 500000, WS_PART_WAIT } };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct built built;
        struct builder *trace = begin(&built);
        int64_t from = ms + cases[i].gap;
        first(trace);
        launch(trace, OTHER, gemm, -100 * us, from, from + ms);
        expect(&built, cases[i].cause);
        built_finish(&built);
    }
}

/* Work was queued, but the device was often idle. If that idle time is a large part of the recording, the advice
 * states all of it as the most that can be saved. */
static void idle_time_with_work_queued_is_pointed_at(void **state)
{
    static const struct {
        int64_t gap;
        enum ws_part cause;
        bool told;
    } cases[] = { { 200000, WS_PART_WAIT, true },
                  { 30000, WS_PART_WAIT, false },
                  { 15000, WS_PART_DISPATCH, false } };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct built built;
        struct builder *trace = begin(&built);
        int64_t at = 0, length = ms - cases[i].gap;
        built.steps = WS_STEPS_NOT_ASKED;
        for (int kernel = 0; kernel < 20; kernel++, at += ms)
            launch(trace, COMPUTE, gemm, (kernel - 100) * 10 * us, at, at + length);
        built_report(&built);
        const struct ws_track_wall *wall = ws_report_result(built.report, &ws_analysis_wall, 0);
        const struct ws_advice *advice = wall->advice.items.data;
        assert_int_equal(wall->parts[cases[i].cause], 19 * cases[i].gap);
        assert_int_equal(wall->advice.items.count, cases[i].told);
        if (cases[i].told) {
            assert_int_equal(advice->part, cases[i].cause);
            assert_int_equal(advice->saving_ns, 19 * cases[i].gap);
        }
        built_finish(&built);
    }
}

static void without_the_hosts_side(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    first(trace);
    struct ws_op op = build_op(trace, &(struct launch){ .kernel = gemm, .begin = 3 * ms, .end = 4 * ms });
    op.thread = 0;
    op.host_begin = op.host_end = 0;
    build_row(trace, WS_FAMILY_op, &op);
    expect(&built, WS_PART_UNEXPLAINED);
    const struct ws_track_causes *causes = ws_report_result(built.report, &ws_analysis_causes, 0);
    assert_int_equal(causes->hostless.total, 2 * ms);
    built_finish(&built);
}

static void gaps_that_may_not_exist(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    first(trace);
    struct ws_shape shape = { .kind = WS_OP_KERNEL, .stream = COMPUTE, .function = build_function(trace, gemm) };
    struct ws_op op = build_op_of(trace, build_shape(trace, &shape), ms + 50 * us, 2 * ms);
    op.host_begin = -80 * us;
    op.host_end = -76 * us;
    op.begin_error = 60000;
    build_row(trace, WS_FAMILY_op, &op);
    expect(&built, WS_PART_UNEXPLAINED);
    const struct ws_track_causes *causes = ws_report_result(built.report, &ws_analysis_causes, 0);
    assert_int_equal(causes->within_error.count, 1);
    built_finish(&built);
}

/* PyTorch launches backward passes from a second thread. The main thread's wait still causes the gap before them. */
static void the_other_threads_wait(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    first(trace);
    build_call(trace, "cuStreamSynchronize", WS_CALL_SYNC, -90 * us, ms + 250 * us);
    build_launch(trace, &(struct launch){ .kernel = gemm,
                                          .thread = 2,
                                          .begin = ms + 308 * us,
                                          .end = 2 * ms,
                                          .host_begin = ms + 300 * us,
                                          .host_end = ms + 305 * us });
    expect(&built, WS_PART_SYNC);
    built_finish(&built);
}

/* The host waits for 1 ms, but the first gap after the wait is shorter. So the following gaps count as caused by the
 * wait, too, until the sum of all its gaps reaches 1 ms. */
static void a_wait_makes_the_gaps_that_follow(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    int64_t host = ms + 40 * us, total = 47 * us;
    (void)state;
    first(trace);
    build_call(trace, "cuStreamSynchronize", WS_CALL_SYNC, 5 * us, ms + 5 * us);
    for (int i = 0; i < 40; i++) {
        launch(trace, COMPUTE, gemm, host, host + 7 * us, host + 10 * us);
        host += 40 * us;
        total += i < 39 ? 37 * us : 0;
    }
    const struct ws_track_causes *causes = causes_of(&built);
    const struct ws_gap_total *sync = &causes->totals[WS_PART_SYNC], *launches = &causes->totals[WS_PART_LAUNCH];
    assert_int_equal(sync->total + launches->total, total);
    assert_true(sync->total <= ms + 40 * us && sync->total >= ms - 40 * us);
    built_finish(&built);
}

/* Returns a random time for a row of the trace: near the other rows' times, far from them, or at the limits of an
 * int64_t. */
static int64_t any_time(uint64_t *random)
{
    static const int64_t far[] = { INT64_MIN, INT64_MAX, -((int64_t)1 << 61), (int64_t)1 << 61, 0 };
    uint64_t choice = next_random(random) % 32;
    if (choice < sizeof(far) / sizeof(far[0]))
        return far[choice];
    return (int64_t)(next_random(random) % (choice < 8 ? (uint64_t)1 << 60 : 20000000));
}

static void add_any_row(struct builder *trace, uint64_t *random)
{
    static const char *const functions[] = { "cuCtxSynchronize", "cuMemAlloc_v2", "cuEventRecord", "cuModuleLoad" };
    static const enum ws_call_family families[] = { WS_CALL_SYNC, WS_CALL_MEMORY, WS_CALL_EVENT, WS_CALL_MODULE };
    static const char *const names[] = { "DataLoader", "aten::mm", "train.py(1): step", "queue.py(9): get" };
    uint32_t which = (uint32_t)(next_random(random) % 4);
    uint32_t thread = (uint32_t)(next_random(random) % 4);
    if (which < 2) {
        struct ws_op op = build_op(trace, &(struct launch){ .kernel = which ? NULL : gemm, .stream = which + 1 });
        op.begin = any_time(random);
        op.end = any_time(random);
        op.thread = thread;
        op.host_begin = any_time(random);
        op.host_end = any_time(random);
        op.begin_error = (uint32_t)next_random(random) >> next_random(random) % 32;
        op.end_error = (uint32_t)next_random(random) >> next_random(random) % 32;
        op.flags |= next_random(random) % 4 ? 0 : WS_OP_BLOCKING;
        build_row(trace, WS_FAMILY_op, &op);
    } else if (which == 2) {
        size_t i = next_random(random) % 4;
        struct ws_call call = { .function = build_driver_function(trace, functions[i], families[i]),
                                .thread = thread,
                                .host_begin = any_time(random),
                                .host_end = any_time(random) };
        build_row(trace, WS_FAMILY_call, &call);
    } else {
        build_range(trace, (enum ws_range_kind)(next_random(random) % 7), thread, names[next_random(random) % 4],
                    any_time(random), any_time(random));
    }
}

/* Asserts that each gap belongs to one line of the table of causes, and that a line's count and total are the sums
 * over its gaps. */
static void expect_lines_of(struct built *built, const struct ws_track_causes *causes)
{
    const struct ws_gaps *gaps = &built_activity(built, 0)->gaps;
    const struct ws_gap_line *lines = causes->lines.data;
    struct ws_gap_total *sums = calloc(causes->lines.count + 1, sizeof(*sums));
    struct ws_gap_run run = { 0 };
    assert_non_null(sums);
    struct ws_gap_walk walk = ws_gap_walk(gaps, 0);
    for (struct ws_gap gap; ws_gap_next(&walk, &gap);) {
        ws_gap_run_reach(causes, &run, &gap);
        assert_true(run.line < causes->lines.count);
        assert_int_equal(run.cause, lines[run.line].cause);
        sums[run.line].count++;
        sums[run.line].total += ws_gap_length(&gap);
    }
    for (size_t i = 0; i < causes->lines.count; i++) {
        assert_int_equal(lines[i].gaps.count, sums[i].count);
        assert_int_equal(lines[i].gaps.total, sums[i].total);
    }
    free(sums);
}

/* However absurd the rows of a trace are, the idle times of all causes add up to the device's idle time exactly. */
static void whatever_a_trace_says_causes_add_up(void **state)
{
    uint64_t random = 3;
    (void)state;
    for (int round = 0; round < 60; round++) {
        struct built built;
        struct builder *trace = begin(&built);
        built.steps = round % 2 ? WS_STEPS_NOT_ASKED : WS_STEPS_AUTO;
        for (int i = 0; i < 300; i++)
            add_any_row(trace, &random);
        const struct ws_track_causes *causes = causes_of(&built);
        int64_t total = 0;
        uint64_t count = 0;
        for (int cause = 0; cause < WS_CAUSE_COUNT; cause++) {
            total += causes->totals[cause].total;
            count += causes->totals[cause].count;
        }
        assert_int_equal(total, built_activity(&built, 0)->idle);
        assert_int_equal(count, built_activity(&built, 0)->gaps.count);
        expect_lines_of(&built, causes);
        built_finish(&built);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_a_wait),
        cmocka_unit_test(after_a_copy_that_blocked),
        cmocka_unit_test(a_short_wait_before_a_long_pause),
        cmocka_unit_test(in_an_allocation),
        cmocka_unit_test(a_batch_that_came_late),
        cmocka_unit_test(in_a_loader),
        cmocka_unit_test(in_an_operator),
        cmocka_unit_test(between_launches),
        cmocka_unit_test(launched_just_too_late),
        cmocka_unit_test(queued_work),
        cmocka_unit_test(between_nodes_of_a_graph),
        cmocka_unit_test(idle_time_with_work_queued_is_pointed_at),
        cmocka_unit_test(without_the_hosts_side),
        cmocka_unit_test(gaps_that_may_not_exist),
        cmocka_unit_test(the_other_threads_wait),
        cmocka_unit_test(a_wait_makes_the_gaps_that_follow),
        cmocka_unit_test(whatever_a_trace_says_causes_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
