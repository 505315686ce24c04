#include "check.h"

#include "analysis/gaps.h"
#include "analysis/wall.h"
#include "gap_story.h"

static const struct ws_track_causes *causes_of(struct loaded *loaded)
{
    load_report(loaded);
    return ws_report_result(loaded->report, &ws_analysis_causes, 0);
}

/* The only gap's cause. */
static void expect(struct loaded *loaded, enum ws_part cause)
{
    const struct ws_track_causes *causes = causes_of(loaded);
    const struct ws_gap_line *lines = causes->lines.data;
    assert_int_equal(load_activity(loaded, 0)->gaps.count, 1);
    assert_int_equal(causes->lines.count, 1);
    assert_string_equal(ws_part_name(lines[0].cause), ws_part_name(cause));
    assert_int_equal(causes->totals[cause].count, 1);
    assert_int_equal(causes->totals[cause].total, load_activity(loaded, 0)->idle);
}

static void expect_line(struct loaded *loaded, const char *expected)
{
    const struct ws_track_causes *causes = ws_report_result(loaded->report, &ws_analysis_causes, 0);
    char text[128];
    ws_gap_line_text(ws_model_process(loaded->model, 0), causes->lines.data, text, sizeof(text));
    assert_string_equal(text, expected);
}

static const char *function_of(const struct loaded *loaded)
{
    const struct ws_track_causes *causes = ws_report_result(loaded->report, &ws_analysis_causes, 0);
    const struct ws_gap_line *line = causes->lines.data;
    const struct ws_driver_function *function =
        ws_rows_find(&ws_model_process(loaded->model, 0)->driver_functions, line->function);
    return function ? function->name.data : "";
}

/* The wait is over when the gap begins; what the host does next is idle time of the device. */
static void after_a_wait(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    first(story);
    story_call(story, "cuStreamSynchronize", WS_CALL_SYNC, -90 * us, ms + 8 * us);
    second(story, ms + 60 * us);
    expect(&loaded, WS_PART_SYNC);
    assert_string_equal(function_of(&loaded), "cuStreamSynchronize");
    load_finish(&loaded);
}

/* As is a copy whose call returned only when it was done, though nothing marks it as one that blocks. */
static void after_a_copy_that_blocked(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    struct ws_shape shape = { .kind = WS_OP_COPY,
                              .stream = COMPUTE,
                              .from_space = WS_SPACE_DEVICE,
                              .to_space = WS_SPACE_PAGEABLE,
                              .driver_function = story_driver_function(story, "cudaMemcpyAsync", WS_CALL_COPY) };
    (void)state;
    first(story);
    struct ws_op copy = story_op(story, story_shape(story, &shape), ms, ms + 3 * us);
    copy.host_begin = 20 * us;
    copy.host_end = ms + 8 * us;
    story_add(story, WS_FAMILY_op, &copy);
    second(story, ms + 60 * us);
    expect(&loaded, WS_PART_SYNC);
    assert_string_equal(function_of(&loaded), "cudaMemcpyAsync");
    load_finish(&loaded);
}

/* A wait of 10 µs does not explain that nothing was launched for 2 ms. */
static void a_short_wait_before_a_long_pause(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    first(story);
    story_call(story, "cuStreamSynchronize", WS_CALL_SYNC, ms - 5 * us, ms + 5 * us);
    second(story, 3 * ms);
    expect(&loaded, WS_PART_UNEXPLAINED);
    load_finish(&loaded);
}

static void in_an_allocation(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    first(story);
    story_call(story, "cuMemAlloc_v2", WS_CALL_MEMORY, ms - 10 * us, ms + 300 * us);
    second(story, ms + 320 * us);
    expect(&loaded, WS_PART_ALLOCATION);
    assert_string_equal(function_of(&loaded), "cuMemAlloc_v2");
    load_finish(&loaded);
}

/* Nothing says what the thread did, but it then copied to the device. */
static void a_batch_that_came_late(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    first(story);
    launch(story, &(struct launch){ COMPUTE, 1, NULL, 3 * ms, 3 * ms + 8 * us, 4 * ms, 0 });
    expect(&loaded, WS_PART_INPUT);
    load_finish(&loaded);
}

static void in_a_loader(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    first(story);
    story_range(story, WS_RANGE_PYTHON, 1, "train.py(41): main", -ms, 5 * ms);
    story_range(story, WS_RANGE_ANNOTATION, 1, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", ms / 2,
                3 * ms - 20 * us);
    second(story, 3 * ms);
    expect(&loaded, WS_PART_INPUT);
    expect_line(&loaded, "main (train.py:41)");
    load_finish(&loaded);
}

/* The host works its way through operators: that it is slow is its own affair. */
static void in_an_operator(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    first(story);
    story_range(story, WS_RANGE_OPERATOR, 1, "aten::nonzero", ms / 2, 4 * ms);
    launch(story, &(struct launch){ COMPUTE, 1, NULL, 3 * ms, 3 * ms + 8 * us, 4 * ms, 0 });
    expect(&loaded, WS_PART_LAUNCH);
    expect_line(&loaded, "aten::nonzero");
    load_finish(&loaded);
}

