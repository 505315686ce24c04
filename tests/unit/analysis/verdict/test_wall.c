#include "check.h"

#include "analysis/verdict/wall.h"
#include "built.h"

static const int64_t us = 1000, ms = 1000000;

#define H100 "NVIDIA H100 80GB HBM3"

static const char gemm[] = "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT";
static const char add[] = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >()";
static const char all_reduce[] = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL";
static const char large[] = "c10::BFloat16[4096,4096] c10::BFloat16[4096,4096]";

static const struct ws_track_wall *wall_of(const struct built *built)
{
    return built_result(built, &ws_analysis_wall, 0);
}

static void assert_wall(const struct built *built, enum ws_wall expected)
{
    const struct ws_track_wall *wall = wall_of(built);
    if (wall->wall != expected)
        fail_msg("%s, not %s: compute %d, bandwidth %d, communication %d, overhead %d of %d µs",
                 ws_wall_name(wall->wall), ws_wall_name(expected), (int)(wall->by_wall[WS_WALL_COMPUTE] / us),
                 (int)(wall->by_wall[WS_WALL_BANDWIDTH] / us), (int)(wall->by_wall[WS_WALL_COMMUNICATION] / us),
                 (int)(wall->by_wall[WS_WALL_OVERHEAD] / us), (int)(wall->length / us));
}

static void assert_text(const struct built *built, const char *section, const char *what, bool is_said)
{
    char *text = built_text(built, section, false);
    if (!strstr(text, what) != !is_said)
        fail_msg("%s\"%s\" in:\n%s", is_said ? "no " : "", what, text);
    free(text);
}

/* How the time of a recording is divided, in percent, and the wall (what limits the program most) that results.
 * Kernels follow each other without a gap; all idle time comes before the last kernel. */
struct division {
    int compute, bandwidth, communication, idle;
    enum ws_wall wall;
};

static void run_division(struct builder *trace, const struct division *division)
{
    int64_t at = ms, percent = ms / 10;
    build_kernel(trace, 1, gemm, at, at + division->compute * percent - us);
    at += division->compute * percent - us;
    build_kernel(trace, 2, all_reduce, at, at + division->communication * percent);
    at += division->communication * percent;
    build_kernel(trace, 1, add, at, at + division->bandwidth * percent);
    at += (division->bandwidth + division->idle) * percent;
    build_kernel(trace, 1, gemm, at, at + us);
}

/* The largest part of the time is the wall, even if another part that is checked earlier is large, too. */
static void the_largest_is_the_wall(void **state)
{
    static const struct division cases[] = {
        { 6, 57, 19, 18, WS_WALL_BANDWIDTH },     { 53, 26, 0, 21, WS_WALL_COMPUTE },
        { 26, 53, 0, 21, WS_WALL_BANDWIDTH },     { 52, 8, 0, 40, WS_WALL_OVERHEAD },
        { 48, 27, 25, 0, WS_WALL_COMMUNICATION }, { 14, 7, 44, 35, WS_WALL_COMMUNICATION },
        { 14, 7, 35, 44, WS_WALL_OVERHEAD },      { 95, 2, 1, 2, WS_WALL_COMPUTE },
        { 70, 7, 23, 0, WS_WALL_COMPUTE },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct built built;
        run_division(built_begin_on(&built, H100, 2), &cases[i]);
        built.steps = WS_STEPS_NOT_ASKED;
        built_report(&built);
        assert_wall(&built, cases[i].wall);
        assert_text(&built, "verdict", "beside it               overhead",
                    cases[i].idle > 15 && cases[i].wall != WS_WALL_OVERHEAD);
        built_finish(&built);
    }
}

/* Copies within the device use its memory bandwidth, so they count as bandwidth. Copies over the link to the host
 * count as overhead. */
static void copies_within_the_device_are_bandwidth(void **state)
{
    (void)state;
    for (int inside = 0; inside < 2; inside++) {
        struct built built;
        struct builder *trace = built_begin_on(&built, H100, 1);
        build_kernel(trace, 1, gemm, 0, 4 * ms);
        build_kernel(trace, 1, add, 4 * ms, 6 * ms);
        for (int64_t at = 6 * ms; at < 10 * ms; at += 10 * us)
            build_copy(trace, 1, inside ? WS_SPACE_DEVICE : WS_SPACE_PINNED, WS_SPACE_DEVICE, 32 << 10, at,
                       at + 10 * us);
        built.steps = WS_STEPS_NOT_ASKED;
        built_report(&built);
        assert_wall(&built, inside ? WS_WALL_BANDWIDTH : WS_WALL_OVERHEAD);
        assert_int_equal(wall_of(&built)->parts[WS_PART_DEVICE_COPIES], inside ? 4 * ms : 0);
        assert_int_equal(wall_of(&built)->cause, inside ? WS_PART_DEVICE_COPIES : WS_PART_EXPOSED_MEMORY);
        assert_text(&built, "verdict", "all of it in exposed copies", !inside);
        assert_text(&built, "verdict", "4.00 ms of it in copies within the device", inside);
        assert_text(&built, "verdict", "copy less within the device", inside);
        built_finish(&built);
    }
}

