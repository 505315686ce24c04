#include "check.h"

#include "analysis/gaps.h"
#include "analysis/storms.h"
#include "load.h"

static const int64_t us = 1000, ms = 1000000;

/* A kernel that begins 6 µs after its launch, or when the one before it is done. */
static int64_t launch(struct story *story, int64_t host, int64_t *device, int64_t length)
{
    int64_t from = host + 6 * us > *device + us ? host + 6 * us : *device + us;
    struct ws_shape shape = { .kind = WS_OP_KERNEL,
                              .stream = 1,
                              .function = story_function(story, "vectorized_elementwise_kernel"),
                              .driver_function = story_driver_function(story, "cuLaunchKernel", WS_CALL_LAUNCH) };
    struct ws_op op = story_op(story, story_shape(story, &shape), from, from + length);
    op.host_begin = host;
    op.host_end = host + 4 * us;
    story_add(story, WS_FAMILY_op, &op);
    *device = from + length;
    return op.host_end;
}

static struct story *begin(struct loaded *loaded)
{
    struct story *story = load_begin(loaded);
    loaded->steps = WS_STEPS_NOT_ASKED;
    story_device(story, 1, "Test GPU", 0, 100);
    story_stream(story, 1, 1);
    story_thread(story, 1, 100, "main");
    return story;
}

static const struct ws_track_storms *storms_of(struct loaded *loaded)
{
    load_report(loaded);
    return ws_report_result(loaded->report, &ws_analysis_storms, 0);
}

/* 200 kernels of 3 µs, one every 12 µs, between two long ones. */
static void a_run_of_short_kernels(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    int64_t device = 0, host = ms;
    (void)state;
    host = launch(story, host, &device, 500 * us);
    host += 520 * us;
    for (int i = 0; i < 200; i++)
        host = launch(story, host, &device, 3 * us) + 8 * us;
    launch(story, host, &device, 2 * ms);
    const struct ws_track_storms *storms = storms_of(&loaded);
    assert_int_equal(storms->storms.count, 1);
    const struct ws_storm *storm = storms->storms.data;
    assert_in_range(storm->count, 199, 201);
    assert_in_range(storm->run_time / (int64_t)storm->count, 3 * us, 3 * us + 50);
    assert_in_range(storm->interval, 11900, 12100);
    assert_in_range(storm->idle, 199 * 9 * us, 205 * 9 * us);
    assert_in_range(storm->saving, 199 * 8 * us, 205 * 8 * us);
    assert_in_range(storms->saving, 199 * 8 * us, 205 * 8 * us);
    load_finish(&loaded);
}

/* The host launches as slowly, but the kernels are long enough for it. */
static void long_kernels_are_no_storm(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    int64_t device = 0, host = ms;
    (void)state;
    for (int i = 0; i < 200; i++)
        host = launch(story, host, &device, 60 * us) + 70 * us;
    const struct ws_track_storms *storms = storms_of(&loaded);
    assert_int_equal(storms->storms.count, 0);
    const struct ws_track_causes *causes = ws_report_result(loaded.report, &ws_analysis_causes, 0);
    assert_true(causes->totals[WS_PART_LAUNCH].count >= 199);
    load_finish(&loaded);
}

/* Nor are short kernels that the device always has enough of. */
static void short_kernels_in_a_queue_are_no_storm(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    int64_t device = 0, host = ms;
    (void)state;
    host = launch(story, host, &device, 10 * ms);
    for (int i = 0; i < 200; i++)
        host = launch(story, host, &device, 3 * us) + 8 * us;
    assert_int_equal(storms_of(&loaded)->storms.count, 0);
    load_finish(&loaded);
}

/* A wait in the middle makes two of one; what advice promises comes out of the launch gaps alone. */
static void a_wait_ends_a_storm(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    int64_t device = 0, host = ms;
    (void)state;
    for (int i = 0; i < 100; i++)
        host = launch(story, host, &device, 3 * us) + 8 * us;
    story_call(story, "cuCtxSynchronize", WS_CALL_SYNC, host, device + 300 * us);
    host = device + 320 * us;
    for (int i = 0; i < 100; i++)
        host = launch(story, host, &device, 3 * us) + 8 * us;
    const struct ws_track_storms *storms = storms_of(&loaded);
    const struct ws_track_causes *causes = ws_report_result(loaded.report, &ws_analysis_causes, 0);
    assert_int_equal(storms->storms.count, 2);
    assert_true(storms->saving + storms->elsewhere <= causes->totals[WS_PART_LAUNCH].total);
    load_finish(&loaded);
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
