#include "check.h"

#include "analysis/verdict/wall.h"
#include "ranks.h"
#include "built.h"

enum { STEPS = 6 };

/* Makes marked steps of one length, in which the device computes for half of the time. For every ten kernels, the
 * trace also has `blind` operations without device times. */
static void run_steps(struct built *job, size_t rank, int64_t length, int blind)
{
    struct builder *trace = job->traces[rank];
    build_thread(trace, 1, 100, "python3");
    for (int64_t step = 0; step < STEPS; step++) {
        int64_t at = ms + step * length;
        build_range(trace, WS_RANGE_STEP, 1, "ProfilerStep", at - 50 * us, at + length - 100 * us);
        for (int64_t i = 0; i < 10; i++) {
            build_kernel(trace, COMPUTE, GEMM, at + i * length / 20, at + (i + 1) * length / 20);
            struct ws_op op = build_op_of(trace, 1, at, at);
            op.flags = 0;
            if (i < blind)
                build_row(trace, WS_FAMILY_op, &op);
        }
    }
}

static void assert_said_in(const struct built *built, const char *section, const char *what, bool is_said)
{
    char *text = built_text(built, section, false);
    if (!strstr(text, what) != !is_said)
        fail_msg("%s\"%s\" in:\n%s", is_said ? "no " : "", what, text);
    free(text);
}

static void assert_said(const struct built *job, const char *what, bool is_said)
{
    assert_said_in(job, "verdict", what, is_said);
}

static void begin(struct built *job)
{
    ranks_begin(job, 3, false);
    job->steps = WS_STEPS_ONLY_MARKED;
}

static void the_slowest_is_named(void **state)
{
    struct built job;
    (void)state;
    begin(&job);
    run_steps(&job, 0, 2 * ms, 0);
    run_steps(&job, 1, 3 * ms, 0);
    run_steps(&job, 2, ms, 0);
    built_report(&job);
    struct ws_slowest slowest = ws_report_slowest(job.report);
    assert_int_equal(slowest.shown, 1);
    assert_int_equal(slowest.slower, WS_NOWHERE);
    assert_int_equal(slowest.not_compared, 0);
    assert_said(&job, "slowest                 rank 1, GPU 0 Test GPU; sections show only this one", true);
    assert_said(&job, "not compared", false);
    char *text = built_text(&job, "verdict", true);
    assert_null(strstr(text, "it alone"));
    free(text);
    built_finish(&job);
}

/* The slowest rank has no verdict, because too many of its operations lack times. The second slowest rank has a
 * verdict, but is not called the slowest. */
static void the_slowest_need_not_have_a_verdict(void **state)
{
    struct built job;
    (void)state;
    begin(&job);
    run_steps(&job, 0, 2 * ms, 0);
    run_steps(&job, 1, 3 * ms, 0);
    run_steps(&job, 2, 4 * ms, 5);
    built_report(&job);
    struct ws_slowest slowest = ws_report_slowest(job.report);
    assert_int_equal(slowest.shown, 1);
    assert_int_equal(slowest.slower, 2);
    assert_said(&job, "slowest                 rank 2, GPU 0 Test GPU; no verdict on it: too many operations", true);
    assert_said(&job, "verdict on              rank 1, GPU 0 Test GPU, the next", true);
    built_finish(&job);
}

/* Rank 2 has no steps, so it is not compared with the others. */
static void without_steps_there_is_nothing_to_compare(void **state)
{
    struct built job;
    (void)state;
    begin(&job);
    run_steps(&job, 0, 2 * ms, 0);
    run_steps(&job, 1, ms, 0);
    build_kernel(job.traces[2], COMPUTE, GEMM, 0, 20 * ms);
    built_report(&job);
    assert_int_equal(ws_report_slowest(job.report).shown, 0);
    assert_int_equal(ws_report_slowest(job.report).not_compared, 1);
    assert_said(&job, "rank 0, GPU 0 Test GPU; not compared: 1 device without steps", true);
    built_finish(&job);
}