/* A product (GEMM) reads its weights for few rows or for many. Its sizes decide whether memory bandwidth or compute
 * limits it. */
static void few_rows_are_bandwidth(void **state)
{
    static const char few[] = "c10::BFloat16[32,4096] c10::BFloat16[4096,14336]";
    (void)state;
    for (int is_few = 0; is_few < 2; is_few++) {
        struct built built;
        struct builder *trace = built_begin_on(&built, H100, 1);
        build_thread(trace, 1, 100, "python");
        /* the product reaches 2 TB/s with few rows, and 700 TFLOP/s with many */
        int64_t length = is_few ? 60 * us : 200 * us;
        for (int64_t i = 0; i < 10; i++)
            build_operator(trace, "aten::mm", is_few ? few : large, gemm, ms + i * length, length);
        built_report(&built);
        assert_wall(&built, is_few ? WS_WALL_BANDWIDTH : WS_WALL_COMPUTE);
        assert_false(wall_of(&built)->by_names);
        assert_int_equal(wall_of(&built)->cause, WS_PART_MATMUL);
        assert_text(&built, "verdict", "by the names of kernels only", false);
        assert_text(&built, "verdict", "in matrix work that memory limits", is_few);
        assert_text(&built, "roofline", is_few ? "memory-bound" : "compute-bound", true);
        built_finish(&built);
    }
}

/* Work whose arithmetic intensity is above (or below) the ridge of every known GPU has a class even on an unknown
 * GPU. */
static void some_work_has_a_class_on_every_gpu(void **state)
{
    static const struct {
        const char *inputs, *kernel;
        enum ws_wall wall;
        bool by_names;
    } cases[] = {
        { "c10::BFloat16[8,4096] c10::BFloat16[4096,14336]", gemm, WS_WALL_BANDWIDTH, false },
        { "c10::BFloat16[4096,4096] c10::BFloat16[4096,4096]", gemm, WS_WALL_COMPUTE, false },
        { "c10::BFloat16[200,4096] c10::BFloat16[4096,14336]", gemm, WS_WALL_COMPUTE, true },
        { "", add, WS_WALL_BANDWIDTH, false },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct built built;
        struct builder *trace = built_begin_on(&built, "Some GPU", 1);
        build_thread(trace, 1, 100, "python");
        for (int64_t at = 0; at < 10; at++)
            build_operator(trace, "aten::mm", cases[i].inputs, cases[i].kernel, ms + at * 200 * us, 200 * us);
        built_report(&built);
        assert_wall(&built, cases[i].wall);
        assert_int_equal(wall_of(&built)->by_names, cases[i].by_names);
        built_finish(&built);
    }
}

/* Kernels of a graph have no operator, but the name of the server's range may say on how many tokens they work. Few
 * tokens (32) show that memory limits a product. Many tokens show neither the product's sizes nor what limits it. */
static void tokens_of_a_server_step_are_evidence(void **state)
{
    static const char *const ranges[] = { "execute_context_0(0)_generation_32(32)",
                                          "execute_context_9(8155)_generation_37(37)", "forward" };
    (void)state;
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        struct built built;
        struct builder *trace = built_begin_on(&built, H100, 1);
        build_thread(trace, 1, 100, "python");
        build_range(trace, WS_RANGE_ANNOTATION, 1, ranges[i], 0, 5 * ms);
        for (int64_t at = 0; at < 10; at++)
            build_kernel(trace, 1, gemm, ms + at * 200 * us, ms + (at + 1) * 200 * us);
        built_report(&built);
        const struct ws_track_wall *wall = wall_of(&built);
        assert_wall(&built, i ? WS_WALL_COMPUTE : WS_WALL_BANDWIDTH);
        assert_int_equal(wall->by_names, i > 0);
        assert_int_equal(wall->kernels[WS_WALL_BANDWIDTH][WS_WORK_TOKENS], i ? 0 : 2 * ms);
        assert_int_equal(ws_wall_suggested(wall, WS_WALL_COMPUTE), i ? 2 * ms : 0);
        assert_text(&built, "verdict", "not known 100.0 %, where names suggest compute 100.0 %", i > 0);
        assert_text(&built, "verdict", "by the names of kernels only", i > 0);
        assert_text(&built, "roofline", i ? "unknown" : "memory-bound", true);
        /* The advice is to decode for more requests at once only if memory limits the products. */
        assert_text(&built, "verdict", "serve larger batches", i == 0);
        built_finish(&built);
    }
}

