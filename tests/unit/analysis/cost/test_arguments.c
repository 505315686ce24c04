#include "check.h"

#include "analysis/cost/arguments.h"
#include "analysis/roofline/roofline.h"
#include "built.h"

#define VECTORIZED(functor, arrays)                                                                        \
    "void at::native::vectorized_elementwise_kernel<4, at::native::" functor ", std::array<char*, " arrays \
    "ul> >(int, at::native::" functor ", std::array<char*, " arrays "ul>)"
#define MANGLED(functor, arrays) \
    "_ZN2at6native29vectorized_elementwise_kernelILi4E" functor "St5arrayIPcLm" arrays "EEEEviT0_T1_"
#define BF16 "N3c108BFloat16E"

static void names_say_what_the_arrays_hold(void **state)
{
    static const struct {
        const char *name;
        uint32_t arrays;
        uint8_t bytes[4];
        double flops;
    } forms[] = {
        { VECTORIZED("CUDAFunctor_add<float>", "3"), 3, { 4, 4, 4 }, 1 },
        { VECTORIZED("CUDAFunctorOnSelf_add<c10::Half>", "2"), 2, { 2, 2 }, 1 },
        { VECTORIZED("AbsFunctor<double>", "2"), 2, { 8, 8 }, 1 },
        { VECTORIZED("FillFunctor<c10::BFloat16>", "1"), 1, { 2 }, 0 },
        { VECTORIZED("BinaryFunctor<float, float, bool, at::native::(anonymous namespace)::CompareEqFunctor<float> >",
                     "3"),
          3,
          { 1, 4, 4 },
          0 },
        { VECTORIZED("AUnaryFunctor<c10::Half, c10::Half, bool, at::native::(anonymous "
                     "namespace)::CompareEqFunctor<c10::Half> >",
                     "2"),
          2,
          { 1, 2 },
          0 },
        { VECTORIZED("BUnaryFunctor<long, long, long, at::native::binary_internal::MulFunctor<long> >", "2"),
          2,
          { 8, 8 },
          0 },
        { VECTORIZED("tanh_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#4}::"
                     "operator()() const::{lambda(c10::BFloat16)#1}",
                     "2"),
          2,
          { 2, 2 },
          1 },
        { VECTORIZED(
              "(anonymous namespace)::where_kernel_impl(at::TensorIterator&)::{lambda()#1}::operator()() const::"
              "{lambda()#14}::operator()() const::{lambda(bool, float, float)#1}",
              "4"),
          4,
          { 4, 1, 4, 4 },
          0 },
        { VECTORIZED("bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}", "2"), 2, { 2, 4 }, 0 },
        { VECTORIZED("float16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}", "2"), 2, { 2, 4 }, 0 },
        { VECTORIZED("bfloat16tofloat32_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(c10::BFloat16)#1}", "2"),
          2,
          { 4, 2 },
          0 },
        { VECTORIZED("silu_backward_kernel(at::TensorIteratorBase&)::{lambda(float, float)#1}", "3"),
          3,
          { 4, 4, 4 },
          1 },
        { VECTORIZED(
              "compare_scalar_kernel<double>(at::TensorIteratorBase&, at::native::(anonymous namespace)::OpType, "
              "double)::{lambda(double)#1}",
              "2"),
          2,
          { 1, 8 },
          0 },
        { MANGLED("NS0_15CUDAFunctor_addI" BF16 "EE", "3"), 3, { 2, 2, 2 }, 1 },
        { MANGLED("NS0_13BinaryFunctorIffbNS0_51_GLOBAL__N__28ce311f_18_CompareEQKernel_cu_"
                  "d8008c9616CompareEqFunctorIfEEEE",
                  "3"),
          3,
          { 1, 4, 4 },
          0 },
        { MANGLED("NS0_13BUnaryFunctorI" BF16 "S4_S4_NS0_15binary_internal10MulFunctorIfEEEE", "2"), 2, { 2, 2 }, 1 },
        { MANGLED("ZZZNS0_49_GLOBAL__N__d2ba64fb_16_TensorCompare_cu_71e06f4e17where_kernel_implERNS_"
                  "14TensorIteratorEENKUlvE_"
                  "clEvENKUlvE6_clEvEUlbllE_",
                  "4"),
          4,
          { 8, 1, 8, 8 },
          0 },
        { MANGLED("ZZZNS0_26GeluBackwardCUDAKernelImplERNS_18TensorIteratorBaseENS0_8GeluTypeEENKUlvE0_clEvENKUlvE2_"
                  "clEvEUl" BF16 "S6_E_",
                  "3"),
          3,
          { 2, 2, 2 },
          1 },
        { "void at::native::vectorized_elementwise_kernel<(int)4, at::native::AUnaryFunctor<float, float, float, "
          "at::native::binary_internal::MulFunctor<float>>, std::array<char *, (unsigned long)2>>(int, T2, T3)",
          2,
          { 4, 4 },
          1 },
        { "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::Half, float, float, "
          "at::native::(anonymous "
          "namespace)::SoftMaxForwardEpilogue>(float*, c10::Half const*, int)",
          2,
          { 2, 4 },
          4 },
        { "void (anonymous namespace)::softmax_warp_forward<c10::Half, c10::Half, float, 8, false, "
          "false>(c10::Half*, "
          "c10::Half const*, int, int, int, bool const*, int, bool)",
          2,
          { 2, 2 },
          4 },
        { "_ZN2at6native53_GLOBAL__N__21739cd4_20_layer_norm_kernel_cu_9c5ada8a28vectorized_layer_norm_"
          "kernelIffLb0EEEviT0_"
          "PKT_S6_S6_PS3_S7_PS4_",
          6,
          { 4, 4 },
          8 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct ws_arguments_form form = ws_arguments_form_of(forms[i].name);
        if (form.arrays != forms[i].arrays || memcmp(form.bytes, forms[i].bytes, 4) != 0 ||
            form.flops != forms[i].flops)
            fail_msg("%u arrays of %u, %u, %u, %u; %g FLOPs: %s", form.arrays, form.bytes[0], form.bytes[1],
                     form.bytes[2], form.bytes[3], form.flops, forms[i].name);
    }
}

static void where_a_name_does_not_say_it_is_not_guessed(void **state)
{
    static const char *const names[] = {
        "",
        "_",
        "elementwise_kernel",
        "_ZN2at6native29vectorized_elementwise_kernelI",
        "triton_poi_fused_add_gelu_0",
        VECTORIZED("BinaryFunctor<float", "3"),
        VECTORIZED("BinaryFunctor<float, float, float, X>",
                   "2"), /* two arrays, but the function's types imply three */
        VECTORIZED("polar_kernel(at::TensorIterator&)::{lambda(c10::complex<float>, float)#1}", "3"),
        VECTORIZED("odd_kernel(at::TensorIterator&)::{lambda(float, long)#1}", "3"),
        "void at::native::vectorized_elementwise_kernel<4, fbgemm_gpu::_float_to_hfp8_gpu(at::Tensor const&, long, "
        "long, "
        "double)::{lambda(float)#1}, at::detail::Array<char*, 2> >(int, X)",
        "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<fbgemm::BinaryFunctor<float, "
        "float, float, X> >(X)::{lambda(int)#1}>(int, X)",
        "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::AbsFunctor<float",
        "void at::native::index_elementwise_kernel<128, 4, "
        "at::native::gpu_index_kernel<at::native::index_kernel_impl<"
        "at::native::OpaqueType<2> >(X)::{lambda(char*, char const*, long)#1}>(X)::{lambda(int)#1}>(long, X)",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float>",
        "void clover::par_reduce_kernel<field_summary(global_variables &, parallel_ &)::[lambda(int) (instance "
        "1)]>(T1)",
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
        "TensorListMetadata<2>, at::native::(anonymous namespace)::CopyFunctor<int, long, 2, 1, 1>, at::native::Copy<"
        "int, long> >(X)",
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
        "TensorListMetadata<1>, at::native::(anonymous namespace)::BinaryOpListAlphaFunctor<float, 2, 2, 0>, X>(X)",
        "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<c10::Half, float, int>, X>(X)",
        "void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctor_add<float>, at::detail::Array<char*, "
        "3>, "
        "OffsetCalculator<2, unsigned int>, char*, X>(int)",
        "void cunn_SoftMaxForward<8>(float*)",
        "void softmax_warp_forward<int4, X>()",
        "void (anonymous namespace)::scaled_masked_softmax_warp_forward<c10::Half, c10::Half, float, 11>(X)",
        "_ZN34scaled_masked_softmax_warp_forwardIffEv",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (ws_arguments_form_of(names[i]).arrays)
            fail_msg("believed: %s", names[i]);
}

static const char add[] = VECTORIZED("CUDAFunctor_add<float>", "3");

/* Adds a launch of the kernel `add`. `addresses` is in units of 4096 bytes; if it is NULL, the trace lacks the
 * launch's parameters. */
static void launch(struct builder *trace, uint32_t grid, uint32_t elements, const uint64_t addresses[3],
                   int64_t begin, int64_t end)
{
    struct ws_param_word words[4] = { { .size = 4, .value = elements } };
    for (uint16_t i = 0; i < 3 && addresses; i++)
        words[i + 1] = (struct ws_param_word){
            .offset = (uint16_t)(8 + 8 * i), .size = 8, .address = 1, .value = addresses[i] * 4096
        };
    uint32_t params = addresses ? build_params(trace, words, 4) : 0;
    build_launch(
        trace,
        &(struct launch){ .kernel = add, .grid = grid, .block = 128, .params = params, .begin = begin, .end = end });
}

static struct ws_roofline_row only_row(struct built *built)
{
    built_report(built);
    const struct ws_track_roofline *roofline = ws_report_result(built->report, &ws_analysis_roofline, 0);
    assert_int_equal(roofline->rows.count, 1);
    return *(const struct ws_roofline_row *)roofline->rows.data;
}

static struct builder *begin(struct built *built)
{
    struct builder *trace = built_begin(built);
    build_device(trace, 1, "NVIDIA H100 80GB HBM3", 0, 0);
    build_stream(trace, 1, 1);
    return trace;
}

static const uint64_t apart[] = { 1, 2, 3 }, twice[] = { 1, 2, 2 };

static void launches_without_parameters_are_taken_to_be_like_those_with(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    launch(trace, 2000, 1000000, apart, 0, 100000);
    launch(trace, 2000, 1000000, apart, 100000, 200000);
    launch(trace, 2000, 1000000, NULL, 200000, 300000);
    /* the grid of this launch differs, so its work does not follow from the other launches */
    launch(trace, 7, 1000000, NULL, 300000, 400000);
    struct ws_roofline_row row = only_row(&built);
    assert_int_equal(row.source, WS_WORK_ARGUMENTS);
    assert_true(row.bytes == 3 * 12e6 && row.flops == 3e6);
    assert_int_equal(row.known, 300000);
    assert_int_equal(row.total, 400000);
    assert_int_equal(row.class, WS_ROOF_MEMORY);
    assert_non_null(row.note);
    built_finish(&built);
}

static void launches_that_differ_speak_for_themselves_alone(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    launch(trace, 2000, 1000000, apart, 0, 100000);
    launch(trace, 2000, 1000000, twice, 100000, 200000);
    launch(trace, 2000, 1000000, NULL, 200000, 300000);
    struct ws_roofline_row row = only_row(&built);
    assert_true(row.bytes == 12e6 + 8e6 && row.flops == 2e6);
    assert_int_equal(row.known, 200000);
    assert_null(row.note);
    built_finish(&built);
}

static void no_parameters_no_bytes(void **state)
{
    struct built built;
    struct builder *trace = begin(&built);
    (void)state;
    launch(trace, 2000, 0, apart, 0, 100000);
    launch(trace, 2000, 1000000, (const uint64_t[]){ 1, 0, 2 }, 100000, 200000);
    launch(trace, 2000, 1u << 31, apart, 200000, 300000);
    struct ws_roofline_row row = only_row(&built);
    assert_int_equal(row.source, WS_WORK_NAME);
    assert_true(row.bytes == 0 && row.flops == 0 && !row.known && !row.note);
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_say_what_the_arrays_hold),
        cmocka_unit_test(where_a_name_does_not_say_it_is_not_guessed),
        cmocka_unit_test(launches_without_parameters_are_taken_to_be_like_those_with),
        cmocka_unit_test(launches_that_differ_speak_for_themselves_alone),
        cmocka_unit_test(no_parameters_no_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