/* Steps that differ by less than 1 % do not make a device the slowest. */
static void devices_that_are_alike_have_no_slowest(void **state)
{
    static const int64_t lengths[] = { 2 * ms - 10 * us, 2 * ms - 40 * us };
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct built job;
        ranks_begin(&job, 2, false);
        job.steps = WS_STEPS_ONLY_MARKED;
        run_steps(&job, 0, lengths[i], 0);
        run_steps(&job, 1, 2 * ms, 0);
        built_report(&job);
        assert_said(&job, "shown                   rank 1, GPU 0 Test GPU; the devices differ by less than 1 %",
                    i == 0);
        assert_said(&job, "slowest                 rank 1, GPU 0 Test GPU", i == 1);
        built_finish(&job);
    }
}

static void nothing_is_said_of_devices_that_did_nothing(void **state)
{
    struct built job;
    (void)state;
    begin(&job);
    run_steps(&job, 0, 2 * ms, 0);
    built_report(&job);
    assert_int_equal(ws_report_slowest(job.report).shown, 0);
    assert_int_equal(ws_report_slowest(job.report).not_compared, 0);
    built_finish(&job);
}

/* The report's sections about devices show only the slowest device, unless the user asks for all devices. */
static void several_devices_are_not_shown_one_after_the_other(void **state)
{
    (void)state;
    for (int all = 0; all < 2; all++) {
        struct built job;
        ranks_begin(&job, 2, false);
        job.steps = WS_STEPS_ONLY_MARKED;
        run_steps(&job, 0, 2 * ms, 0);
        run_steps(&job, 1, 3 * ms, 0);
        built_report(&job);
        char *text = built_text(&job, "activity", all);
        assert_non_null(strstr(text, "rank 1"));
        assert_int_equal(strstr(text, "rank 0") != NULL, all);
        free(text);
        built_finish(&job);
    }
}

/* A device can be busy with copies and compute almost nothing. The verdict's answer to "busy?" says this. */
static void a_busy_device_may_only_move_data(void **state)
{
    static const int64_t copied[] = { 900 * us, 100 * us };
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct built built;
        struct builder *trace = built_begin_on(&built, i ? "Test GPU" : "", 1);
        build_copy(trace, 1, WS_SPACE_PINNED, WS_SPACE_DEVICE, 8 << 20, 0, copied[i]);
        build_kernel(trace, 1, GEMM, copied[i], ms);
        built_report(&built);
        assert_said_in(&built, "verdict", "no   mostly copying: 100.0 %, 900 µs of it in exposed copies", !i);
        assert_said_in(&built, "verdict", "move less between host and GPU", !i);
        assert_said_in(&built, "verdict", "the trace does not name the GPU", !i);
        assert_said_in(&built, "roofline", "wallshim does not know this GPU's peaks", i);
        built_finish(&built);
    }
}

/* The first line of the verdict names exposed copies, with their direction and the kind of memory. */
static void the_wall_says_which_copies_are_exposed(void **state)
{
    static const struct {
        enum ws_space from, to;
        int64_t length;   /* ns of the copy; a kernel of 10 ms follows it */
        int64_t opposite; /* ns of a second copy, from the device to pinned memory; 0: none */
        const char *said;
    } cases[] = {
        { WS_SPACE_PAGEABLE, WS_SPACE_DEVICE, 9 * ms, 0,
          "(47.4 %), all of it in exposed copies: host to device, pageable" },
        { WS_SPACE_DEVICE, WS_SPACE_PINNED, 9 * ms, 0, "all of it in exposed copies: device to host, pinned" },
        { WS_SPACE_PAGEABLE, WS_SPACE_DEVICE, 6 * ms, 4 * ms,
          "all of it in exposed copies: mostly host to device, pageable" },
        { WS_SPACE_DEVICE, WS_SPACE_PEER, 9 * ms, 0, "all of it in exposed copies: between devices" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct built built;
        struct builder *trace = built_begin_on(&built, "GPU", 1);
        int64_t at = cases[i].length;
        build_copy(trace, 1, cases[i].from, cases[i].to, 8 << 20, 0, at);
        if (cases[i].opposite)
            build_copy(trace, 1, WS_SPACE_DEVICE, WS_SPACE_PINNED, 8 << 20, at, at + cases[i].opposite);
        at += cases[i].opposite;
        build_kernel(trace, 1, GEMM, at, at + 10 * ms);
        built_report(&built);
        assert_said_in(&built, "verdict", "overhead: ", true);
        assert_said_in(&built, "verdict", cases[i].said, true);
        built_finish(&built);
    }
}

/* Without kernels, the share of matmuls is "not known", and not 0 %. */
static void without_kernels_nothing_is_said_of_matmuls(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "GPU", 1);
    (void)state;
    build_copy(trace, 1, WS_SPACE_PINNED, WS_SPACE_DEVICE, 8 << 20, 0, ms);
    built_report(&built);
    assert_said_in(&built, "verdict", "3 matmuls ≥ 50 %?       not known  nothing computed", true);
    built_finish(&built);
}

