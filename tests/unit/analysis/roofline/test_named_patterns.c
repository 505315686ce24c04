#include "check.h"

#include "analysis/roofline/chains.h"
#include "analysis/roofline/named_patterns.h"
#include "analysis/roofline/pattern_table.h"
#include "built.h"

static const int64_t us = 1000, ms = 1000000;

/* Names of PyTorch's kernels, in three forms: demangled, as nsys writes them, and mangled. With each name: which
 * piece of a pattern the kernel is. A pattern is a series of kernels that computes a norm, for example. */
static const struct {
    const char *name;
    uint32_t piece;
} names[] = {
    { "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous "
      "namespace)::pow_tensor_scalar_kernel_impl<float, float>(at::TensorIteratorBase&, float)::{lambda(float)#1}, "
      "std::array<char*, 2ul> >()",
      WS_PIECE_POW },
    { "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffffEEjfLi4ELi4EEEEEvT1_", WS_PIECE_MEAN },
    { "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_17rsqrt_kernel_cudaERNS_18TensorIteratorBaseEE",
      WS_PIECE_RSQRT },
    { "void at::native::vectorized_elementwise_kernel<4, at::native::sqrt_kernel_cuda(at::TensorIteratorBase&)>()",
      WS_PIECE_SQRT },
    { "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_add<float> >()",
      WS_PIECE_ADD },
    { "void at::native::vectorized_elementwise_kernel<4, at::native::BUnaryFunctor<float, float, float, "
      "at::native::binary_internal::MulFunctor<float> > >()",
      WS_PIECE_MUL },
    { "void at::native::<unnamed>::CatArrayBatchedCopy_vectorized<at::native::<unnamed>::OpaqueType<(unsigned "
      "int)4>>",
      WS_PIECE_CAT },
    { "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>()",
      WS_PIECE_CAST },
    { "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<direct_copy_kernel_cuda()> >()",
      WS_PIECE_OTHER },
    { "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >()", WS_PIECE_IGNORED },
    { "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
      "namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::BinaryOpScalarFunctor<float, 1, 1, 0> "
      ">()",
      WS_PIECE_PASS_SCALAR },
    { "void at::native::multi_tensor_apply_kernel<at::native::FusedAdamMathFunctor<float, 4> >()", WS_PIECE_OTHER },
    { "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0", WS_PIECE_OTHER },
    { "void vllm::rms_norm_kernel<c10::BFloat16>()", WS_PIECE_OTHER },
};

/* Indices into `names`. */
enum { CAST = 7, POW = 0, MEAN = 1, ADD = 4, RSQRT = 2, MUL = 5, OTHER = 13 };

static const int rms_norm[] = { CAST, POW, MEAN, ADD, RSQRT, MUL, CAST, MUL };

static void names_say_what_kernels_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct ws_op_name name = { .text = names[i].name, .kind = WS_OP_KERNEL };
        if (ws_piece_of(&name) != names[i].piece)
            fail_msg("%s is %#x", names[i].name, ws_piece_of(&name));
    }
}

/* A match of a pattern includes the pattern's optional pieces where the sequence has them, even at the end. */
static void patterns_take_all_that_belongs_to_them(void **state)
{
    static const uint32_t whole[] = { WS_PIECE_CAST,  WS_PIECE_POW, WS_PIECE_MEAN, WS_PIECE_ADD,
                                      WS_PIECE_RSQRT, WS_PIECE_MUL, WS_PIECE_CAST, WS_PIECE_MUL };
    uint32_t at = 0, length = 0;
    (void)state;
    assert_int_equal(ws_pattern_find(whole, 8, &at, &length)->kind, WS_NAMED_RMS_NORM);
    assert_int_equal(length, 8);
    at = 0;
    assert_int_equal(ws_pattern_find(whole + 1, 5, &at, &length)->kind, WS_NAMED_RMS_NORM);
    assert_int_equal(length, 5);
    at = 0;
    assert_null(ws_pattern_find(whole, 5, &at, &length));
}

static struct builder *begin_patterns(struct built *built)
{
    struct builder *trace = built_begin_on(built, "NVIDIA H100 80GB HBM3", 2);
    built->steps = WS_STEPS_NOT_ASKED;
    return trace;
}

static const struct ws_track_named *named_of(const struct built *built)
{
    return built_result(built, &ws_analysis_named, 0);
}