static void between_launches(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    first(story);
    second(story, ms + 30 * us);
    expect(&loaded, WS_PART_LAUNCH);
    load_finish(&loaded);
}

/* The call began before the device ran dry, but what it launched could not have begun earlier. */
static void launched_just_too_late(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    first(story);
    second(story, ms - 2 * us);
    expect(&loaded, WS_PART_LAUNCH);
    load_finish(&loaded);
}

static void queued(struct loaded *loaded, uint32_t stream, const char *name, int64_t gap)
{
    struct story *story = begin(loaded);
    first(story);
    launch(story, &(struct launch){ stream, 1, name, -80 * us, ms + gap, 2 * ms, 0 });
}

static void queued_work(void **state)
{
    struct loaded loaded;
    (void)state;
    queued(&loaded, COMPUTE, gemm, 4 * us);
    expect(&loaded, WS_PART_DISPATCH);
    load_finish(&loaded);
    queued(&loaded, OTHER, gemm, 40 * us);
    expect(&loaded, WS_PART_WAIT);
    load_finish(&loaded);
    queued(&loaded, OTHER, all_reduce, 40 * us);
    expect(&loaded, WS_PART_COMM_WAIT);
    load_finish(&loaded);
}

/* Nodes of a graph, as importers see them: one call, long before. What lies between two for longer than any device
 * takes to begin the next waited for something. */
static void between_nodes_of_a_graph(void **state)
{
    static const struct {
        int64_t gap;
        enum ws_part cause;
    } cases[] = { { 6000, WS_PART_DISPATCH }, { 20000, WS_PART_DISPATCH }, { 500000, WS_PART_WAIT } };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct loaded loaded;
        struct story *story = begin(&loaded);
        int64_t from = ms + cases[i].gap;
        first(story);
        launch(story, &(struct launch){ OTHER, 1, gemm, -100 * us, from, from + ms, 0 });
        expect(&loaded, cases[i].cause);
        load_finish(&loaded);
    }
}

/* What queued work waited for, or what lies between much of it: said first where it is much, and promised only as a
 * bound. */
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
        struct loaded loaded;
        struct story *story = begin(&loaded);
        int64_t at = 0, length = ms - cases[i].gap;
        loaded.steps = WS_STEPS_NOT_ASKED;
        for (int kernel = 0; kernel < 20; kernel++, at += ms)
            launch(story, &(struct launch){ COMPUTE, 1, gemm, (kernel - 100) * 10 * us, at, at + length, 0 });
        load_report(&loaded);
        const struct ws_track_wall *wall = ws_report_result(loaded.report, &ws_analysis_wall, 0);
        const struct ws_advice *advice = wall->advice.items.data;
        assert_int_equal(wall->parts[cases[i].cause], 19 * cases[i].gap);
        assert_int_equal(wall->advice.items.count, cases[i].told);
        if (cases[i].told) {
            assert_int_equal(advice->part, cases[i].cause);
            assert_int_equal(advice->saving_ns, 19 * cases[i].gap);
        }
        load_finish(&loaded);
    }
}

static void without_the_hosts_side(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    first(story);
    launch(story, &(struct launch){ COMPUTE, 0, gemm, 0, 3 * ms, 4 * ms, 0 });
    expect(&loaded, WS_PART_UNEXPLAINED);
    const struct ws_track_causes *causes = ws_report_result(loaded.report, &ws_analysis_causes, 0);
    assert_int_equal(causes->hostless.total, 2 * ms);
    load_finish(&loaded);
}

static void gaps_that_may_not_exist(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    first(story);
    struct ws_shape shape = { .kind = WS_OP_KERNEL, .stream = COMPUTE, .function = story_function(story, gemm) };
    struct ws_op op = story_op(story, story_shape(story, &shape), ms + 50 * us, 2 * ms);
    op.host_begin = -80 * us;
    op.host_end = -76 * us;
    op.begin_error = 60000;
    story_add(story, WS_FAMILY_op, &op);
    expect(&loaded, WS_PART_UNEXPLAINED);
    const struct ws_track_causes *causes = ws_report_result(loaded.report, &ws_analysis_causes, 0);
    assert_int_equal(causes->within_error.count, 1);
    load_finish(&loaded);
}

/* Backward passes are launched by a thread of their own; it was the main thread that waited. */
static void the_other_threads_wait(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    first(story);
    story_call(story, "cuStreamSynchronize", WS_CALL_SYNC, -90 * us, ms + 250 * us);
    launch(story, &(struct launch){ COMPUTE, 2, gemm, ms + 300 * us, ms + 308 * us, 2 * ms, 0 });
    expect(&loaded, WS_PART_SYNC);
    load_finish(&loaded);
}

/* What a wait of 1 ms cost beyond the gap it made also made the gaps that follow: 40 and 30 µs are its, and so
 * on until its 1 ms is used up. */