/* If the wall (what limits the program most) has another main cause, copies are named beside it once they take 15 %
 * of the time. */
static void the_wall_names_copies_beside_its_cause(void **state)
{
    (void)state;
    for (int less = 0; less < 2; less++) {
        struct built built;
        struct builder *trace = built_begin_on(&built, "GPU", 1);
        int64_t length = less ? ms : 3 * ms;
        build_kernel(trace, 1, GEMM, 0, 10 * ms - length);
        build_copy(trace, 1, WS_SPACE_PINNED, WS_SPACE_DEVICE, 8 << 20, 15 * ms, 15 * ms + length);
        built_report(&built);
        assert_said_in(&built, "verdict", "overhead: ", true);
        assert_said_in(&built, "verdict", "another 3.00 ms in exposed copies: host to device, pinned", !less);
        built_finish(&built);
    }
}

/* If times have large errors, the busy time is given with its lower and upper bound. */
static void busy_time_has_bounds(void **state)
{
    (void)state;
    for (uint32_t error = 0; error < 2; error++) {
        struct built built;
        struct builder *trace = built_begin_on(&built, "GPU", 1);
        for (int64_t i = 0; i < 10; i++) {
            build_kernel(trace, 1, GEMM, i * ms, i * ms + 1);
            build_launch(
                trace, &(struct launch){
                           .kernel = GEMM, .begin = i * ms + 1, .end = i * ms + 500 * us, .error = error * 200000 });
        }
        built_report(&built);
        assert_said_in(&built, "verdict", " (over the recording between ", error);
        built_finish(&built);
    }
}

/* Without the sizes of GEMMs, the kernels' names still tell which of the GPU's peaks apply to them. */
static void roofs_are_those_of_the_cores_that_compute(void **state)
{
    static const char *const kernels[] = { GEMM, "ampere_bf16_s16816gemm_bf16_128x64_nn" };
    static const char *const roofs[] = { "66.9 TFLOP/s fp32", "989.4 TFLOP/s bf16" };
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct built built;
        struct builder *trace = built_begin_on(&built, "NVIDIA H100 80GB HBM3", 1);
        build_kernel(trace, 1, kernels[i], 0, ms);
        built_report(&built);
        assert_said_in(&built, "roofline", roofs[i], true);
        built_finish(&built);
    }
}

/* Without device times, gaps, storms and chains cannot be found: the report says "not known", not "none". */
static void without_device_times_nothing_is_denied(void **state)
{
    static const char *const sections[] = { "gaps", "storms", "chains", "ranks" };
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 1);
    (void)state;
    struct ws_op op = build_op(trace, &(struct launch){ .kernel = "gelu", .begin = 1000, .end = 2000 });
    op.flags = 0;
    build_row(trace, WS_FAMILY_op, &op);
    built_report(&built);
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        assert_said_in(&built, sections[i], "Not known: no device times.", true);
        assert_said_in(&built, sections[i], "None", false);
    }
    built_finish(&built);
}

static void slow_steps_name_kernels_as_tables_do(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 1);
    int64_t at = ms;
    (void)state;
    for (int i = 0; i < 8; i++) {
        int64_t length = i == 4 ? 3 * ms : ms;
        build_range(trace, WS_RANGE_STEP, 1, "ProfilerStep", at - 20 * us, at - 20 * us + length);
        build_kernel(trace, 1, "_Z6kernelILi4EEvPf", at, at + length - 100 * us);
        at += length;
    }
    built_report(&built);
    assert_said_in(&built, "steps", "compute +2.00 ms  +2.00 ms  kernel<4>", true);
    built_finish(&built);
}

