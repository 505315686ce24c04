#include "check.h"

#include "analysis/gaps/gaps.h"
#include "analysis/verdict/wall.h"
#include "gap_trace.h"

static int64_t idle_for(struct built *built, enum ws_part cause)
{
    const struct ws_track_causes *causes = ws_report_result(built->report, &ws_analysis_causes, 0);
    return causes->totals[cause].total;
}

static const struct ws_track_wall *wall_of(const struct built *built)
{
    return ws_report_result(built->report, &ws_analysis_wall, 0);
}

static bool is_said(const struct built *built, const char *section, const char *what)
{
    char *text = built_text(built, section, false);
    bool said = strstr(text, what) != NULL;
    free(text);
    return said;
}

/* The second kernel was launched while the first ran, and began half a millisecond after its end. A trace of another
 * profiler may lack an operation that ran in between. A recording by wallshim would contain that operation, so in
 * such a recording the kernel did wait. */
static void queued_work_did_not_wait_if_operations_may_be_missing(void **state)
{
    (void)state;
    for (int imported = 0; imported < 2; imported++) {
        struct built built;
        struct builder *trace = imported ? begin_imported(&built) : begin(&built);
        first(trace);
        launch(trace, COMPUTE, gemm, 500 * us, ms + 500 * us, 2 * ms);
        built_report(&built);
        assert_int_equal(idle_for(&built, WS_PART_UNRECORDED), imported ? 500 * us : 0);
        assert_int_equal(idle_for(&built, WS_PART_WAIT), imported ? 0 : 500 * us);
        built_finish(&built);
    }
}

/* A recording by wallshim that lost a large share of its operations is incomplete. A recording that lost one
 * operation of a thousand counts as complete. */
static void losses_may_be_what_ran(void **state)
{
    (void)state;
    for (int few = 0; few < 2; few++) {
        struct built built;
        struct builder *trace = begin(&built);
        struct ws_loss loss = { .reason = WS_LOSS_RING_FULL, .thread = 1, .count = 1 };
        for (int64_t i = 0; i < (few ? 1000 : 0); i++)
            launch(trace, COMPUTE, gemm, (i - 1010) * us, (i - 1000) * us, (i - 999) * us);
        first(trace);
        launch(trace, COMPUTE, gemm, 500 * us, ms + 500 * us, 2 * ms);
        build_row(trace, WS_FAMILY_loss, &loss);
        built_report(&built);
        assert_int_equal(idle_for(&built, WS_PART_UNRECORDED), few ? 0 : 500 * us);
        built_finish(&built);
    }
}

/* The part of the gap before the end of the launch call is caused by the host, the part after the end of that call is
 * not. If the kernel begins only 7 µs after its launch, there is no second part. */
static void a_gap_may_have_two_causes(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct built built;
        struct builder *trace = begin_imported(&built);
        int64_t from = ms + (late ? 600 : 107) * us;
        first(trace);
        launch(trace, COMPUTE, gemm, ms + 100 * us, from, 2 * ms);
        built_report(&built);
        const struct ws_track_causes *causes = ws_report_result(built.report, &ws_analysis_causes, 0);
        int64_t hosts = causes->totals[WS_PART_UNEXPLAINED].total + causes->totals[WS_PART_LAUNCH].total;
        assert_int_equal(hosts, late ? 105 * us : 107 * us);
        assert_int_equal(idle_for(&built, WS_PART_UNRECORDED), late ? 495 * us : 0);
        built_finish(&built);
    }
}

/* On some systems every launch takes long to reach an idle device. This does not show that operations are missing.
 * But a single launch that takes far longer than the others does show it. */
static void launches_may_take_long_to_arrive(void **state)
{
    struct built built;
    struct builder *trace = begin_imported(&built);
    (void)state;
    for (int64_t i = 0; i < 20; i++) {
        int64_t at = i * ms + (i == 19 ? 600 * us : 0);
        launch(trace, COMPUTE, gemm, i * ms - 200 * us, at, i * ms + 700 * us);
    }
    built_report(&built);
    const struct ws_track_causes *causes = ws_report_result(built.report, &ws_analysis_causes, 0);
    assert_int_equal(idle_for(&built, WS_PART_UNRECORDED), 795 * us);
    assert_int_equal(causes->totals[WS_PART_UNRECORDED].count, 1);
    built_finish(&built);
}

