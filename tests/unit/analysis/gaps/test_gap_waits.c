#include "check.h"

#include "analysis/gaps/gap_waits.h"
#include "analysis/verdict/wall.h"
#include "gap_trace.h"

/* Adds a call that records an event into a stream, or makes a stream wait for an event. */
static void order(struct builder *trace, const char *function, uint32_t stream, uint64_t event, int64_t host)
{
    build_call_row(trace, function, WS_CALL_EVENT,
                   &(struct ws_call){ .host_begin = host, .host_end = host + us, .stream = stream, .object = event });
}

/* Adds an operation that holds a stream back but uses no time of the device, such as a host function. */
static void hold(struct builder *trace, enum ws_op_kind kind, const char *function, uint32_t stream, int64_t host)
{
    struct ws_shape shape = { .kind = kind,
                              .stream = stream,
                              .driver_function = build_driver_function(trace, function, WS_CALL_LAUNCH) };
    struct ws_op op = build_op_of(trace, build_shape(trace, &shape), 0, 0);
    op.flags = 0;
    op.host_begin = host;
    op.host_end = host + us;
    build_row(trace, WS_FAMILY_op, &op);
}

/* Asserts that there is one gap, that the work behind the gap waited for `what`, and that the report contains the
 * text `said`. */
static void expect_waited(struct built *built, enum ws_waited_for what, const char *said)
{
    const struct ws_track_activity *activity;
    char text[256];
    built_report(built);
    activity = built_activity(built, 0);
    const struct ws_track_causes *causes = ws_report_result(built->report, &ws_analysis_causes, 0);
    const struct ws_track_waits *waits = ws_report_result(built->report, &ws_analysis_gap_waits, 0);
    const struct ws_gap_wait_row *row = waits->rows.data;
    assert_int_equal(activity->gaps.count, 1);
    assert_int_equal(waits->rows.count, 1);
    assert_int_equal(row->gaps.total, activity->idle);
    struct ws_gap_walk walk = ws_gap_walk(&activity->gaps, 0);
    struct ws_gap gap;
    struct ws_gap_run run = { 0 };
    assert_true(ws_gap_next(&walk, &gap));
    ws_gap_run_reach(causes, &run, &gap);
    struct ws_gap_wait wait = ws_gap_wait_of(built->report, 0, run.cause, &gap);
    assert_int_equal(wait.what, row->wait.what);
    assert_int_equal(wait.op, row->wait.op);
    assert_string_equal(ws_gap_wait_text(built->report, 0, &wait, text, sizeof(text)), said);
    assert_int_equal(wait.what, what);
    built_finish(built);
}

/* Begins a trace: a kernel of 1 ms, then a gap, then a kernel on the other stream. Each test adds the operation
 * behind which the second kernel waited. */
static struct builder *queue_behind(struct built *built, int64_t gap)
{
    struct builder *trace = begin(built);
    first(trace);
    launch(trace, OTHER, gemm, -30 * us, ms + gap, 2 * ms + gap);
    return trace;
}

static void a_host_function_is_waited_for(void **state)
{
    struct built built;
    struct builder *trace = queue_behind(&built, 500 * us);
    (void)state;
    hold(trace, WS_OP_HOST_FUNCTION, "cuLaunchHostFunc", OTHER, -50 * us);
    expect_waited(&built, WS_WAITED_HOST_FUNCTION, "a host function on stream 2");
    /* Stream 2 waits for an event, which was recorded behind a host function on stream 1. */
    trace = queue_behind(&built, 500 * us);
    hold(trace, WS_OP_HOST_FUNCTION, "cuLaunchHostFunc", COMPUTE, -60 * us);
    order(trace, "cuEventRecord", COMPUTE, 77, -50 * us);
    order(trace, "cuStreamWaitEvent", OTHER, 77, -40 * us);
    expect_waited(&built, WS_WAITED_HOST_FUNCTION, "a host function on stream 1");
}

