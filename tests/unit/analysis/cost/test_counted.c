#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/gaps/gaps.h"
#include "analysis/roofline/roofline.h"
#include "analysis/steps/steps.h"
#include "built.h"
#include "record/counters.h"

static struct ws_metric metrics[WS_METRICS_MOST];
static uint32_t metric_count;

/* Begins a trace of an H100, with all hardware metrics that its chip has. */
static struct builder *begin(struct built *built)
{
    struct builder *trace = built_begin(built);
    build_device(trace, 1, "NVIDIA H100 80GB HBM3", 0, 0);
    build_stream(trace, 1, 1);
    build_stream(trace, 2, 1);
    metric_count = ws_counter_metrics("GH100", metrics);
    for (uint32_t i = 0; i < metric_count; i++) {
        metrics[i].id = i + 1;
        metrics[i].device = 1;
        build_row(trace, WS_FAMILY_metric, &metrics[i]);
    }
    return trace;
}

static uint32_t launch(struct builder *trace, uint32_t stream, const char *name, uint32_t grid, int64_t begin,
                       int64_t end, uint32_t flags)
{
    return build_launch(trace, &(struct launch){ .kernel = name,
                                                 .stream = stream,
                                                 .grid = grid,
                                                 .block = 128,
                                                 .begin = begin,
                                                 .end = end,
                                                 .flags = flags });
}

/* Adds the counters of one launch for the metrics of `group`: the metric `metric` has the value `value`, all others
 * have 0. */
static void count(struct builder *trace, uint32_t shape, const char *group, const char *metric, uint64_t value)
{
    for (uint32_t i = 0; i < metric_count; i++) {
        struct ws_counter row = { .shape = shape,
                                  .metric = metrics[i].id,
                                  .value = strstr(metrics[i].name.data, metric) ? value : 0 };
        if (!strcmp(metrics[i].group_name.data, group))
            build_row(trace, WS_FAMILY_counter, &row);
    }
}

/* Adds the counters of one launch: the bytes that it read and wrote, and whether its tensor cores worked. */
static void count_memory(struct builder *trace, uint32_t shape, uint64_t read, uint64_t written, bool tensor)
{
    for (uint32_t i = 0; i < metric_count; i++) {
        struct ws_counter row = { .shape = shape, .metric = metrics[i].id };
        row.value = metrics[i].quantity == WS_QUANTITY_BYTES_READ      ? read
                    : metrics[i].quantity == WS_QUANTITY_BYTES_WRITTEN ? written
                    : metrics[i].quantity == WS_QUANTITY_TENSOR_ACTIVE ? tensor * 500000u
                                                                       : 1;
        if (metrics[i].group == 1)
            build_row(trace, WS_FAMILY_counter, &row);
    }
}

/* Adds the counters of one launch for all groups of tensor-core metrics except the group `left_out`. The metric
 * `metric` has the value `flops`, all others have 0. */
static void count_tensor(struct builder *trace, uint32_t shape, const char *metric, uint64_t flops,
                         const char *left_out)
{
    const char *last = "";
    for (uint32_t i = 0; i < metric_count; i++) {
        const char *group = metrics[i].group_name.data;
        if (metrics[i].quantity == WS_QUANTITY_TENSOR_FLOPS && strcmp(group, last) != 0 &&
            strcmp(group, left_out) != 0)
            count(trace, shape, group, metric, flops);
        last = group;
    }
}

static const struct ws_track_roofline *roofline_of(struct built *built)
{
    built_report(built);
    return ws_report_result(built->report, &ws_analysis_roofline, 0);
}

static struct ws_roofline_row row_at(const struct ws_track_roofline *roofline, size_t index)
{
    assert_true(index < roofline->rows.count);
    return ((const struct ws_roofline_row *)roofline->rows.data)[index];
}

