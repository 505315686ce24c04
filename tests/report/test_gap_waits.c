#include "check.h"

#include "analysis/gap_waits.h"
#include "analysis/wall.h"
#include "gap_story.h"

/* A call that records an event into a stream, or makes it wait for one. */
static void order(struct story *story, const char *function, uint32_t stream, uint64_t event, int64_t host)
{
    story_add(story, WS_FAMILY_call,
              &(struct ws_call){ .function = story_driver_function(story, function, WS_CALL_EVENT),
                                 .thread = 1,
                                 .correlation = ++story->launches,
                                 .host_begin = host,
                                 .host_end = host + us,
                                 .stream = stream,
                                 .object = event });
}

/* A host function, or what else holds a stream up and takes no time of the device. */
static void hold(struct story *story, enum ws_op_kind kind, const char *function, uint32_t stream, int64_t host)
{
    struct ws_shape shape = { .kind = kind,
                              .stream = stream,
                              .driver_function = story_driver_function(story, function, WS_CALL_LAUNCH) };
    struct ws_op op = story_op(story, story_shape(story, &shape), 0, 0);
    op.flags = 0;
    op.host_begin = host;
    op.host_end = host + us;
    story_add(story, WS_FAMILY_op, &op);
}

/* The only gap of all: what it waited for, and what is said of it. */
static void expect_waited(struct loaded *loaded, enum ws_waited_for what, const char *said)
{
    const struct ws_track_activity *activity;
    char text[256];
    load_report(loaded);
    activity = load_activity(loaded, 0);
    const struct ws_track_causes *causes = ws_report_result(loaded->report, &ws_analysis_causes, 0);
    const struct ws_track_waits *waits = ws_report_result(loaded->report, &ws_analysis_gap_waits, 0);
    const struct ws_gap_wait_row *row = waits->rows.data;
    assert_int_equal(activity->gaps.count, 1);
    assert_int_equal(waits->rows.count, 1);
    assert_int_equal(row->gaps.total, activity->idle);
    struct ws_gap_walk walk = ws_gap_walk(&activity->gaps, 0);
    struct ws_gap gap;
    struct ws_gap_run run = { 0 };
    assert_true(ws_gap_next(&walk, &gap));
    ws_gap_run_reach(causes, &run, &gap);
    struct ws_gap_wait wait = ws_gap_wait_of(loaded->report, 0, run.cause, &gap);
    assert_int_equal(wait.what, row->wait.what);
    assert_int_equal(wait.op, row->wait.op);
    assert_string_equal(ws_gap_wait_text(loaded->report, 0, &wait, text, sizeof(text)), said);
    assert_int_equal(wait.what, what);
    load_finish(loaded);
}

/* 1 ms of a kernel, and one on the other stream that was queued behind something and begins so much later. */
static struct story *queue_behind(struct loaded *loaded, int64_t gap)
{
    struct story *story = begin(loaded);
    first(story);
    launch(story, &(struct launch){ OTHER, 1, gemm, -30 * us, ms + gap, 2 * ms + gap, 0 });
    return story;
}

static void a_host_function_is_waited_for(void **state)
{
    struct loaded loaded;
    struct story *story = queue_behind(&loaded, 500 * us);
    (void)state;
    hold(story, WS_OP_HOST_FUNCTION, "cuLaunchHostFunc", OTHER, -50 * us);
    expect_waited(&loaded, WS_WAITED_HOST_FUNCTION, "a host function on stream 2");
    /* on the stream whose event the other waits for */
    story = queue_behind(&loaded, 500 * us);
    hold(story, WS_OP_HOST_FUNCTION, "cuLaunchHostFunc", COMPUTE, -60 * us);
    order(story, "cuEventRecord", COMPUTE, 77, -50 * us);
    order(story, "cuStreamWaitEvent", OTHER, 77, -40 * us);
    expect_waited(&loaded, WS_WAITED_HOST_FUNCTION, "a host function on stream 1");
}

static void values_in_memory_are_waited_for_but_writes_are_not(void **state)
{
    struct loaded loaded;
    struct story *story = queue_behind(&loaded, 500 * us);
    (void)state;
    hold(story, WS_OP_MEMORY_OP, "cuStreamWaitValue32_v2", OTHER, -50 * us);
    hold(story, WS_OP_MEMORY_OP, "cuStreamWriteValue32_v2", OTHER, -40 * us);
    expect_waited(&loaded, WS_WAITED_MEMORY_VALUE, "a value in memory (cuStreamWaitValue) on stream 2");
}

