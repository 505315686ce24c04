#include "check.h"

#include <string.h>

#include "analysis/gaps/gaps.h"
#include "analysis/gaps/storms.h"
#include "analysis/steps/steps.h"
#include "built.h"

static const int64_t us = 1000, ms = 1000000;

/* Launches a kernel that begins 6 µs after its launch, or 1 µs after the end of the kernel before it, whichever is
 * later. */
static int64_t launch(struct builder *trace, int64_t host, int64_t *device, int64_t length)
{
    int64_t from = host + 6 * us > *device + us ? host + 6 * us : *device + us;
    build_launch(trace, &(struct launch){ .kernel = "vectorized_elementwise_kernel",
                                          .begin = from,
                                          .end = from + length,
                                          .host_begin = host,
                                          .host_end = host + 4 * us });
    *device = from + length;
    return host + 4 * us;
}

static struct builder *begin(struct built *built)
{
    struct builder *trace = built_begin(built);
    built->steps = WS_STEPS_NOT_ASKED;
    build_device(trace, 1, "Test GPU", 0, 100);
    build_stream(trace, 1, 1);
    build_thread(trace, 1, 100, "main");
    return trace;
}

static const struct ws_track_storms *storms_of(struct built *built)
{
    built_report(built);
    return ws_report_result(built->report, &ws_analysis_storms, 0);
}

/* Short kernels: 200 of 3 µs, one every 12 µs, between two long kernels. */
static void a_run_of_short_kernels(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    int64_t device = 0, host = ms;
    (void)state;
    host = launch(trace, host, &device, 500 * us);
    host += 520 * us;
    for (int i = 0; i < 200; i++)
        host = launch(trace, host, &device, 3 * us) + 8 * us;
    launch(trace, host, &device, 2 * ms);
    const struct ws_track_storms *storms = storms_of(&built);
    assert_int_equal(storms->storms.count, 1);
    const struct ws_storm *storm = storms->storms.data;
    assert_in_range(storm->count, 199, 201);
    assert_in_range(storm->run_time / (int64_t)storm->count, 3 * us, 3 * us + 50);
    assert_in_range(storm->interval, 11900, 12100);
    assert_in_range(storm->idle, 199 * 9 * us, 205 * 9 * us);
    assert_in_range(storm->saving, 199 * 8 * us, 205 * 8 * us);
    assert_in_range(storms->saving, 199 * 8 * us, 205 * 8 * us);
    built_finish(&built);
}

/* The device waits for each launch, but the kernels are long compared with the gaps between them. So they are no
 * storm. */
static void long_kernels_are_no_storm(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    int64_t device = 0, host = ms;
    (void)state;
    for (int i = 0; i < 200; i++)
        host = launch(trace, host, &device, 60 * us) + 70 * us;
    const struct ws_track_storms *storms = storms_of(&built);
    assert_int_equal(storms->storms.count, 0);
    const struct ws_track_causes *causes = ws_report_result(built.report, &ws_analysis_causes, 0);
    assert_true(causes->totals[WS_PART_LAUNCH].count >= 199);
    built_finish(&built);
}

/* A storm is a series of short kernels, for each of which the device waits. Kernels that are queued before the device
 * needs them are no storm. */
static void short_kernels_in_a_queue_are_no_storm(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    int64_t device = 0, host = ms;
    (void)state;
    host = launch(trace, host, &device, 10 * ms);
    for (int i = 0; i < 200; i++)
        host = launch(trace, host, &device, 3 * us) + 8 * us;
    assert_int_equal(storms_of(&built)->storms.count, 0);
    built_finish(&built);
}

/* A storm is a series of short kernels, for each of which the device waits. A host's wait in the middle divides it
 * into two storms. The promised saving covers at most the gaps between launches, not the wait. */
static void a_wait_ends_a_storm(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    int64_t device = 0, host = ms;
    (void)state;
    for (int i = 0; i < 100; i++)
        host = launch(trace, host, &device, 3 * us) + 8 * us;
    build_call(trace, "cuCtxSynchronize", WS_CALL_SYNC, host, device + 300 * us);
    host = device + 320 * us;
    for (int i = 0; i < 100; i++)
        host = launch(trace, host, &device, 3 * us) + 8 * us;
    const struct ws_track_storms *storms = storms_of(&built);
    const struct ws_track_causes *causes = ws_report_result(built.report, &ws_analysis_causes, 0);
    assert_int_equal(storms->storms.count, 2);
    assert_true(storms->saving + storms->elsewhere <= causes->totals[WS_PART_LAUNCH].total);
    built_finish(&built);
}