static void values_in_memory_are_waited_for_but_writes_are_not(void **state)
{
    struct built built;
    struct builder *trace = queue_behind(&built, 500 * us);
    (void)state;
    hold(trace, WS_OP_MEMORY_OP, "cuStreamWaitValue32_v2", OTHER, -50 * us);
    hold(trace, WS_OP_MEMORY_OP, "cuStreamWriteValue32_v2", OTHER, -40 * us);
    expect_waited(&built, WS_WAITED_MEMORY_VALUE, "a value in memory (cuStreamWaitValue) on stream 2");
}

static void an_event_of_another_process_is_waited_for(void **state)
{
    struct built built;
    struct builder *trace = queue_behind(&built, 500 * us);
    (void)state;
    order(trace, "cuStreamWaitEvent", OTHER, 77, -40 * us);
    /* recorded after the call to wait, which therefore does not wait for this record */
    order(trace, "cuEventRecord", COMPUTE, 77, -35 * us);
    expect_waited(&built, WS_WAITED_FOREIGN_EVENT,
                  "an event without a record in the trace: from another process, or from before the recording");
}

/* The event was recorded behind a kernel that ended when the gap began. So waiting for it does not explain the
 * gap. */
static void a_wait_that_nothing_explains(void **state)
{
    struct built built;
    struct builder *trace = queue_behind(&built, 500 * us);
    (void)state;
    order(trace, "cuEventRecord", COMPUTE, 77, -50 * us);
    order(trace, "cuStreamWaitEvent", OTHER, 77, -40 * us);
    hold(trace, WS_OP_HOST_FUNCTION, "cuLaunchHostFunc", OTHER, -20 * us); /* queued after the second kernel */
    expect_waited(&built, WS_WAITED_LAST_ENDED, "not known; ampere_sgemm_128x64_nn on stream 1 ended last");
}

static void an_event_of_another_device_is_waited_for(void **state)
{
    enum { FAR = 3 };
    struct built built;
    struct builder *trace = queue_behind(&built, 500 * us);
    (void)state;
    build_device(trace, 2, "Test GPU", 0, 1000);
    build_stream(trace, FAR, 2);
    launch(trace, FAR, all_reduce, -80 * us, 0, ms + 495 * us);
    order(trace, "cuEventRecord", FAR, 77, -50 * us);
    order(trace, "cuStreamWaitEvent", OTHER, 77, -40 * us);
    expect_waited(&built, WS_WAITED_EVENT, "ncclDevKernel_AllReduce_Sum on GPU 1, stream 3, by an event");
}

/* A gap of a few µs before an operation that was ready is dispatch time. The report names the operation that ended
 * when the gap began. */
static void a_dispatch_names_the_stream_it_comes_after(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    first(trace);
    launch(trace, COMPUTE, gemm, -80 * us, ms + 2 * us, 2 * ms);
    expect_waited(&built, WS_WAITED_OWN_STREAM, "the operation before it on its own stream");
    queue_behind(&built, 4 * us);
    expect_waited(&built, WS_WAITED_LAST_ENDED, "not known; ampere_sgemm_128x64_nn on stream 1 ended last");
    trace = queue_behind(&built, 4 * us);
    order(trace, "cuEventRecord", COMPUTE, 77, -50 * us);
    order(trace, "cuStreamWaitEvent", OTHER, 77, -40 * us);
    expect_waited(&built, WS_WAITED_EVENT, "ampere_sgemm_128x64_nn on stream 1, by an event");
}

/* If the cause of a wait is known, the advice addresses that cause. */
static void advice_names_what_is_waited_for(void **state)
{
    (void)state;
    for (int known = 0; known < 2; known++) {
        struct built built;
        struct builder *trace = queue_behind(&built, 500 * us);
        if (known)
            hold(trace, WS_OP_HOST_FUNCTION, "cuLaunchHostFunc", OTHER, -50 * us);
        built_report(&built);
        const struct ws_track_wall *wall = ws_report_result(built.report, &ws_analysis_wall, 0);
        const struct ws_advice *advice = wall->advice.items.data;
        assert_int_equal(wall->advice.items.count, 1);
        assert_int_equal(strstr(advice->what, "keep host functions") != NULL, known);
        assert_non_null(strstr(advice->evidence,
                               known ? "mostly for a host function on stream 2" : "the trace does not say what for"));
        built_finish(&built);
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