static void an_event_of_another_process_is_waited_for(void **state)
{
    struct loaded loaded;
    struct story *story = queue_behind(&loaded, 500 * us);
    (void)state;
    order(story, "cuStreamWaitEvent", OTHER, 77, -40 * us);
    order(story, "cuEventRecord", COMPUTE, 77, -35 * us); /* too late to be meant */
    expect_waited(&loaded, WS_WAITED_FOREIGN_EVENT,
                  "an event that nothing here recorded: another process's, or an earlier one");
}

/* What ran on this device had ended when the gap began. */
static void a_wait_that_nothing_explains(void **state)
{
    struct loaded loaded;
    struct story *story = queue_behind(&loaded, 500 * us);
    (void)state;
    order(story, "cuEventRecord", COMPUTE, 77, -50 * us);
    order(story, "cuStreamWaitEvent", OTHER, 77, -40 * us);
    hold(story, WS_OP_HOST_FUNCTION, "cuLaunchHostFunc", OTHER, -20 * us); /* behind it */
    expect_waited(&loaded, WS_WAITED_LAST_ENDED, "not known; what ended last was ampere_sgemm_128x64_nn on stream 1");
}

static void an_event_of_another_device_is_waited_for(void **state)
{
    enum { FAR = 3 };
    struct loaded loaded;
    struct story *story = queue_behind(&loaded, 500 * us);
    (void)state;
    story_device(story, 2, "Test GPU", 0, 1000);
    story_stream(story, FAR, 2);
    launch(story, &(struct launch){ FAR, 1, all_reduce, -80 * us, 0, ms + 495 * us, 0 });
    order(story, "cuEventRecord", FAR, 77, -50 * us);
    order(story, "cuStreamWaitEvent", OTHER, 77, -40 * us);
    expect_waited(&loaded, WS_WAITED_EVENT, "ncclDevKernel_AllReduce_Sum on GPU 1, stream 3, by an event");
}

/* The few µs between operations that were ready: whose end they come after. */
static void a_dispatch_names_the_stream_it_comes_after(void **state)
{
    struct loaded loaded;
    struct story *story = begin(&loaded);
    (void)state;
    first(story);
    launch(story, &(struct launch){ COMPUTE, 1, gemm, -80 * us, ms + 2 * us, 2 * ms, 0 });
    expect_waited(&loaded, WS_WAITED_OWN_STREAM, "the operation before it on its own stream");
    queue_behind(&loaded, 4 * us);
    expect_waited(&loaded, WS_WAITED_LAST_ENDED, "not known; what ended last was ampere_sgemm_128x64_nn on stream 1");
    story = queue_behind(&loaded, 4 * us);
    order(story, "cuEventRecord", COMPUTE, 77, -50 * us);
    order(story, "cuStreamWaitEvent", OTHER, 77, -40 * us);
    expect_waited(&loaded, WS_WAITED_EVENT, "ampere_sgemm_128x64_nn on stream 1, by an event");
}

/* Advice is on what was waited for, where that is known. */
static void advice_names_what_is_waited_for(void **state)
{
    (void)state;
    for (int known = 0; known < 2; known++) {
        struct loaded loaded;
        struct story *story = queue_behind(&loaded, 500 * us);
        if (known)
            hold(story, WS_OP_HOST_FUNCTION, "cuLaunchHostFunc", OTHER, -50 * us);
        load_report(&loaded);
        const struct ws_track_wall *wall = ws_report_result(loaded.report, &ws_analysis_wall, 0);
        const struct ws_advice *advice = wall->advice.items.data;
        assert_int_equal(wall->advice.items.count, 1);
        assert_int_equal(strstr(advice->what, "keep host functions") != NULL, known);
        assert_non_null(strstr(advice->evidence, known ? "mostly for a host function on stream 2"
                                                       : "what for is not known from the trace"));
        load_finish(&loaded);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_function_is_waited_for),
        cmocka_unit_test(values_in_memory_are_waited_for_but_writes_are_not),
        cmocka_unit_test(an_event_of_another_process_is_waited_for),
        cmocka_unit_test(a_wait_that_nothing_explains),
        cmocka_unit_test(an_event_of_another_device_is_waited_for),
        cmocka_unit_test(a_dispatch_names_the_stream_it_comes_after),
        cmocka_unit_test(advice_names_what_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