/* Compiled code launches kernels of 60 µs every 134 µs. They are no series of short kernels. But as a CUDA graph the
 * code would have almost no idle time. The same kernels do not count if the code is not compiled. */
static void compiled_code_becomes_a_graph(void **state)
{
    static const char *const names[] = { "/tmp/torchinductor_root/ov/cov4.py(25): call", "model.py(12): forward" };
    (void)state;
    for (int compiled = 1; compiled >= 0; compiled--) {
        struct built built;
        struct builder *trace = begin(&built);
        int64_t device = 0, host = ms, began = host - 10 * us;
        for (int i = 0; i < 201; i++)
            host = launch(trace, host, &device, 60 * us) + 130 * us;
        build_range(trace, WS_RANGE_PYTHON, 1, "run.py(3): main", began - 10 * us, host + 10 * us);
        build_range(trace, WS_RANGE_PYTHON, 1, names[!compiled], began, host);
        const struct ws_track_storms *storms = storms_of(&built);
        assert_int_equal(storms->storms.count, 0);
        assert_int_equal(storms->compiled_gaps, compiled ? 200 : 0);
        assert_int_equal(storms->compiled_idle, compiled ? 200 * 74 * us : 0);
        assert_int_equal(storms->compiled, compiled ? 200 * 73 * us : 0);
        assert_true(compiled || storms->elsewhere >= 0);
        const struct ws_track_causes *causes = ws_report_result(built.report, &ws_analysis_causes, 0);
        const struct ws_gap_line *line = causes->lines.data;
        char text[100];
        ws_gap_line_text(ws_model_process(built.report->model, 0), line, text, sizeof(text));
        assert_string_equal(text, compiled ? "compiled code in main (run.py:3)" : "forward (model.py:12)");
        built_finish(&built);
    }
}

/* A first step of 200 kernels, which is warm-up, and then five steps of 11 kernels each. Nothing runs after the last
 * step, so it need not count. Counts and times must be those of steps of 11 kernels. */
static void compiled_code_counts_per_step(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    int64_t device = 0, host = ms, begins[7] = { host - 20 * us };
    (void)state;
    built.steps = WS_STEPS_ONLY_MARKED;
    for (int step = 0; step < 6; step++) {
        for (int i = 0; i < (step ? 11 : 200); i++)
            host = launch(trace, host, &device, 60 * us) + 130 * us;
        begins[step + 1] = host - 20 * us;
    }
    build_range(trace, WS_RANGE_ANNOTATION, 1, "## Call CompiledFxGraph abc ##", 1, host);
    for (int step = 0; step < 6; step++)
        build_range(trace, WS_RANGE_STEP, 1, "ProfilerStep", begins[step], begins[step + 1] - us);
    const struct ws_track_storms *storms = storms_of(&built);
    const struct ws_track_steps *steps = ws_report_result(built.report, &ws_analysis_steps, 0);
    assert_in_range(steps->kinds[WS_STEP_STEADY], 4, 5);
    assert_in_range(storms->compiled_gaps, 4 * 10, 5 * 11);
    assert_in_range(storms->compiled_idle, 10 * 74 * us, 11 * 74 * us);
    assert_in_range(storms->compiled, 10 * 73 * us, 11 * 73 * us);
    built_finish(&built);
}

/* The host stops for 2 ms before every tenth kernel. These stalls must not count as launch delays. */
static void stalls_are_told_from_launches(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    int64_t device = 0, host = ms;
    (void)state;
    for (int i = 0; i < 200; i++)
        host = launch(trace, host, &device, 60 * us) + (i % 10 == 9 ? 2 * ms : 65 * us);
    build_range(trace, WS_RANGE_PYTHON, 1, "model.py(12): forward", 0, host);
    const struct ws_track_storms *storms = storms_of(&built);
    assert_int_equal(storms->stall_count, 19);
    assert_in_range(storms->stalls, 19 * 1900 * us, 19 * 2 * ms);
    struct ws_advice_list list = WS_ADVICE_LIST;
    assert_int_equal(ws_storms_advise(built.report, 0, storms, &list), 0);
    const struct ws_advice *advice = list.items.data;
    assert_int_equal(list.items.count, storms->elsewhere > 0);
    if (list.items.count)
        assert_non_null(strstr(advice->what, "what holds the host up"));
    ws_advice_finish(&list);
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_of_short_kernels),
        cmocka_unit_test(long_kernels_are_no_storm),
        cmocka_unit_test(short_kernels_in_a_queue_are_no_storm),
        cmocka_unit_test(a_wait_ends_a_storm),
        cmocka_unit_test(compiled_code_becomes_a_graph),
        cmocka_unit_test(compiled_code_counts_per_step),
        cmocka_unit_test(stalls_are_told_from_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