static void samples_speak_for_all_launches_of_a_kernel_grid_and_block(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    uint32_t shape = launch(trace, 1, "k", 100, 0, 900000, WS_OP_COUNTED);
    count_memory(trace, shape, 1000, 400, false);
    launch(trace, 1, "k", 100, 900000, 1800000, WS_OP_COUNTED);
    count_memory(trace, shape, 1200, 600, false);
    count(trace, shape, "ordinary cores", "op_ffma", 500);
    launch(trace, 1, "k", 100, 2000000, 2100000, 0);
    launch(trace, 2, "k", 100, 2100000, 2200000, 0); /* the same work on another stream */
    launch(trace, 1, "k", 101, 2200000, 2300000, 0); /* another grid: the work of this launch is not known */
    struct ws_roofline_row row = row_at(roofline_of(&built), 0);
    assert_int_equal(row.source, WS_WORK_COUNTER);
    assert_true(row.bytes == 2 * (1100 + 500) && row.flops == 2 * 1000);
    assert_int_equal(row.precision, WS_PRECISION_FP32);
    assert_int_equal(row.known, 200000); /* the time of launches that the counters did not slow down */
    assert_int_equal(row.count, 5);
    assert_null(row.note);
    built_finish(&built);
}

static void every_precision_counts_with_its_weight(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    uint32_t shape = launch(trace, 1, "k", 100, 0, 100000, 0);
    count_memory(trace, shape, 1000, 1000, true);
    count(trace, shape, "ordinary cores", "op_hfma", 100);
    count_tensor(trace, shape, "src_bf16", 5000, "");
    struct ws_roofline_row row = row_at(roofline_of(&built), 0);
    assert_true(row.flops == 5400);
    assert_int_equal(row.precision, WS_PRECISION_BF16);
    built_finish(&built);
}

static void what_was_not_read_is_named_and_nothing_added_up(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    uint32_t shape = launch(trace, 1, "k", 100, 0, 100000, 0);
    count_memory(trace, shape, 1000, 1000, true);
    count(trace, shape, "ordinary cores", "op_ffma", 100);
    count_tensor(trace, shape, "src_bf16", 5000, "tensor fp64");
    struct ws_roofline_row row = row_at(roofline_of(&built), 0);
    assert_int_equal(row.source, WS_WORK_COUNTER);
    assert_true(row.bytes == 2000 && row.flops == 0);
    assert_non_null(strstr(row.note, "no tensor fp64"));
    assert_null(strstr(row.note, "bf16"));
    built_finish(&built);
}

/* FLOPs and bytes from counters are used instead of those from operator sizes, but only if the counters cover all
 * FLOPs. */
static void counters_come_first_where_they_are_whole(void **state)
{
    for (int whole = 0; whole < 2; whole++) {
        struct built built;
        struct builder *trace = begin(&built);
        (void)state;
        build_operator(trace, "aten::mm", "c10::BFloat16[64,64] c10::BFloat16[64,64]", "gemm", 0, 100000);
        struct ws_shape shape = { .kind = WS_OP_KERNEL,
                                  .stream = 1,
                                  .function = build_function(trace, "gemm"),
                                  .driver_function = build_driver_function(trace, "cuLaunchKernel", WS_CALL_LAUNCH),
                                  .grid_x = 64,
                                  .grid_y = 1,
                                  .grid_z = 1,
                                  .block_x = 256,
                                  .block_y = 1,
                                  .block_z = 1 };
        uint32_t id = build_shape(trace, &shape);
        count_memory(trace, id, 30000, 8192, true);
        count(trace, id, "ordinary cores", "none", 0);
        count_tensor(trace, id, "src_bf16", 600000, whole ? "" : "tensor fp8");
        const struct ws_track_roofline *roofline = roofline_of(&built);
        struct ws_roofline_row row = row_at(roofline, 0);
        assert_int_equal(row.source, whole ? WS_WORK_COUNTER : WS_WORK_SHAPE);
        assert_true(row.flops == (whole ? 600000 : 2.0 * 64 * 64 * 64));
        assert_true(row.bytes == (whole ? 38192 : 3 * 64 * 64 * 2));
        assert_int_equal(roofline->gemms.count, 1); /* the GEMM is known from the operator's sizes in both cases */
        built_finish(&built);
    }
}

static void only_held_up_launches_are_used_with_a_word(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    uint32_t shape = launch(trace, 1, "k", 100, 0, 100000, WS_OP_COUNTED);
    count_memory(trace, shape, 1000, 1000, false);
    count(trace, shape, "ordinary cores", "op_ffma", 100);
    struct ws_roofline_row row = row_at(roofline_of(&built), 0);
    assert_int_equal(row.known, 100000);
    assert_non_null(strstr(row.note, "counters were read at every launch"));
    built_finish(&built);
}