static void a_wait_makes_the_gaps_that_follow(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    int64_t host = ms + 40 * us, total = 47 * us;
    (void)state;
    first(story);
    story_call(story, "cuStreamSynchronize", WS_CALL_SYNC, 5 * us, ms + 5 * us);
    for (int i = 0; i < 40; i++) {
        launch(story, &(struct launch){ COMPUTE, 1, gemm, host, host + 7 * us, host + 10 * us, 0 });
        host += 40 * us;
        total += i < 39 ? 37 * us : 0;
    }
    const struct ws_track_causes *causes = causes_of(&loaded);
    const struct ws_gap_total *sync = &causes->totals[WS_PART_SYNC], *launches = &causes->totals[WS_PART_LAUNCH];
    assert_int_equal(sync->total + launches->total, total);
    assert_true(sync->total <= ms + 40 * us && sync->total >= ms - 40 * us);
    load_finish(&loaded);
}

/* A time of no sense: near others, far from them, or as far away as can be. */
static int64_t any_time(uint64_t *random)
{
    static const int64_t far[] = { INT64_MIN, INT64_MAX, -((int64_t)1 << 61), (int64_t)1 << 61, 0 };
    uint64_t choice = next_random(random) % 32;
    if (choice < sizeof(far) / sizeof(far[0]))
        return far[choice];
    return (int64_t)(next_random(random) % (choice < 8 ? (uint64_t)1 << 60 : 20000000));
}

static void add_any_row(struct story *story, uint32_t kernel, uint32_t copy, uint64_t *random)
{
    static const char *const functions[] = { "cuCtxSynchronize", "cuMemAlloc_v2", "cuEventRecord", "cuModuleLoad" };
    static const enum ws_call_family families[] = { WS_CALL_SYNC, WS_CALL_MEMORY, WS_CALL_EVENT, WS_CALL_MODULE };
    static const char *const names[] = { "DataLoader", "aten::mm", "train.py(1): step", "queue.py(9): get" };
    uint64_t which = next_random(random) % 4;
    uint32_t thread = (uint32_t)(next_random(random) % 4);
    if (which < 2) {
        struct ws_op op = story_op(story, which ? copy : kernel, 0, 0);
        op.begin = any_time(random);
        op.end = any_time(random);
        op.thread = thread;
        op.host_begin = any_time(random);
        op.host_end = any_time(random);
        op.begin_error = (uint32_t)next_random(random) >> next_random(random) % 32;
        op.end_error = (uint32_t)next_random(random) >> next_random(random) % 32;
        op.flags |= next_random(random) % 4 ? 0 : WS_OP_BLOCKING;
        story_add(story, WS_FAMILY_op, &op);
    } else if (which == 2) {
        size_t i = next_random(random) % 4;
        struct ws_call call = { .function = story_driver_function(story, functions[i], families[i]),
                                .thread = thread,
                                .host_begin = any_time(random),
                                .host_end = any_time(random) };
        story_add(story, WS_FAMILY_call, &call);
    } else {
        story_range(story, (enum ws_range_kind)(next_random(random) % 7), thread, names[next_random(random) % 4],
                    any_time(random), any_time(random));
    }
}

/* Each gap is of one line, and what lines say of their gaps is the sum of these. */
static void expect_lines_of(struct loaded *loaded, const struct ws_track_causes *causes)
{
    const struct ws_gaps *gaps = &load_activity(loaded, 0)->gaps;
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

/* Nothing is believed; what is idle is divided among the causes to the nanosecond. */
static void whatever_a_trace_says_causes_add_up(void **state)
{
    uint64_t random = 3;
    (void)state;
    for (int round = 0; round < 60; round++) {
        struct loaded loaded;
        struct story *story = begin(&loaded);
        struct ws_shape kernel = { .kind = WS_OP_KERNEL, .stream = COMPUTE, .function = story_function(story, gemm) },
                        copy = { .kind = WS_OP_COPY,
                                 .stream = OTHER,
                                 .from_space = WS_SPACE_PINNED,
                                 .to_space = WS_SPACE_DEVICE };
        uint32_t kernel_shape = story_shape(story, &kernel), copy_shape = story_shape(story, &copy);
        loaded.steps = round % 2 ? WS_STEPS_NOT_ASKED : WS_STEPS_AUTO;
        for (int i = 0; i < 300; i++)
            add_any_row(story, kernel_shape, copy_shape, &random);
        const struct ws_track_causes *causes = causes_of(&loaded);
        int64_t total = 0;
        uint64_t count = 0;
        for (int cause = 0; cause < WS_CAUSE_COUNT; cause++) {
            total += causes->totals[cause].total;
            count += causes->totals[cause].count;
        }
        assert_int_equal(total, load_activity(&loaded, 0)->idle);
        assert_int_equal(count, load_activity(&loaded, 0)->gaps.count);
        expect_lines_of(&loaded, causes);
        load_finish(&loaded);
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