/* The call that launched the kernel took 3 ms. The kernel began when the call returned, so the call caused the gap. A
 * kernel's first launch is assumed to have loaded the kernel's module. */
static void a_call_that_takes_long_is_named(void **state)
{
    static const struct {
        const char *call, *kernel;
        enum ws_part cause;
    } cases[] = { { "cudaLaunchKernel", gemm, WS_PART_LAUNCH },
                  { "cudaLaunchKernel", "first_of_its_name", WS_PART_ALLOCATION },
                  { "cudaGraphLaunch", "first_of_its_name", WS_PART_LAUNCH } };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct built built;
        struct builder *trace = begin_imported(&built);
        first(trace);
        build_launch(trace, &(struct launch){ .kernel = cases[i].kernel,
                                              .call = cases[i].call,
                                              .begin = 4 * ms + 5 * us,
                                              .end = 5 * ms,
                                              .host_begin = 900 * us,
                                              .host_end = 4 * ms });
        built_report(&built);
        const struct ws_track_causes *causes = ws_report_result(built.report, &ws_analysis_causes, 0);
        const struct ws_gap_line *line = causes->lines.data;
        char where[64];
        assert_int_equal(causes->lines.count, 1);
        assert_string_equal(ws_part_name(line->cause), ws_part_name(cases[i].cause));
        assert_int_equal(line->gaps.total, 3 * ms + 5 * us);
        assert_true(ws_gap_line_where(ws_model_process(built.model, 0), line, where, sizeof(where)));
        assert_string_equal(where, cases[i].call);
        assert_true(is_said(&built, "verdict", cases[i].call));
        assert_int_equal(is_said(&built, "verdict", "single launch calls"), cases[i].cause == WS_PART_LAUNCH);
        assert_int_equal(is_said(&built, "verdict", "module loads out of"), cases[i].cause == WS_PART_ALLOCATION);
        built_finish(&built);
    }
}

/* A blocking copy to the host is queued when its call begins. So the host does not cause the gap before the copy. A
 * copy from the host is queued later, because its call first moves the data to a buffer. So that call causes the
 * gap. */
static void a_copy_waits_in_its_call(void **state)
{
    (void)state;
    for (int to_host = 0; to_host < 2; to_host++) {
        struct built built;
        struct builder *trace = begin_imported(&built);
        first(trace);
        build_launch(trace, &(struct launch){ .from = to_host ? WS_SPACE_DEVICE : WS_SPACE_PAGEABLE,
                                              .to = to_host ? WS_SPACE_PAGEABLE : WS_SPACE_DEVICE,
                                              .call = "cudaMemcpyAsync",
                                              .begin = 3 * ms,
                                              .end = 3 * ms + 10 * us,
                                              .host_begin = 500 * us,
                                              .host_end = 3 * ms + 20 * us });
        built_report(&built);
        assert_int_equal(idle_for(&built, WS_PART_UNRECORDED), to_host ? 2 * ms : 0);
        assert_int_equal(idle_for(&built, WS_PART_SYNC), to_host ? 0 : 2 * ms);
        built_finish(&built);
    }
}

/* Adds an operation whose call the trace lacks. */
static void stray(struct builder *trace, uint64_t number, int64_t from, int64_t to)
{
    struct ws_op op = build_op(trace, &(struct launch){ .kernel = gemm, .begin = from, .end = to });
    op.thread = 0;
    op.correlation = number;
    op.host_begin = op.host_end = from;
    build_row(trace, WS_FAMILY_op, &op);
}

/* The trace lacks the calls of operations that were launched before the recording. The correlation ids of such
 * operations are smaller than those of all recorded calls. These operations were queued, so the host was not late. If
 * the call of an operation was lost during the recording, the trace does not tell whether the host was late. */
static void operations_from_before_were_queued(void **state)
{
    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        struct built built;
        struct builder *trace = begin_imported(&built);
        trace->launches = 100;
        stray(trace, lost ? 1001 : 1, -ms, 0);
        first(trace);
        stray(trace, lost ? 1002 : 2, ms + 10 * us, 2 * ms);
        stray(trace, lost ? 1003 : 3, 2 * ms + 300 * us, 3 * ms);
        built_report(&built);
        const struct ws_track_causes *causes = ws_report_result(built.report, &ws_analysis_causes, 0);
        assert_int_equal(idle_for(&built, WS_PART_DISPATCH), lost ? 0 : 10 * us);
        assert_int_equal(idle_for(&built, WS_PART_UNRECORDED), lost ? 0 : 300 * us);
        assert_int_equal(idle_for(&built, WS_PART_UNEXPLAINED), lost ? 310 * us : 0);
        assert_int_equal(causes->hostless.total, 310 * us);
        assert_int_equal(is_said(&built, "verdict", "3 of 4 operations were launched before the recording"), !lost);
        built_finish(&built);
    }
}