/* If the sizes of some launches of a kernel are known, its other launches may have other sizes. So what limits the
 * other launches (memory or compute) is only likely. */
static void sizes_of_some_launches_stand_for_these(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, H100, 1);
    (void)state;
    build_thread(trace, 1, 100, "python");
    build_operator(trace, "aten::mm", large, gemm, ms, 200 * us);
    for (int64_t at = 1; at < 10; at++)
        build_kernel(trace, 1, gemm, ms + at * 200 * us, ms + (at + 1) * 200 * us);
    built_report(&built);
    assert_wall(&built, WS_WALL_COMPUTE);
    assert_true(wall_of(&built)->by_names);
    assert_int_equal(ws_wall_known(wall_of(&built), WS_WALL_COMPUTE), 200 * us);
    assert_text(&built, "verdict", "compute 10.0 %", true);
    assert_text(&built, "roofline", "compute-bound", true);
    assert_text(&built, "roofline", "90.0 %", true);
    built_finish(&built);
}

/* If nothing else is known, a kernel's name suggests its arithmetic intensity: by its tile, or by the kind of
 * attention or convolution. */
static void names_suggest_a_wall(void **state)
{
    static const char *const kernels[] = { "nvjet_tst_64x8_64x16_4x1_v_bz_TNT",
                                           "paged_attention_v2_kernel<half>()",
                                           "conv_depthwise2d_forward_kernel<3, half>()",
                                           gemm,
                                           "flash_fwd_kernel<half>()",
                                           "implicit_convolve_sgemm<float>()" };
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct built built;
        struct builder *trace = built_begin_on(&built, H100, 1);
        build_kernel(trace, 1, kernels[i], 0, ms);
        built_report(&built);
        assert_wall(&built, i < 3 ? WS_WALL_BANDWIDTH : WS_WALL_COMPUTE);
        assert_true(wall_of(&built)->by_names);
        built_finish(&built);
    }
}

/* A graph that was timed only as a whole may contain any work. If such a graph is long, the only wall (main limit)
 * that can be known is overhead. It is known only if the GPU's delays are long enough for a warning. */
static void graphs_leave_delays_their_verdict(void **state)
{
    static const struct {
        int64_t graph, idle;
        enum ws_wall wall;
    } cases[] = { { 4, 4, WS_WALL_OVERHEAD },
                  { 7, 2, WS_WALL_OVERHEAD },
                  { 8, 1, WS_WALL_NONE },
                  { 7, 0, WS_WALL_NONE },
                  { 3, 1, WS_WALL_COMPUTE } };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct built built;
        struct builder *trace = built_begin_on(&built, H100, 1);
        struct ws_shape shape = { .kind = WS_OP_GRAPH, .stream = 1 };
        int64_t end = cases[i].graph * ms;
        struct ws_op graph = build_op_of(trace, build_shape(trace, &shape), 0, end);
        build_row(trace, WS_FAMILY_op, &graph);
        build_kernel(trace, 1, gemm, end + cases[i].idle * ms, 10 * ms);
        built.steps = WS_STEPS_NOT_ASKED;
        built_report(&built);
        assert_wall(&built, cases[i].wall);
        built_finish(&built);
    }
}

/* The times of a step's parts add up to the step's length. In each part, the times by wall (limit) add up to the
 * part. */
static void times_add_up(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, H100, 2);
    int64_t parts = 0, walls = 0;
    (void)state;
    run_division(trace, &(struct division){ 31, 27, 11, 31, WS_WALL_OVERHEAD });
    built.steps = WS_STEPS_NOT_ASKED;
    built_report(&built);
    const struct ws_track_wall *wall = wall_of(&built);
    for (int part = 0; part < WS_PART_COUNT; part++) {
        int64_t in_walls = 0;
        for (int of = 0; of < WS_WALL_COUNT; of++)
            in_walls += wall->in_wall[part][of];
        assert_int_equal(in_walls, wall->parts[part]);
        parts += wall->parts[part];
    }
    for (int of = 0; of < WS_WALL_COUNT; of++)
        walls += wall->by_wall[of];
    assert_int_equal(parts, wall->length);
    assert_int_equal(walls, wall->length);
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_is_the_wall),
        cmocka_unit_test(copies_within_the_device_are_bandwidth),
        cmocka_unit_test(few_rows_are_bandwidth),
        cmocka_unit_test(some_work_has_a_class_on_every_gpu),
        cmocka_unit_test(tokens_of_a_server_step_are_evidence),
        cmocka_unit_test(sizes_of_some_launches_stand_for_these),
        cmocka_unit_test(names_suggest_a_wall),
        cmocka_unit_test(graphs_leave_delays_their_verdict),
        cmocka_unit_test(times_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
