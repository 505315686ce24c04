#include "analysis/windows.h"

#include "check.h"
#include "ranks.h"

enum { ROUNDS = 40 };

static struct ws_windows windows_of(const struct built *job, int64_t from, int64_t to)
{
    const struct ws_window_request request = { .from = from, .to = to };
    struct ws_windows windows;
    char message[256];
    if (ws_windows_init(&windows, job->report, &request, message, sizeof(message)))
        fail_msg("%s", message);
    return windows;
}

/* Asserts how many operations each process has in the windows (the parts of the recording that are analysed). */
static void assert_read(const struct built *job, const struct ws_windows *windows, size_t count)
{
    const char *paths[BUILT_MOST];
    const struct ws_model_options options = { .windows = windows->list, .window_count = windows->count };
    struct ws_model *model;
    char message[256];
    for (size_t i = 0; i < job->count; i++)
        paths[i] = job->paths[i];
    assert_int_equal(ws_model_create(&model, paths, job->count, &options, message, sizeof(message)), 0);
    assert_int_equal(model->processes.count, job->count);
    for (size_t i = 0; i < job->count; i++)
        assert_int_equal(ws_model_process(model, i)->ops.count, count);
    ws_model_destroy(model);
}

/* The second rank's clock is 5 s ahead, so its window is 5 s later. A round takes 1320 µs. A round has two
 * operations, and the window contains ten rounds, beginning with round 10. */
static void the_clock_of_collectives(void **state)
{
    static const int64_t compute[] = { 1 * ms, 1 * ms }, offset[] = { 0, 5000 * ms };
    struct built job;
    (void)state;
    ranks_begin(&job, 2, true);
    for (int rank = 0; rank < 2; rank++)
        build_comm(job.traces[rank], 1, (uint32_t)rank, 2, 77);
    ranks_rounds(&job, ROUNDS, compute, offset, 300 * us);
    built_report(&job);
    assert_true(ranks_rank(&job, 1)->clock.applied);
    struct ws_windows windows = windows_of(&job, 10 * 1320 * us - 15 * us, 20 * 1320 * us - 15 * us);
    assert_int_equal(windows.list[0].begin, ms + 10 * 1320 * us - 15 * us);
    assert_int_equal(windows.list[1].begin - windows.list[0].begin, 5000 * ms);
    assert_int_equal(windows.list[1].end - windows.list[0].end, 5000 * ms);
    assert_read(&job, &windows, 20);
    ws_windows_finish(&windows);
    built_finish(&job);
}

/* Without collectives, the clocks of two hosts are compared by the time of day. Ranks on one host have the same
 * clock. */
static void the_time_of_day(void **state)
{
    (void)state;
    for (int own_hosts = 0; own_hosts < 2; own_hosts++) {
        int64_t ahead = own_hosts ? 7000 * ms : 0;
        struct built job;
        ranks_begin(&job, 2, own_hosts);
        for (int rank = 0; rank < 2; rank++) {
            build_meta(job.traces[rank], "start_realtime_ns", "1790000009000000000");
            build_meta(job.traces[rank], "start_monotonic_ns", rank ? "9000000000" : "2000000000");
            for (int64_t i = 0; i < ROUNDS; i++)
                build_kernel(job.traces[rank], COMPUTE, GEMM, rank * ahead + i * ms,
                             rank * ahead + i * ms + 500 * us);
        }
        built_report(&job);
        struct ws_windows windows = windows_of(&job, 10 * ms - 100 * us, INT64_MAX);
        assert_int_equal(windows.list[1].begin - windows.list[0].begin, ahead);
        assert_int_equal(windows.list[1].end, INT64_MAX);
        assert_read(&job, &windows, ROUNDS - 10);
        ws_windows_finish(&windows);
        built_finish(&job);
    }
}

/* What a window (a part of the recording) keeps: losses that were counted in the window or soon after it, or that
 * have no time (0); whole step markers only; of other ranges, the part that lies in the window. */
static void rows_of_a_window(void **state)
{
    const struct ws_window window = { .begin = 1000 * ms, .end = 2000 * ms };
    const struct {
        int64_t at;
        bool within;
    } losses[] = { { 0, true }, { 999 * ms, false }, { 1000 * ms, true }, { 2299 * ms, true }, { 2300 * ms, false } };
    (void)state;
    for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
        struct ws_loss loss = { .host_ns = losses[i].at };
        assert_int_equal(ws_window_take(&window, WS_FAMILY_loss, &loss), losses[i].within);
    }
    struct ws_range range = { .kind = WS_RANGE_STEP, .host_begin = 900 * ms, .host_end = 1500 * ms };
    assert_false(ws_window_take(&window, WS_FAMILY_range, &range));
    range.kind = WS_RANGE_ANNOTATION;
    assert_true(ws_window_take(&window, WS_FAMILY_range, &range));
    assert_int_equal(range.host_begin, 1000 * ms);
    assert_int_equal(range.host_end, 1500 * ms);
    struct ws_call call = { .host_begin = 2000 * ms };
    assert_false(ws_window_take(&window, WS_FAMILY_call, &call));
    call.host_begin--;
    assert_true(ws_window_take(&window, WS_FAMILY_call, &call));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_of_collectives),
        cmocka_unit_test(the_time_of_day),
        cmocka_unit_test(rows_of_a_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