/* Makes steps of 10 ms: a kernel, then a CUDA graph. Of the graph, the trace has only the last kernel, which begins
 * `missing` ns after the kernel before the graph and lasts 1 ms. */
static void run_graphs(struct builder *trace, int64_t missing)
{
    for (int64_t step = 0; step < 8; step++) {
        int64_t at = step * (10 * ms), host = at - 15 * ms;
        build_range(trace, WS_RANGE_STEP, 1, "ProfilerStep", host, host + 10 * ms);
        launch(trace, COMPUTE, gemm, host + us, at, at + 10 * ms - missing - ms);
        build_launch(trace, &(struct launch){ .kernel = gemm,
                                              .call = "cudaGraphLaunch",
                                              .begin = at + 9 * ms,
                                              .end = at + 10 * ms - us,
                                              .host_begin = host + 20 * us,
                                              .host_end = host + 50 * us });
    }
}

/* If the time of missing operations is longer than that of the largest wall (the main limit of the program's speed),
 * the wall is not known. If that time is short, the report gives a verdict and states what the verdict rests on. */
static void kernels_of_graphs_that_are_missing(void **state)
{
    static const struct {
        int64_t missing;
        enum ws_wall wall;
        const char *said;
    } cases[] = {
        { 6 * ms, WS_WALL_NONE,
          "not known: the trace lacks work. In 6.00 ms of the 10.0 ms of an average step it shows" },
        { 2 * ms, WS_WALL_COMPUTE, "2.00 ms of an average step (20.0 %): the trace shows nothing that ran" },
        { 10 * us, WS_WALL_COMPUTE, NULL },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct built built;
        struct builder *trace = begin_imported(&built);
        built.steps = WS_STEPS_ONLY_MARKED;
        run_graphs(trace, cases[i].missing);
        built_report(&built);
        built_print(&built);
        const struct ws_track_wall *wall = wall_of(&built);
        assert_int_equal(wall->wall, cases[i].wall);
        assert_true(wall->is_measured);
        assert_in_range(wall->length, 10 * ms - us, 10 * ms); /* the last step ends with its work, 1 µs earlier */
        assert_int_equal(wall->parts[WS_PART_UNRECORDED], cases[i].said ? cases[i].missing : 0);
        assert_int_equal(wall->why_none != NULL, cases[i].wall == WS_WALL_NONE);
        assert_int_equal(is_said(&built, "verdict", "are missing (8 graph launches)"), cases[i].said != NULL);
        assert_true(is_said(&built, "verdict", cases[i].said ? cases[i].said : "yes  99.9 %"));
        assert_int_equal(is_said(&built, "verdict", "find out what queued work waits for"), false);
        built_finish(&built);
    }
}

/* A graph was launched whose kernels the trace lacks, and the host waited for it. The device was not idle during that
 * wait. A launch that was only captured did not run. */
static void launches_without_operations_ran(void **state)
{
    static const struct {
        bool graph, captured;
        enum ws_part cause;
    } cases[] = { { true, false, WS_PART_UNRECORDED }, { true, true, WS_PART_SYNC }, { false, false, WS_PART_SYNC } };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct built built;
        struct builder *trace = begin_imported(&built);
        first(trace);
        if (cases[i].captured)
            build_call(trace, "cudaStreamBeginCapture", WS_CALL_CAPTURE, 10 * us, 12 * us);
        if (cases[i].graph)
            build_call(trace, "cudaGraphLaunch", WS_CALL_LAUNCH, 20 * us, 30 * us);
        if (cases[i].captured)
            build_call(trace, "cudaStreamEndCapture", WS_CALL_CAPTURE, 32 * us, 34 * us);
        build_call(trace, "cudaStreamSynchronize", WS_CALL_SYNC, 40 * us, 3 * ms);
        second(trace, 3 * ms + 10 * us);
        /* this launch's kernel ran after the recording's end */
        build_call(trace, "cudaLaunchKernel", WS_CALL_LAUNCH, 5 * ms, 5 * ms + us);
        built_report(&built);
        assert_int_equal(idle_for(&built, cases[i].cause), 2 * ms + 17 * us);
        bool missing = cases[i].cause == WS_PART_UNRECORDED;
        assert_int_equal(is_said(&built, "verdict", "1 launch without what"), missing);
        assert_int_equal(is_said(&built, "verdict", "shows nothing that ran, although work was queued"), missing);
        built_finish(&built);
    }
}

