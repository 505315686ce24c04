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
        /* four tokens for each of 8 requests: speculative decoding */
        { "execute_context_0(0)_generation_8(32)", 32, false },
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

static void ranges_of_servers_tell_their_phase(void **state)
{
    static const struct {
        const char *name;
        enum ws_phase phase;
        double requests, tokens;
    } cases[] = {
        { "execute_context_0(0)_generation_30(30)", WS_PHASE_DECODE, 30, 30 },
        { "execute_context_2(512)_generation_0(0)", WS_PHASE_PREFILL, 2, 512 },
        { "execute_context_2(512)_generation_30(30)", WS_PHASE_MIXED, 32, 542 },
        { "execute_context_0(0)_generation_0(0)", WS_PHASE_NOT_KNOWN, 0, 0 },
        { "execute_8192_context_9(sq8155sk8430)_generation_37(sq37sk34489)", WS_PHASE_MIXED, 46, 8192 },
        { "execute_context_1(888_788544)_generation_0(0)", WS_PHASE_PREFILL, 1, 888 },
        { "execute_new_3_cached_0", WS_PHASE_PREFILL, 3, 0 },
        { "execute_new_3_cached_5", WS_PHASE_NOT_KNOWN, 8, 0 },
        { "execute_new_0_cached_5", WS_PHASE_NOT_KNOWN, 5, 0 }, /* either decode, or a later piece of a long prompt */
        { "step[DECODE bs=32]", WS_PHASE_DECODE, 32, 32 },
        { "step[DECODE bs=2 g_sqsq=2 g_sqsk=30 g_sk=30]", WS_PHASE_DECODE, 2, 2 },
        { "step[EXTEND bs=2 toks=4096]", WS_PHASE_PREFILL, 2, 4096 },
        { "step[EXTEND bs=4]", WS_PHASE_PREFILL, 4, 0 },
        { "step[MIXED bs=2]", WS_PHASE_MIXED, 2, 0 },
        { "step[MIXED bs=2 c=1 g=1 c_sq=5 c_sk=8 c_sqsq=25 c_sqsk=40 g_sq=1 g_sk=12 g_sqsq=1 g_sqsk=12]",
          WS_PHASE_MIXED, 2, 6 },
        { "step[MIXED bs=1 c=1 g=0 c_sq=3 c_sk=3 c_sqsq=9 c_sqsk=9 g_sq=0 g_sk=0 g_sqsq=0 g_sqsk=0]",
          WS_PHASE_PREFILL, 1, 3 },
        { "step[IDLE bs=0]", WS_PHASE_NOT_KNOWN, 0, 0 },
        { "step[SPLIT_PREFILL bs=1]", WS_PHASE_NOT_KNOWN, 1, 0 },
        { "[Executor] _forward_step 7: 2 ctx reqs, 512 ctx tokens, 0 gen reqs", WS_PHASE_PREFILL, 2, 512 },
        { "[Executor] _forward_step 7: 0 ctx reqs, 0 ctx tokens, 32 gen reqs", WS_PHASE_DECODE, 32, 0 },
        { "[Executor] _forward_step 7: 2 ctx reqs, 30 gen reqs", WS_PHASE_MIXED, 32, 0 },
        { "[Executor] _forward_step: 1 ctx reqs, 0 gen reqs", WS_PHASE_PREFILL, 1, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ws_server_step step = ws_server_step_read(cases[i].name, strlen(cases[i].name));
        if (!step.iteration || step.drafts || step.phase != cases[i].phase || step.requests != cases[i].requests ||
            step.tokens != cases[i].tokens)
            fail_msg("%s: phase %d, %g requests, %g tokens", cases[i].name, (int)step.phase, step.requests,
                     step.tokens);
    }
}

static void other_ranges_are_no_iterations(void **state)
{
    static const char *const names[] = { "execute_context_",
                                         "step[DECODE",
                                         "step[3/10]",
                                         "[Executor] _forward_step",
                                         "[Executor] _forward_step: done",
                                         "gpu_model_runner: forward",
                                         "forward" };
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_false(ws_server_step_read(names[i], strlen(names[i])).iteration);
    assert_true(ws_server_step_read("step[TARGET_VERIFY bs=4]", 24).drafts);
    assert_true(ws_server_step_read("step[DRAFT_EXTEND_V2 bs=4]", 26).drafts);
}

static double limit(double tokens, bool decodes, enum ws_kernel_class class, const char *kernel)
{
    struct ws_server_step step = { .tokens = tokens, .decodes = decodes };
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
        { "ampere_sgemm_32x128_tn", 32, 0, false }, /* runs on ordinary cores, where small tiles are usual */
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
        cmocka_unit_test(ranges_of_servers_tell_their_tokens), cmocka_unit_test(ranges_of_servers_tell_their_phase),
        cmocka_unit_test(other_ranges_are_no_iterations),      cmocka_unit_test(tokens_limit_the_intensity),
        cmocka_unit_test(names_tell_tiles_and_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
