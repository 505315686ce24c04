#include "check.h"

#include "analysis/gaps/gaps.h"
#include "analysis/gaps/storms.h"
#include "built.h"

static const int64_t us = 1000, ms = 1000000;

/* Launches a kernel that begins 6 µs after its launch, or 1 µs after the kernel before it if that is later. */
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

/* 200 kernels of 3 µs, one every 12 µs, between two long kernels. */
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

/* The device waits for each launch, but the kernels are long compared with the gaps between them. */
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

/* Short kernels that are queued before the device needs them are not a storm. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_of_short_kernels),
        cmocka_unit_test(long_kernels_are_no_storm),
        cmocka_unit_test(short_kernels_in_a_queue_are_no_storm),
        cmocka_unit_test(a_wait_ends_a_storm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