/* The host is far ahead of the device. The trace has one of every `kept` operations. Correlation ids count calls of
 * the driver, and the program makes six calls for each launch. */
static void run_sample(struct builder *trace, int64_t kept)
{
    for (int64_t i = 0; i < 4000; i += kept) {
        struct ws_op op = build_op(trace, &(struct launch){ .kernel = i % 3 ? gemm : "gelu",
                                                            .begin = i * 50 * us,
                                                            .end = i * 50 * us + 49 * us,
                                                            .host_begin = i * 40 * us - 100 * us,
                                                            .host_end = i * 40 * us - 95 * us });
        op.correlation = (uint64_t)(i * 6 + 1);
        build_row(trace, WS_FAMILY_op, &op);
    }
}

static void a_sample_has_no_verdict(void **state)
{
    (void)state;
    for (int sampled = 0; sampled < 2; sampled++) {
        struct built built;
        struct builder *trace = begin_imported(&built);
        built.steps = WS_STEPS_NOT_ASKED;
        run_sample(trace, sampled ? 7 : 1);
        built_report(&built);
        const struct ws_track_causes *causes = ws_report_result(built.report, &ws_analysis_causes, 0);
        assert_int_equal(causes->is_sampled, sampled);
        assert_int_equal(wall_of(&built)->wall == WS_WALL_NONE, sampled);
        assert_int_equal(is_said(&built, "verdict", "about 1 call in 42"), sampled);
        assert_int_equal(is_said(&built, "verdict", "3 matmuls ≥ 50 %?       not known  66."), sampled);
        built_finish(&built);
    }
}

/* When the recording began, the device was busy with earlier work, and the host was far ahead. But if the host's
 * first launch came late, or the stream had already run recorded work, the device was idle. */
static void work_from_before_is_left_out(void **state)
{
    static const struct {
        int64_t launched, left_out;
        uint32_t stream;
    } cases[] = {
        { 100 * us, 399995 * us, OTHER }, /* queued behind work that the trace lacks */
        { 399900 * us, 0, OTHER },        /* the host launched late */
        { 100 * us, 0, COMPUTE },         /* the stream had already run recorded work */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct built built;
        struct builder *trace = begin_imported(&built);
        built.steps = WS_STEPS_NOT_ASKED;
        launch(trace, COMPUTE, gemm, -10 * us, 0, 5 * us);
        for (int64_t at = 0; at < 10; at++)
            launch(trace, cases[i].stream, gemm, cases[i].launched + at * 10 * us, 400 * ms + at * ms,
                   401 * ms + at * ms);
        built_report(&built);
        const struct ws_track_activity *activity = built_activity(&built, 0);
        assert_int_equal(activity->unrecorded, cases[i].left_out);
        assert_int_equal(activity->idle, 399995 * us - cases[i].left_out);
        assert_int_equal(is_said(&built, "verdict", "the GPU still ran work from before"), cases[i].left_out > 0);
        if (!i)
            assert_int_equal(wall_of(&built)->length, 10 * ms + 5 * us);
        built_finish(&built);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queued_work_did_not_wait_if_operations_may_be_missing),
        cmocka_unit_test(losses_may_be_what_ran),
        cmocka_unit_test(a_gap_may_have_two_causes),
        cmocka_unit_test(launches_may_take_long_to_arrive),
        cmocka_unit_test(a_call_that_takes_long_is_named),
        cmocka_unit_test(a_copy_waits_in_its_call),
        cmocka_unit_test(operations_from_before_were_queued),
        cmocka_unit_test(kernels_of_graphs_that_are_missing),
        cmocka_unit_test(launches_without_operations_ran),
        cmocka_unit_test(a_sample_has_no_verdict),
        cmocka_unit_test(work_from_before_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
