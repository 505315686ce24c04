#include "check.h"

#include "analysis/roofline/gemms.h"
#include "built.h"

static const char sgemm[] = "ampere_sgemm_128x64_tn";
static const char tf32[] = "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_16x5_tn_align4>()";
static const char fp16_sgemm[] = "volta_fp16_sgemm_fp16_128x64_tn";
static const char align8[] = "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_128x128_32x5_tn_align8>()";
static const char align2[] = "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_128x128_32x5_tn_align2>()";
static const char add[] = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >()";

struct name_facts {
    const char *kernel;
    enum ws_matmul_cores cores;
    uint32_t load;
    const char *operands;
};

static void names_tell_cores_loads_and_operands(void **state)
{
    static const struct name_facts facts[] = {
        { sgemm, WS_MATMUL_CORES_ORDINARY, 0, "tn" },
        { tf32, WS_MATMUL_CORES_TENSOR, 4, "tn" },
        { fp16_sgemm, WS_MATMUL_CORES_ORDINARY, 0, "tn" },
        { "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", WS_MATMUL_CORES_TENSOR, 8, "nn" },
        { "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nt", WS_MATMUL_CORES_TENSOR, 8, "nt" },
        { "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>()", WS_MATMUL_CORES_ORDINARY, 1, "nn" },
        { "sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4_cublas",
          WS_MATMUL_CORES_ORDINARY, 0, "nt" },
        { "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_tensor16x8x16_kernel",
          WS_MATMUL_CORES_TENSOR, 0, "tn" },
        { "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tt_n_tilesize128x128x64_warpgroupsize1x1x1_execute_kernel__5x_cublas",
          WS_MATMUL_CORES_TENSOR, 0, "tt" },
        { "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT320x224x64_MI16x16x1_SN", WS_MATMUL_CORES_TENSOR, 0, "tn" },
        { "Cijk_Ailk_Bjlk_SB_MT64x64x8_SE_K1", WS_MATMUL_CORES_UNKNOWN, 0, "nt" },
        { "nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT", WS_MATMUL_CORES_TENSOR, 0, "" },
        { "void gemv2T_kernel_val<int, int, float>()", WS_MATMUL_CORES_ORDINARY, 0, "" },
        { "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64> >()", WS_MATMUL_CORES_TENSOR, 0, "" },
        { "void splitKreduce_kernel<32, 16, int>()", WS_MATMUL_CORES_UNKNOWN, 0, "" },
        { "_nnx_tnt_align", WS_MATMUL_CORES_UNKNOWN, 0, "" },
        { "", WS_MATMUL_CORES_UNKNOWN, 0, "" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        struct ws_matmul_name name = ws_matmul_name(facts[i].kernel);
        if (name.cores != facts[i].cores || name.load != facts[i].load || name.a != facts[i].operands[0] ||
            (name.a && name.b != facts[i].operands[1]))
            fail_msg("%s: cores %d, load %u, %c%c", facts[i].kernel, (int)name.cores, name.load,
                     name.a ? name.a : '-', name.b ? name.b : '-');
    }
}

static struct builder *begin(struct built *built)
{
    struct builder *trace = built_begin(built);
    build_device(trace, 1, "NVIDIA A100-SXM4-80GB", 0, 0);
    build_stream(trace, 1, 1);
    build_thread(trace, 1, 100, "python");
    return trace;
}

static const struct ws_track_roofline *roofline_of(const struct built *built)
{
    return ws_report_result(built->report, &ws_analysis_roofline, 0);
}

static const struct ws_gemm_row *gemm(const struct built *built, size_t index)
{
    assert_true(index < roofline_of(built)->gemms.count);
    return (const struct ws_gemm_row *)roofline_of(built)->gemms.data + index;
}

static struct ws_gemm_finding finding(const struct built *built, size_t index)
{
    return ws_gemm_judge(roofline_of(built), gemm(built, index));
}

/* 2·4096³ FLOPs in 10 ms are 70 % of 19.5 TFLOP/s (fp32). At 70 % of 156 TFLOP/s (TF32) they would take 1.25 ms. */
static void fp32_without_tf32_is_found(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    build_operator(trace, "aten::mm", "float[4096,4096] float[4096,4096]", sgemm, 1000000, 10000000);
    built_report(&built);
    assert_int_equal(gemm(&built, 0)->ordinary, 10000000);
    assert_int_equal(finding(&built, 0).issue, WS_GEMM_NO_TF32);
    assert_int_equal(finding(&built, 0).judge, WS_JUDGED_BY_SHARE);
    assert_float_equal((double)finding(&built, 0).saving, 8750000, 10);
    built_finish(&built);
}

static void where_tf32_is_used_other_reasons_are_named(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    build_operator(trace, "aten::mm", "float[4096,4095] float[4095,4096]", sgemm, 1000000, 10000000);
    build_operator(trace, "aten::mm", "float[4096,2048] float[2048,4096]", sgemm, 20000000, 5000000);
    build_operator(trace, "aten::mm", "float[1024,1024] float[1024,1024]", tf32, 40000000, 20000);
    built_report(&built);
    assert_int_equal(finding(&built, 0).issue, WS_GEMM_MISSES);
    assert_true(finding(&built, 0).k == 4096 && finding(&built, 0).m == 4096);
    assert_int_equal(finding(&built, 1).issue, WS_GEMM_MISSES_FIT);
    assert_int_equal(finding(&built, 2).issue, WS_GEMM_FINE);
    built_finish(&built);
}

/* A half-precision GEMM with 50257 columns runs on ordinary cores. Of its three sizes, only that of the columns needs
 * padding. */
static void half_precision_on_ordinary_cores_is_padded(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    build_operator(trace, "aten::mm", "c10::Half[1001,768] c10::Half[768,50257]", fp16_sgemm, 1000000, 5000000);
    built_report(&built);
    struct ws_gemm_finding found = finding(&built, 0);
    assert_int_equal(found.issue, WS_GEMM_MISSES);
    assert_true(found.multiple == 8 && found.m == 1001 && found.n == 50264 && found.k == 768);
    assert_true(found.rate <= ws_gpu_peak(&roofline_of(&built)->gpu, WS_PRECISION_FP16));
    assert_true(found.saving > 0 && found.saving < gemm(&built, 0)->steady);
    built_finish(&built);
}

static void slow_sizes_are_held_against_products_alike(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    build_operator(trace, "aten::mm", "c10::Half[4096,4096] c10::Half[4096,4096]", align8, 1000000, 600000);
    build_operator(trace, "aten::mm", "c10::Half[4096,4096] c10::Half[4096,4094]", align2, 2000000, 1200000);
    build_operator(trace, "aten::mm", "c10::Half[512,512] c10::Half[512,510]", align2, 4000000, 100000);
    build_operator(trace, "aten::mm", "c10::Half[4094,4096] c10::Half[4096,4096]", align8, 5000000, 1100000);
    built_report(&built);
    /* the findings are sorted by time: 1.2, 1.1, 0.6, 0.1 ms */
    assert_int_equal(finding(&built, 0).issue, WS_GEMM_SLOW);
    assert_int_equal(finding(&built, 0).judge, WS_JUDGED_BY_ALIKE);
    assert_true(finding(&built, 0).n == 4096);
    assert_float_equal((double)finding(&built, 0).saving, 600000, 1000);
    assert_int_equal(finding(&built, 1).issue,
                     WS_GEMM_FINE); /* its rows are aligned, and 4094 rows need no padding */
    assert_int_equal(finding(&built, 2).issue, WS_GEMM_FINE);
    /* there is no similar GEMM to compare this one with */
    assert_int_equal(finding(&built, 3).issue, WS_GEMM_SLOW);
    assert_int_equal(finding(&built, 3).judge, WS_JUDGED_BY_ROOF);
    assert_true(finding(&built, 3).saving <= 100000);
    built_finish(&built);
}

/* The rate of a similar GEMM is its FLOPs divided by the longest time that its errors allow. */
static void the_rate_of_products_alike_is_one_that_is_sure(void **state)
{
    (void)state;
    struct ws_track_roofline result = { .gemms = WS_VECTOR(struct ws_gemm_row) };
    for (int i = 0; i < 2; i++) {
        struct ws_gemm_row *row = ws_vector_push(&result.gemms);
        *row = (struct ws_gemm_row){ .cost = { .m = 4096, .n = 4096, .k = 4096 },
                                     .matmul = ws_matmul_name(i ? align2 : align8),
                                     .precision = WS_PRECISION_FP16,
                                     .count = 1,
                                     .total = 500000,
                                     .unsure = 300000,
                                     .flops = 8e9 };
    }
    assert_int_equal(ws_gemms_compare(&result), 0);
    const struct ws_gemm_row *rows = result.gemms.data;
    assert_true(rows[0].alike == 10000 && rows[1].alike == 10000);
    ws_vector_finish(&result.gemms);
}

static void a_matrix_and_a_vector_are_left_alone(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    build_operator(trace, "aten::mm", "float[1,4095] float[4095,4096]", sgemm, 1000000, 1000000);
    built_report(&built);
    assert_int_equal(finding(&built, 0).issue, WS_GEMM_FINE);
    built_finish(&built);
}

/* A GEMM is split, and a second kernel adds up the parts. The second kernel does not tell on which cores the GEMM
 * ran. */
static void the_kernel_that_does_most_speaks_for_a_product(void **state)
{
    static const char inputs[] = "c10::Half[512,512] c10::Half[512,512]";
    static const char reduce[] = "void splitKreduce_kernel<32, 16, int>()";
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    build_operator(trace, "aten::mm", inputs, reduce, 1000000, 1000);
    build_kernel(trace, 1, align8, 1000001, 1010001); /* launched from within the same operator */
    build_kernel(trace, 1, reduce, 1000002, 1001002);
    built_report(&built);
    assert_int_equal(roofline_of(&built)->gemms.count, 1);
    assert_int_equal(gemm(&built, 0)->count, 3);
    assert_int_equal(gemm(&built, 0)->matmul.load, 8);
    assert_string_equal(ws_model_name(built.model, gemm(&built, 0)->name)->text, align8);
    built_finish(&built);
}

static void the_same_sizes_are_one_row_whatever_asked_for_them(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    build_operator(trace, "aten::mm", "c10::Half[512,512] c10::Half[512,256]", align2, 1000000, 1000);
    build_operator(trace, "aten::addmm", "c10::Half[256] c10::Half[512,512] c10::Half[512,256]", align8, 2000000,
                   9000);
    build_operator(trace, "aten::mm", "float[512,512] float[512,256]", sgemm, 3000000, 5000);
    built_report(&built);
    assert_int_equal(roofline_of(&built)->gemms.count, 2);
    assert_int_equal(gemm(&built, 0)->count, 2);
    assert_int_equal(gemm(&built, 0)->total, 10000);
    assert_true(gemm(&built, 0)->flops == 2 * 2.0 * 512 * 512 * 256);
    assert_int_equal(gemm(&built, 0)->matmul.load, 8);
    assert_int_equal(gemm(&built, 1)->precision, WS_PRECISION_FP32);
    built_finish(&built);
}

static void classes_add_up_and_steps_leave_out_what_is_outside(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    for (int64_t at = 1000000; at < 8000000; at += 1000000) {
        build_range(trace, WS_RANGE_STEP, 1, "step", at - 11000, at + 900000);
        build_operator(trace, "aten::mm", "c10::Half[4096,1024] c10::Half[1024,4096]", align8, at, 200001);
        build_operator(trace, "aten::add", "float[5000000] float[5000000]", add, at + 300000, 40000);
        build_kernel(trace, 1, "ncclDevKernel_AllReduce_Sum_f16_RING_LL", at + 400000, at + 500002);
        build_kernel(trace, 1, "someone_elses_kernel", at + 600000, at + 600007);
    }
    built_report(&built);
    const struct ws_track_roofline *roofline = roofline_of(&built);
    int64_t all = 0, step = 0;
    for (int i = 0; i < WS_ROOF_CLASS_COUNT; i++) {
        all += roofline->by_class[i];
        step += roofline->step_by_class[i];
    }
    assert_true(roofline->steps >= 3);
    assert_int_equal(all, 7 * (200001 + 40000 + 100002 + 7));
    assert_int_equal(roofline->total, all);
    assert_int_equal(roofline->step_total, 200001 + 40000 + 100002 + 7);
    assert_int_equal(step, roofline->step_total);
    assert_int_equal(roofline->step_by_class[WS_ROOF_COMMUNICATION], 100002);
    assert_int_equal(roofline->step_by_class[WS_ROOF_COMPUTE], 200001);
    assert_int_equal(roofline->matmul_by_cores[WS_MATMUL_CORES_TENSOR], 7 * 200001);
    double flops = 2.0 * 4096 * 4096 * 1024, pointwise = 5e6;
    assert_float_equal(roofline->matmul_of_peak, flops / 200001 / 312000, 1e-9);
    assert_float_equal(roofline->step_flops, flops + pointwise, 1);
    assert_float_equal(roofline->step_flops_from[WS_WORK_SHAPE], flops + pointwise, 1);
    assert_float_equal(roofline->mfu, (flops + pointwise) / 1e6 / 312000, 1e-9);
    built_finish(&built);
}

static void attention_says_what_was_counted(void **state)
{
    static const char plain[] =
        "c10::Half[2,8,512,64] c10::Half[2,8,512,64] c10::Half[2,8,512,64] float=0.0 bool=False",
                      causal[] =
                          "c10::Half[2,8,512,64] c10::Half[2,8,512,64] c10::Half[2,8,512,64] float=0.0 bool=True",
                      flash[] = "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64> >()";
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    build_operator(trace, "aten::_scaled_dot_product_flash_attention", plain, flash, 1000000, 90000);
    build_operator(trace, "aten::_scaled_dot_product_flash_attention", causal, flash, 2000000, 50000);
    built_report(&built);
    const struct ws_gemm_row *rows = roofline_of(&built)->attention.data;
    assert_int_equal(roofline_of(&built)->attention.count, 2);
    assert_true(rows[0].cost.queries == 512 && rows[0].cost.heads == 8 && rows[0].cost.head_size == 64);
    assert_int_equal(rows[0].cost.causal, WS_CAUSAL_NO);
    assert_int_equal(rows[1].cost.causal, WS_CAUSAL_HALVED);
    assert_true(rows[0].flops == 4.0 * 2 * 8 * 512 * 512 * 64 && rows[1].flops == rows[0].flops / 2);
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_tell_cores_loads_and_operands),
        cmocka_unit_test(fp32_without_tf32_is_found),
        cmocka_unit_test(where_tf32_is_used_other_reasons_are_named),
        cmocka_unit_test(half_precision_on_ordinary_cores_is_padded),
        cmocka_unit_test(slow_sizes_are_held_against_products_alike),
        cmocka_unit_test(the_rate_of_products_alike_is_one_that_is_sure),
        cmocka_unit_test(a_matrix_and_a_vector_are_left_alone),
        cmocka_unit_test(the_kernel_that_does_most_speaks_for_a_product),
        cmocka_unit_test(the_same_sizes_are_one_row_whatever_asked_for_them),
        cmocka_unit_test(classes_add_up_and_steps_leave_out_what_is_outside),
        cmocka_unit_test(attention_says_what_was_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
