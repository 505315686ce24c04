#include "check.h"

#include "analysis/roofline/unfused.h"
#include "built.h"

static const int64_t us = 1000, ms = 1000000;

static const char bmm[] = "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_nn_align1>()";
static const char scale[] = "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float> >()";
static const char softmax[] = "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float>()";
static const char loss[] = "void at::native::nll_loss_forward_reduce_cuda_kernel_2d<float>()";
static const char copy[] = "void at::native::elementwise_kernel<128, 4, direct_copy_kernel_cuda(float)>()";

#define QUERIES "c10::BFloat16[96,3137,64]"
#define KEYS "c10::BFloat16[96,64,3137]"
#define SCORES "c10::BFloat16[96,3137,3137]"

static struct builder *begin(struct built *built)
{
    struct builder *trace = built_begin_on(built, "NVIDIA H100 80GB HBM3", 1);
    build_thread(trace, 1, 100, "python");
    built->steps = WS_STEPS_NOT_ASKED;
    return trace;
}

static const struct ws_track_unfused *unfused_of(const struct built *built)
{
    return built_result(built, &ws_analysis_unfused, 0);
}

static void assert_said(const struct built *built, const char *what, bool is_said)
{
    char *text = built_text(built, "verdict", false);
    if (!strstr(text, what) != !is_said)
        fail_msg("%s\"%s\" in:\n%s", is_said ? "no " : "", what, text);
    free(text);
}

/* Adds a layer of 10 ms: a product, a scale, a softmax, a copy of the values, and a second product with the inputs
 * `second`. */
static void run_layer(struct builder *trace, int64_t at, const char *second)
{
    build_operator(trace, "aten::bmm", QUERIES " " KEYS, bmm, at, 1900 * us);
    build_operator(trace, "aten::mul", SCORES, scale, at + 1900 * us, 1300 * us);
    build_operator(trace, "aten::_softmax", SCORES, softmax, at + 3200 * us, 5000 * us);
    build_operator(trace, "aten::copy_", QUERIES " " QUERIES, copy, at + 8200 * us, 100 * us);
    build_operator(trace, "aten::bmm", second, bmm, at + 8300 * us, 1700 * us);
}

/* Attention without a fused kernel moves its scores six times: the first product writes them, two kernels read and
 * write them, and the second product reads them. The copy of the values does not touch the scores. No other advice is
 * given about the same kernels. */
static void attention_is_known_by_its_sizes(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    const double scores = 96.0 * 3137 * 3137 * 2;
    (void)state;
    for (int64_t layer = 0; layer < 4; layer++)
        run_layer(trace, ms + layer * 10 * ms, SCORES " " QUERIES);
    built_report(&built);
    const struct ws_unfused *pattern = unfused_of(&built)->patterns.data;
    assert_int_equal(unfused_of(&built)->patterns.count, 1);
    assert_int_equal(pattern->count, 4);
    assert_int_equal(pattern->between, 4 * 6300 * us);
    assert_int_equal(pattern->products, 4 * 3600 * us);
    assert_true(pattern->bytes > 4 * 5.99 * scores && pattern->bytes < 4 * 6.01 * scores);
    assert_said(&built, "up to 25.2 ms of the recording: replace attention", true);
    assert_said(&built, "FlashAttention", true);
    assert_said(&built, "mostly 96 × 3137 × 3137 scores", true);
    assert_said(&built, "pad the GEMM", false);
    assert_said(&built, "fuse ", false);
    built_finish(&built);
}

/* The second product does not read the scores, so this is not attention. */
static void products_must_fit(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    for (int64_t layer = 0; layer < 4; layer++)
        run_layer(trace, ms + layer * 10 * ms, "c10::BFloat16[96,3137,512] c10::BFloat16[96,512,64]");
    built_report(&built);
    assert_int_equal(unfused_of(&built)->patterns.count, 0);
    assert_said(&built, "replace attention", false);
    assert_said(&built, "fuse ", true);
    built_finish(&built);
}

/* A classifier: products of the same sizes, with a softmax and a loss between the forward and the backward pass. */
static void a_classifier_is_no_attention(void **state)
{
    static const char rows[] = "c10::BFloat16[4096,4096] c10::BFloat16[4096,4096]";
    (void)state;
    for (int with_loss = 0; with_loss < 2; with_loss++) {
        struct built built;
        struct builder *trace = begin(&built);
        for (int64_t step = 0; step < 4; step++) {
            int64_t at = ms + step * 10 * ms;
            build_operator(trace, "aten::mm", rows, bmm, at, 4 * ms);
            build_operator(trace, "aten::_log_softmax", "c10::BFloat16[4096,4096]", softmax, at + 4 * ms, ms);
            if (with_loss)
                build_kernel(trace, 1, loss, at + 5 * ms, at + 6 * ms);
            build_operator(trace, "aten::mm", rows, bmm, at + 6 * ms, 4 * ms);
        }
        built_report(&built);
        assert_int_equal(unfused_of(&built)->patterns.count, 0);
        assert_said(&built, "replace attention", false);
        built_finish(&built);
    }
}

/* Without sizes the order of kernels suggests attention if it occurs in several layers. */
static void names_suggest_attention_of_several_layers(void **state)
{
    (void)state;
    for (int64_t layers = 1; layers <= 3; layers += 2) {
        struct built built;
        struct builder *trace = begin(&built);
        for (int64_t i = 0; i < layers; i++) {
            int64_t at = ms + i * 4 * ms;
            build_kernel(trace, 1, bmm, at, at + ms);
            build_kernel(trace, 1, softmax, at + ms, at + 2 * ms);
            build_kernel(trace, 1, copy, at + 2 * ms, at + 3 * ms);
            build_kernel(trace, 1, bmm, at + 3 * ms, at + 4 * ms);
        }
        built_report(&built);
        const struct ws_unfused *pattern = unfused_of(&built)->patterns.data;
        assert_int_equal(pattern->count, layers);
        assert_int_equal(pattern->between, layers * ms); /* how much data the copy moves is not known */
        assert_said(&built, "replace attention", layers > 1);
        assert_said(&built, "by names and order alone, not confirmed by sizes", layers > 1);
        built_finish(&built);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_is_known_by_its_sizes),
        cmocka_unit_test(products_must_fit),
        cmocka_unit_test(a_classifier_is_no_attention),
        cmocka_unit_test(names_suggest_attention_of_several_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
