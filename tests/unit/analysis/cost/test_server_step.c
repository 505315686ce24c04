#include "check.h"

#include <string.h>

#include "analysis/cost/server_step.h"

static void ranges_of_servers_tell_their_tokens(void **state)
{
    static const struct {
        const char *name;
        double tokens;
        bool decodes;
    } cases[] = {
        { "execute_context_0(0)_generation_30(30)", 30, true },
        { "execute_context_2(512)_generation_30(30)", 542, false },
        { "execute_context_0(0)_generation_8(32)", 32, false }, /* four tokens a request: speculative decoding */
        { "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)", 32, true },
        { "execute_8192_context_9(sq8155sk8430)_generation_37(sq37sk34489)", 8192, false },
        { "step[DECODE bs=32]", 32, true },
        { "step[EXTEND bs=4]", 0, false },
        { "execute_new_3_cached_5", 0, false },
        { "execute_context_", 0, false },
        { "step[DECODE", 0, false },
        { "forward", 0, false },
        { "", 0, false },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ws_server_step step = ws_server_step_read(cases[i].name, strlen(cases[i].name));
        if (step.tokens != cases[i].tokens || step.decodes != cases[i].decodes)
            fail_msg("%s: %g tokens, decodes %d", cases[i].name, step.tokens, step.decodes);
    }
}

static double limit(double tokens, bool decodes, enum ws_kernel_class class, const char *kernel)
{
    struct ws_server_step step = { tokens, decodes };
    struct ws_matmul_name matmul = ws_matmul_name(kernel);
    return ws_server_step_intensity(&step, class, &matmul, kernel);
}

static void tokens_limit_the_intensity(void **state)
{
    (void)state;
    assert_true(limit(32, true, WS_CLASS_GEMM, "ampere_bf16_s16816gemm_bf16_64x64_tn") == 32);
    assert_true(limit(32, true, WS_CLASS_GEMM, "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1") == 128);
    assert_true(limit(32, true, WS_CLASS_GEMM, "my_gemm") == 128);
    assert_true(limit(8, true, WS_CLASS_ATTENTION, "paged_attention_v2_kernel") == 32);
    assert_true(limit(8, true, WS_CLASS_ATTENTION, "flash_mla_splitkv") == 0);
    assert_true(limit(512, false, WS_CLASS_ATTENTION, "paged_attention_v2_kernel") == 0);
    assert_true(limit(0, false, WS_CLASS_GEMM, "my_gemm") == 0);
}

static void names_tell_tiles_and_types(void **state)
{
    static const struct {
        const char *kernel;
        uint32_t tile;
        float element;
        bool few;
    } cases[] = {
        { "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x32x256_MI16x16x1_SN", 32, 2, true },
        { "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN", 192, 2, false },
        { "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu", 16, 0.5F, true },
        { "_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1_swiglu", 128, 0.5F, false },
        { "nvjet_tst_64x8_64x16_4x1_v_bz_TNT", 8, 0, true },
        { "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", 128, 0, false },
        { "cutlass3x_sm90_tensorop_s64x128x16gemm_bf16_bf16_f32_bf16_bf16_128x128x64_2x1x1_0_tnn_align8", 128, 2,
          false },
        { "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1", 64, 2, false },
        { "ampere_sgemm_32x128_tn", 32, 0, false }, /* on ordinary cores small tiles are usual */
        { "void gemv2T_kernel_val<int, int, float>()", 0, 0, true },
        { "my_gemm", 0, 0, false },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ws_matmul_name name = ws_matmul_name(cases[i].kernel);
        if (name.tile != cases[i].tile || name.element != cases[i].element ||
            ws_matmul_has_few_rows(&name) != cases[i].few)
            fail_msg("%s: tile %u, %g bytes", cases[i].kernel, name.tile, (double)name.element);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_of_servers_tell_their_tokens),
        cmocka_unit_test(tokens_limit_the_intensity),
        cmocka_unit_test(names_tell_tiles_and_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