/* Makes twelve marked steps of two kernels. In the first `counted` steps, hardware counters slow a launch down, so
 * that these steps take three times as long. */
static struct ws_track_steps steps_with_counted(struct built *built, int counted)
{
    struct builder *trace = begin(built);
    int64_t at = 1000000;
    for (int step = 0; step < 12; step++) {
        int64_t length = step < counted ? 3000000 : 1000000;
        build_range(trace, WS_RANGE_STEP, 1, "ProfilerStep", at - 20000, at - 20000 + length);
        launch(trace, 1, "k", 100, at, at + 400000, step < counted ? WS_OP_COUNTED : 0);
        launch(trace, 1, "l", 100, at + 400000, at + 900000, 0);
        at += length;
    }
    built_report(built);
    return *(const struct ws_track_steps *)ws_report_result(built->report, &ws_analysis_steps, 0);
}

static void steps_that_were_held_up_are_left_out(void **state)
{
    struct built built;
    (void)state;
    struct ws_track_steps steps = steps_with_counted(&built, 7);
    assert_int_equal(steps.kinds[WS_STEP_COUNTED], 7);
    assert_int_equal(steps.kinds[WS_STEP_STEADY], 4); /* nothing runs after the last step, so it does not count */
    assert_int_equal(steps.median, 1000000);
    built_finish(&built);
    /* Only two steps ran without counters. Two are too few, so the steps with counters are used as well. */
    steps = steps_with_counted(&built, 10);
    assert_int_equal(steps.kinds[WS_STEP_COUNTED], 0);
    built_finish(&built);
}

static void gaps_beside_held_up_launches_are_nobodys(void **state)
{
    (void)state;
    for (uint32_t counted = 0; counted < 3; counted++) {
        struct built built;
        struct builder *trace = begin(&built);
        launch(trace, 1, "k", 100, 1000000, 1100000, counted == 1 ? WS_OP_COUNTED : 0);
        build_call(trace, "cuCtxSynchronize", WS_CALL_SYNC, 1000500, 5000000);
        launch(trace, 1, "l", 100, 5020000, 5100000, counted == 2 ? WS_OP_COUNTED : 0);
        built_report(&built);
        const struct ws_track_causes *causes = ws_report_result(built.report, &ws_analysis_causes, 0);
        assert_int_equal(causes->totals[counted ? WS_PART_UNEXPLAINED : WS_PART_SYNC].count, 1);
        built_finish(&built);
    }
}

static void rows_that_name_nothing_are_left_out(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    uint32_t shape = launch(trace, 1, "k", 100, 0, 100000, 0);
    struct ws_counter rows[] = { { .shape = shape, .metric = 4711, .value = 1 },
                                 { .shape = shape, .metric = 0, .value = 1 },
                                 { .shape = 4711, .metric = 2, .value = 1 },
                                 { .shape = shape, .metric = UINT32_MAX, .value = UINT64_MAX } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        build_row(trace, WS_FAMILY_counter, &rows[i]);
    /* Odd rows: metrics of an unknown device, precision or quantity, and more metrics than a device has. */
    for (uint32_t i = 0; i < 200; i++) {
        struct ws_metric metric = { .id = 5000 + i,
                                    .device = i % 2 + 1,
                                    .group = i,
                                    .quantity = i % 11,
                                    .weight = UINT32_MAX,
                                    .precision = { "fp7", 3 },
                                    .group_name = { "a group", 7 },
                                    .name = { "m", 1 } };
        build_row(trace, WS_FAMILY_metric, &metric);
    }
    struct ws_roofline_row row = row_at(roofline_of(&built), 0);
    assert_int_equal(row.source, WS_WORK_NONE);
    assert_true(row.bytes == 0 && row.flops == 0);
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_speak_for_all_launches_of_a_kernel_grid_and_block),
        cmocka_unit_test(every_precision_counts_with_its_weight),
        cmocka_unit_test(what_was_not_read_is_named_and_nothing_added_up),
        cmocka_unit_test(counters_come_first_where_they_are_whole),
        cmocka_unit_test(only_held_up_launches_are_used_with_a_word),
        cmocka_unit_test(steps_that_were_held_up_are_left_out),
        cmocka_unit_test(gaps_beside_held_up_launches_are_nobodys),
        cmocka_unit_test(rows_that_name_nothing_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
