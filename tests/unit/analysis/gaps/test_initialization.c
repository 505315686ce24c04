#include "check.h"

#include "analysis/gaps/initialization.h"
#include "analysis/verdict/wall.h"
#include "gap_trace.h"

/* Marked steps of 10 ms, as in a trace that wallshim recorded. Each step has three kernels of 3 ms whose calls take 5
 * µs. */
static void build_steps(struct builder *trace, int count, int64_t begin)
{
    for (int step = 0; step < count; step++) {
        int64_t at = begin + step * 10 * ms;
        build_range(trace, WS_RANGE_STEP, 1, step % 2 ? "ProfilerStep#1" : "ProfilerStep#0", at, at + 10 * ms);
        for (int kernel = 0; kernel < 3; kernel++)
            launch(trace, COMPUTE, gemm, at + kernel * 10 * us, at + 50 * us + kernel * 3 * ms,
                   at + 50 * us + (kernel + 1) * 3 * ms);
    }
}

static const struct ws_track_initialization *initialization_of(struct built *built)
{
    built_report(built);
    built_print(built);
    return built_result(built, &ws_analysis_initialization, 0);
}

/* If a call that loads a module is inside another such call, the shared time counts once. Time that belongs to two
 * kinds of initialization counts for the first kind. */
static void shared_time_counts_once(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    build_call(trace, "cuModuleLoadData", WS_CALL_MODULE, 10 * ms, 20 * ms);
    build_call(trace, "cuModuleGetFunction", WS_CALL_MODULE, 12 * ms, 14 * ms);
    build_range(trace, WS_RANGE_ANNOTATION, 1, "cublasCreate_v2", 5 * ms, 25 * ms);
    build_range(trace, WS_RANGE_ANNOTATION, 1, "cublasSgemm_v2", 26 * ms, 29 * ms);
    build_steps(trace, 8, 40 * ms);
    const struct ws_track_initialization *found = initialization_of(&built);
    assert_int_equal(found->of[WS_FIRST_MODULE], 10 * ms);
    assert_int_equal(found->of[WS_FIRST_HANDLE], 10 * ms);
    assert_int_equal(found->time, 20 * ms);
    assert_false(found->is_judged);
    assert_int_equal(found->late, 0);
    built_finish(&built);
}

/* The second step loads a module, in a trace of two steps or of eight. With two steps, the load counts as
 * initialization. With eight steps, the second step counts as one with late initialization. */
static void few_steps_are_judged_without_it(void **state)
{
    (void)state;
    for (int count = 2; count <= 8; count += 6) {
        struct built built;
        struct builder *trace = begin(&built);
        build_steps(trace, count, 0);
        build_call(trace, "cuModuleLoadData", WS_CALL_MODULE, 10 * ms + 40 * us + 9 * ms, 20 * ms - 10 * us);
        const struct ws_track_initialization *found = initialization_of(&built);
        const struct ws_track_wall *wall = built_result(&built, &ws_analysis_wall, 0);
        const struct ws_track_steps *steps = built_steps(&built);
        assert_int_equal(found->is_judged, count == 2);
        assert_int_equal(found->time, count == 2 ? 950 * us : 0);
        assert_int_equal(found->late_steps, count == 2 ? 0 : 1);
        assert_int_equal(wall->first_calls > 0, count == 2);
        assert_int_equal(wall->length + wall->first_calls, steps->lasted[WS_STEP_STEADY] / (int64_t)wall->steps);
        int64_t parts = 0;
        for (int part = 0; part < WS_PART_COUNT; part++)
            parts += wall->parts[part];
        assert_in_range(parts, wall->length - 50, wall->length + 50);
        built_finish(&built);
    }
}

/* Some kernels have long first launches. But a long call that launches a graph is no first launch of a kernel: all
 * nodes of the graph share the call. */
static void only_kernels_have_first_launches(void **state)
{
    (void)state;
    for (int graph = 0; graph < 2; graph++) {
        struct built built;
        struct builder *trace = begin(&built);
        for (int kernel = 0; kernel < 40; kernel++) {
            static const char *const names[] = { gemm, "softmax", "reduce" };
            int64_t at = kernel * 10 * ms, took = kernel < 3 ? 5 * ms : 5 * us;
            build_launch(trace, &(struct launch){ .kernel = names[kernel % 3],
                                                  .call = graph ? "cuGraphLaunch" : NULL,
                                                  .begin = at + took + 10 * us,
                                                  .end = at + 9 * ms,
                                                  .host_begin = at,
                                                  .host_end = at + took });
        }
        const struct ws_track_initialization *found = initialization_of(&built);
        assert_int_equal(found->of[WS_FIRST_LAUNCH], graph ? 0 : 15 * ms);
        built_finish(&built);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_time_counts_once),
        cmocka_unit_test(few_steps_are_judged_without_it),
        cmocka_unit_test(only_kernels_have_first_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