/* Every fifth step is slow. The report cannot list all these steps, but it counts them all. */
static void slow_steps_beyond_the_list_are_counted(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "Test GPU", 1);
    int64_t at = ms;
    (void)state;
    for (int i = 0; i < 5 * 467 + 1; i++) {
        int64_t length = i % 5 == 4 ? 3 * ms : ms;
        build_range(trace, WS_RANGE_STEP, 1, "ProfilerStep", at - 20 * us, at - 20 * us + length);
        build_kernel(trace, 1, "gelu", at, at + length - 100 * us);
        at += length;
    }
    built_report(&built);
    assert_int_equal(built_steps(&built)->slow, 467);
    assert_said_in(&built, "verdict", ", 467 slow", true);
    assert_said_in(&built, "steps", ", 467 slow", true);
    assert_said_in(&built, "steps", "and 211 more\n", true);
    json_t *report = ws_report_json(built.report), *device, *time;
    device = json_array_get(json_object_get(json_array_get(json_object_get(report, "processes"), 0), "devices"), 0);
    time = json_object_get(device, "step_time");
    assert_int_equal(json_integer_value(json_object_get(time, "slow")), 467);
    assert_int_equal(json_integer_value(json_object_get(time, "slow_without_more")), 211);
    assert_null(json_object_get(device, "steps_left_out"));
    json_decref(report);
    built_finish(&built);
}

/* A launch for which no CUDA event was free has no device times. If few launches lack times, the verdict says how
 * many; if many do, there is no verdict. */
static void a_few_operations_without_times_leave_a_verdict(void **state)
{
    static const struct {
        int untimed; /* operations without times, of a thousand */
        bool judged;
        const char *said;
    } cases[] = {
        { 0, true, NULL },
        { 1, true, "1 of 1,000 operations has no device times (0.1 %)" },
        { 25, true, "25 of 1,000 operations have no device times (2.5 %)" },
        { 200, false, "No verdict: too many operations have no device times: 200 of 1,000 (20.0 %)" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct built built;
        struct builder *trace = built_begin_on(&built, "Test GPU", 1);
        struct ws_loss loss = { .reason = WS_LOSS_POOL_DRY, .thread = 1, .count = (uint64_t)cases[i].untimed };
        for (int64_t op = 0; op < 1000; op++) {
            struct ws_op row = build_op(
                trace,
                &(struct launch){ .kernel = "gelu", .begin = ms + op * 2 * us, .end = ms + (op * 2 + 1) * us });
            if (op < cases[i].untimed)
                row.flags = WS_OP_POOL_DRY;
            build_row(trace, WS_FAMILY_op, &row);
        }
        if (loss.count)
            build_row(trace, WS_FAMILY_loss, &loss);
        built_report(&built);
        assert_said_in(&built, "verdict", "the wall", cases[i].judged);
        assert_said_in(&built, "verdict", cases[i].said ? cases[i].said : "device times", cases[i].said);
        built_finish(&built);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slowest_is_named),
        cmocka_unit_test(the_slowest_need_not_have_a_verdict),
        cmocka_unit_test(without_steps_there_is_nothing_to_compare),
        cmocka_unit_test(devices_that_are_alike_have_no_slowest),
        cmocka_unit_test(nothing_is_said_of_devices_that_did_nothing),
        cmocka_unit_test(several_devices_are_not_shown_one_after_the_other),
        cmocka_unit_test(without_device_times_nothing_is_denied),
        cmocka_unit_test(slow_steps_name_kernels_as_tables_do),
        cmocka_unit_test(slow_steps_beyond_the_list_are_counted),
        cmocka_unit_test(a_few_operations_without_times_leave_a_verdict),
        cmocka_unit_test(a_busy_device_may_only_move_data),
        cmocka_unit_test(the_wall_says_which_copies_are_exposed),
        cmocka_unit_test(the_wall_names_copies_beside_its_cause),
        cmocka_unit_test(without_kernels_nothing_is_said_of_matmuls),
        cmocka_unit_test(busy_time_has_bounds),
        cmocka_unit_test(roofs_are_those_of_the_cores_that_compute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