static int64_t run_norm(struct builder *trace, uint32_t stream, int64_t at, int64_t length)
{
    for (size_t i = 0; i < sizeof(rms_norm) / sizeof(rms_norm[0]); i++, at += length)
        build_kernel(trace, stream, names[rms_norm[i]].name, at, at + length);
    return at;
}

/* Kernels of two streams alternate in time. Each stream must have its own sequence of pieces (kernels that may be
 * parts of a pattern). */
static void streams_have_their_own_sequences(void **state)
{
    struct built built;
    struct builder *trace = begin_patterns(&built);
    (void)state;
    run_norm(trace, 1, ms, 100 * us);
    run_norm(trace, 2, ms + 50 * us, 100 * us);
    built_report(&built);
    const struct ws_named *named = &named_of(&built)->kinds[WS_NAMED_RMS_NORM];
    assert_int_equal(named->count, 2);
    assert_int_equal(named->pieces, 16);
    assert_int_equal(named->confirmed, 0);
    assert_int_equal(named->total, 2 * 800 * us);
    assert_int_equal(named->fused, 2 * 100 * us);
    assert_int_equal(ws_named_saving(named_of(&built), WS_NAMED_RMS_NORM), 2 * 700 * us);
    assert_true(named->counts && named->is_advised);
    built_finish(&built);
}

/* A kernel that does not fit the pattern ends the sequence. A pattern that occurs only once may be chance, so it does
 * not count. */
static void a_sequence_is_whole_and_comes_again(void **state)
{
    (void)state;
    for (int norms = 1; norms <= 2; norms++) {
        struct built built;
        struct builder *trace = begin_patterns(&built);
        int64_t at = run_norm(trace, 1, ms, 100 * us);
        build_kernel(trace, 1, names[POW].name, at, at + 100 * us);
        build_kernel(trace, 1, names[OTHER].name, at + 100 * us, at + 200 * us);
        for (int i = 1; i < norms; i++)
            run_norm(trace, 1, at + 200 * us, 100 * us);
        built_report(&built);
        const struct ws_named *named = &named_of(&built)->kinds[WS_NAMED_RMS_NORM];
        assert_int_equal(named->count, norms);
        assert_int_equal(named->counts, norms > 1);
        built_finish(&built);
    }
}

/* An endless sequence has more pieces than the analysis keeps for a stream. The analysis must not lose a norm (a
 * pattern of eight pieces), and must not count a norm twice. */
static void long_sequences_lose_nothing(void **state)
{
    (void)state;
    for (int before = 60; before < 76; before++) {
        struct built built;
        struct builder *trace = begin_patterns(&built);
        int64_t at = ms;
        for (int i = 0; i < before; i++, at += us)
            build_kernel(trace, 1, names[MUL].name, at, at + us);
        for (int i = 0; i < 20; i++)
            at = run_norm(trace, 1, at, 100 * us);
        built_report(&built);
        const struct ws_named *named = &named_of(&built)->kinds[WS_NAMED_RMS_NORM];
        assert_int_equal(named->count, 20);
        assert_int_equal(named->pieces, 160);
        assert_int_equal(named->total, 160 * 100 * us);
        built_finish(&built);
    }
}

/* The analysis counts how many patterns with advice of their own are in a chain (a series of kernels that could be
 * fused). About the chain itself there is no second advice. */
static void chains_know_the_members(void **state)
{
    struct built built;
    struct builder *trace = begin_patterns(&built);
    (void)state;
    for (int64_t i = 0; i < 4; i++)
        run_norm(trace, 1, ms + i * 10 * ms, 100 * us);
    built_report(&built);
    const struct ws_track_chains *chains = built_result(&built, &ws_analysis_chains, 0);
    const struct ws_chain *chain = chains->chains.data;
    assert_int_equal(chains->chains.count, 1);
    assert_int_equal(chain->named, 4);
    char *text = built_text(&built, "verdict", false);
    if (!strstr(text, "RMSNorm") || strstr(text, "fuse "))
        fail_msg("%s", text);
    free(text);
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_say_what_kernels_are),       cmocka_unit_test(patterns_take_all_that_belongs_to_them),
        cmocka_unit_test(streams_have_their_own_sequences), cmocka_unit_test(a_sequence_is_whole_and_comes_again),
        cmocka_unit_test(long_sequences_lose_nothing),      cmocka_unit_test(chains_know_the_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
