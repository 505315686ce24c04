#include "check.h"

#include "symbols/demangle.h"
#include "analysis/kernels/label.h"
#include "analysis/roofline/chains.h"
#include "built.h"

#define ELEMENTWISE(functor, arrays)                                                                       \
    "void at::native::vectorized_elementwise_kernel<4, at::native::" functor ", std::array<char*, " arrays \
    "ul> >(int, at::native::" functor ", std::array<char*, " arrays "ul>)"

static const char gelu[] = ELEMENTWISE("GeluFunctor<float>", "2");
static const char add[] = ELEMENTWISE("CUDAFunctor_add<float>", "3");
static const char neg[] = ELEMENTWISE("NegFunctor<float>", "2");
static const char softmax[] = "void softmax_warp_forward<float, float, float, 8>(float*, float const*)";
static const char gemm[] = "ampere_sgemm_128x64_nn";

/* The arrays that a kernel of PyTorch's TensorIterator works on, the output first. An address of 0 ends the list. */
struct arrays {
    uint32_t elements;
    uint64_t address[4];
};

static void launch(struct builder *trace, const char *name, const struct arrays *arrays, int64_t begin, int64_t end)
{
    struct ws_param_word words[8];
    uint32_t count = 0, params = 0;
    if (arrays) {
        words[count++] = (struct ws_param_word){ .offset = 0, .size = 4, .value = arrays->elements };
        for (uint32_t i = 0; i < 4 && arrays->address[i]; i++)
            words[count++] = (struct ws_param_word){
                .offset = (uint16_t)(8 + 8 * i), .size = 8, .address = 1, .value = arrays->address[i]
            };
        params = build_params(trace, words, count);
    }
    build_launch(trace, &(struct launch){
                            .kernel = name, .grid = 4, .block = 128, .params = params, .begin = begin, .end = end });
}

static const struct ws_track_chains *chains_of(const struct built *built)
{
    return ws_report_result(built->report, &ws_analysis_chains, 0);
}

static const struct ws_chain *chain(const struct built *built, size_t index)
{
    assert_true(index < chains_of(built)->chains.count);
    return (const struct ws_chain *)chains_of(built)->chains.data + index;
}

static void kernels_between_products_are_folded_into_one_pattern(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "GPU", 2);
    (void)state;
    for (int64_t at = 0; at < 3000000; at += 1000000) {
        launch(trace, gemm, NULL, at, at + 100000);
        launch(trace, gelu, NULL, at + 100000, at + 120000);
        launch(trace, add, NULL, at + 121000, at + 151000);
        launch(trace, softmax, NULL, at + 153000, at + 163000);
        launch(trace, gemm, NULL, at + 200000, at + 300000);
        /* a single kernel is no chain (series of kernels that could be fused into one) */
        launch(trace, gelu, NULL, at + 300000, at + 320000);
    }
    built_report(&built);
    assert_int_equal(chains_of(&built)->chains.count, 1);
    assert_int_equal(chain(&built, 0)->length, 3);
    assert_int_equal(chain(&built, 0)->count, 3);
    assert_int_equal(chain(&built, 0)->total, 3 * 60000);
    assert_int_equal(chain(&built, 0)->longest, 3 * 30000);
    assert_int_equal(chain(&built, 0)->saving, 3 * 30000);
    assert_int_equal(chain(&built, 0)->gap, 3 * 3000);
    assert_int_equal(chain(&built, 0)->proof, WS_CHAIN_ADJACENT);
    /* 4 blocks of 128 threads, each thread with 4 elements of 4 bytes. An array of that size is written and read
     * between gelu and add, and again between add and softmax. */
    assert_int_equal(chain(&built, 0)->bytes_source, WS_BYTES_LAUNCH);
    assert_int_equal(chain(&built, 0)->bytes, 3 * 4 * 8192);
    built_finish(&built);
}

static void copies_pauses_and_other_streams_part_chains_and_memsets_do_not(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "GPU", 2);
    struct ws_shape memset = { .kind = WS_OP_MEMSET, .stream = 1, .to_space = WS_SPACE_DEVICE };
    (void)state;
    build_kernel(trace, 1, gelu, 0, 1000);
    build_copy(trace, 1, WS_SPACE_DEVICE, WS_SPACE_PINNED, 4, 1000, 1500);
    build_kernel(trace, 1, add, 2000, 3000);
    build_kernel(trace, 2, gelu, 3000, 4000);
    build_kernel(trace, 1, neg, 2000000, 2001000);
    struct ws_op op = build_op_of(trace, build_shape(trace, &memset), 2001000, 2002000);
    build_row(trace, WS_FAMILY_op, &op);
    build_kernel(trace, 1, softmax, 2002000, 2003000);
    built_report(&built);
    assert_int_equal(chains_of(&built)->chains.count, 1);
    assert_int_equal(chain(&built, 0)->length, 2);
    assert_int_equal(chain(&built, 0)->count, 1);
    assert_string_equal(ws_model_name(built.model, ws_chain_kernels(chains_of(&built), chain(&built, 0))->name)->text,
                        neg);
    built_finish(&built);
}

static void what_a_compiler_fused_is_no_part_of_a_chain(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "GPU", 2);
    (void)state;
    build_kernel(trace, 1, "triton_poi_fused_add_gelu_0", 0, 1000);
    build_kernel(trace, 1, "triton_red_fused_native_layer_norm_1", 1000, 2000);
    build_kernel(trace, 1, "loop_add_fusion", 2000, 3000);
    built_report(&built);
    assert_int_equal(chains_of(&built)->chains.count, 0);
    built_finish(&built);
}

static void buffers_confirm_a_chain(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "GPU", 2);
    (void)state;
    launch(trace, gelu, &(struct arrays){ 1000, { 0x1000, 0x9000 } }, 0, 1000);
    launch(trace, add, &(struct arrays){ 1000, { 0x2000, 0x7000, 0x1000 } }, 1000, 2000);
    launch(trace, neg, &(struct arrays){ 1000, { 0x2000, 0x2000 } }, 2000, 3000);
    built_report(&built);
    assert_int_equal(chains_of(&built)->chains.count, 1);
    assert_int_equal(chain(&built, 0)->examined, 1);
    assert_int_equal(chain(&built, 0)->proof, WS_CHAIN_WRITES_READS);
    assert_int_equal(chain(&built, 0)->bytes_source, WS_BYTES_ARGUMENTS);
    assert_int_equal(chain(&built, 0)->bytes, 2 * 2 * 4000);
    built_finish(&built);
}

static void what_is_read_in_part_moves_again_in_part(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "GPU", 2);
    (void)state;
    launch(trace, gelu, &(struct arrays){ 1000, { 0x1000, 0x9000 } }, 0, 1000);
    launch(trace, neg, &(struct arrays){ 100, { 0x2000, 0x1000 } }, 1000, 2000);
    built_report(&built);
    assert_int_equal(chain(&built, 0)->bytes_source, WS_BYTES_ARGUMENTS);
    assert_int_equal(chain(&built, 0)->bytes, 2 * 400);
    built_finish(&built);
}

/* Three kernels read and write eight arrays. One fused kernel would need four of them: the first kernel's input, the
 * second input of each other kernel, and the last kernel's output. */
static void what_one_kernel_would_take_follows_from_its_arrays(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "GPU", 2);
    (void)state;
    launch(trace, gelu, &(struct arrays){ 1000, { 0x1000, 0x9000 } }, 0, 2000);
    launch(trace, add, &(struct arrays){ 1000, { 0x1000, 0x1000, 0x7000 } }, 2000, 5000);
    launch(trace, add, &(struct arrays){ 1000, { 0x2000, 0x1000, 0x6000 } }, 5000, 8000);
    built_report(&built);
    assert_int_equal(chain(&built, 0)->longest, 3000);
    assert_int_equal(chain(&built, 0)->fused, 4000);
    assert_int_equal(chain(&built, 0)->saving, 4000);
    built_finish(&built);
}

/* For 1000 floats, gelu moves 8000 bytes in 2000 ns. If gelu were fused with add, half of its bytes and time would be
 * saved. The kernel add moves 12000 bytes in 3000 ns, of which a third would be saved. */
static void what_operators_were_given_tells_the_waste_and_its_time(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "GPU", 2);
    (void)state;
    build_thread(trace, 1, 1, "main");
    build_operator(trace, "aten::gelu", "float[1000]", gelu, 100000, 2000);
    build_operator(trace, "aten::add", "float[1000] float[1000]", add, 102500, 3000);
    built_report(&built);
    assert_int_equal(chain(&built, 0)->bytes_source, WS_BYTES_SHAPE);
    assert_int_equal(chain(&built, 0)->moved, 20000);
    assert_int_equal(chain(&built, 0)->bytes, 8000);
    assert_int_equal(chain(&built, 0)->saving, 1000 + 1000);
    assert_int_equal(chain(&built, 0)->gap, 500);
    built_finish(&built);
}

static void a_reduction_passes_on_little(void **state)
{
    static const char sum[] = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >()";
    struct built built;
    struct builder *trace = built_begin_on(&built, "GPU", 2);
    (void)state;
    build_thread(trace, 1, 1, "main");
    build_operator(trace, "aten::neg", "float[1000]", neg, 100000, 2000);
    build_operator(trace, "aten::sum", "float[1000]", sum, 102000, 2000);
    build_operator(trace, "aten::add", "float[1000] float[1000]", add, 104000, 3000);
    built_report(&built);
    assert_int_equal(chain(&built, 0)->bytes_source, WS_BYTES_SHAPE);
    assert_int_equal(chain(&built, 0)->moved, 8000 + 4000 + 12000);
    assert_int_equal(chain(&built, 0)->bytes, 8000);
    built_finish(&built);
}

static void take(struct builder *trace, const char *function, uint64_t address, uint64_t bytes)
{
    int64_t at = (int64_t)trace->launches + 1;
    build_call_row(
        trace, function, WS_CALL_MEMORY,
        &(struct ws_call){ .host_begin = at, .host_end = at + 1, .context = 1, .address = address, .bytes = bytes });
}

/* An H100 could move 67 MB in 20 µs. But if only 4 kB are allocated, no kernel can pass more than 4 kB on to the
 * next. */
static void no_more_is_moved_again_than_was_allocated(void **state)
{
    (void)state;
    enum { PLENTY = 1 << 30, LITTLE = 4096, TWICE = 2 };
    static const struct {
        uint64_t bytes, before; /* before: 1 if memory that was allocated before the recording is freed during it */
        enum ws_bytes_source source;
    } cases[] = { { PLENTY, 0, WS_BYTES_TIME },
                  { LITTLE, 0, WS_BYTES_ALLOCATED },
                  { LITTLE, 1, WS_BYTES_TIME },
                  { 0, 0, WS_BYTES_TIME } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct built built;
        struct builder *trace = built_begin_on(&built, "NVIDIA H100 80GB HBM3", 1);
        build_thread(trace, 1, 1, "main");
        if (cases[i].bytes)
            take(trace, "cuMemAlloc_v2", 0x1000, cases[i].bytes);
        if (cases[i].before)
            take(trace, "cuMemFree_v2", 0x9000, 0);
        launch(trace, "add_residual", NULL, 100000, 110000);
        launch(trace, "dropout", NULL, 110000, 120000);
        launch(trace, "gelu_grad", NULL, 120000, 130000);
        built_report(&built);
        assert_int_equal(chain(&built, 0)->bytes_source, cases[i].source);
        if (cases[i].source == WS_BYTES_ALLOCATED)
            assert_int_equal(chain(&built, 0)->bytes, 2 * TWICE * LITTLE);
        else
            assert_in_range(chain(&built, 0)->bytes, 60000000, 70000000);
        built_finish(&built);
    }
}

/* If two kernels read the same array, one need not pass data to the other. If it is not known which of a kernel's
 * parameters is its output, an array that two kernels share may have been only read. */
static void sharing_is_no_proof_of_writing_then_reading(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "GPU", 2);
    (void)state;
    launch(trace, gelu, &(struct arrays){ 1000, { 0x1000, 0x9000 } }, 0, 1000);
    launch(trace, neg, &(struct arrays){ 1000, { 0x2000, 0x9000 } }, 1000, 2000);
    launch(trace, gemm, NULL, 2000, 3000);
    launch(trace, add, &(struct arrays){ 1000, { 0x1000, 0x5000, 0x6000 } }, 3000, 4000);
    launch(trace, softmax, &(struct arrays){ 1000, { 0x8000, 0x1000 } }, 4000, 4500);
    built_report(&built);
    assert_int_equal(chains_of(&built)->chains.count, 2);
    assert_int_equal(chain(&built, 0)->proof, WS_CHAIN_SHARES);
    assert_int_equal(chain(&built, 1)->proof, WS_CHAIN_SHARES);
    built_finish(&built);
}

/* The address of the kernel's output was not recorded. So the first recorded address is an input. */
static void an_array_that_is_missing_leaves_the_order_unknown(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "GPU", 2);
    (void)state;
    launch(trace, add, &(struct arrays){ 1000, { 0x1000, 0x5000 } }, 0, 1000);
    launch(trace, neg, &(struct arrays){ 1000, { 0x2000, 0x1000 } }, 1000, 2000);
    built_report(&built);
    assert_int_equal(chain(&built, 0)->proof, WS_CHAIN_SHARES);
    built_finish(&built);
}

static void kernels_on_different_buffers_are_taken_apart(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "GPU", 2);
    (void)state;
    launch(trace, gelu, &(struct arrays){ 1000, { 0x1000, 0x9000 } }, 0, 1000);
    launch(trace, neg, &(struct arrays){ 1000, { 0x2000, 0x1000 } }, 1000, 2000);
    launch(trace, add, &(struct arrays){ 1000, { 0x3000, 0x4000, 0x5000 } }, 2000, 3000);
    launch(trace, softmax, &(struct arrays){ 1000, { 0x6000, 0x3000 } }, 3000, 3500);
    launch(trace, gelu, &(struct arrays){ 1000, { 0x7000, 0x8000 } }, 3500, 4500);
    built_report(&built);
    assert_int_equal(chains_of(&built)->chains.count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(chain(&built, i)->length, 2);
        assert_int_equal(chain(&built, i)->count, 1);
        assert_int_equal(chain(&built, i)->examined, 1);
    }
    assert_int_equal(chain(&built, 0)->saving, 1000);
    assert_int_equal(chain(&built, 1)->saving, 500);
    built_finish(&built);
}

/* The third kernel reads the first kernel's output, so all three belong to one chain (a series of kernels that could
 * be fused). */
static void data_may_go_past_a_neighbour(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "GPU", 2);
    (void)state;
    launch(trace, gelu, &(struct arrays){ 1000, { 0x1000, 0x9000 } }, 0, 1000);
    launch(trace, neg, &(struct arrays){ 1000, { 0x2000, 0x8000 } }, 1000, 2000);
    launch(trace, add, &(struct arrays){ 1000, { 0x3000, 0x1000, 0x2000 } }, 2000, 3000);
    built_report(&built);
    assert_int_equal(chains_of(&built)->chains.count, 1);
    assert_int_equal(chain(&built, 0)->length, 3);
    assert_int_equal(chain(&built, 0)->proof, WS_CHAIN_WRITES_READS);
    built_finish(&built);
}

static void the_end_of_a_step_ends_a_chain_and_savings_are_of_steady_steps(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "GPU", 2);
    (void)state;
    build_thread(trace, 1, 1, "main");
    for (int64_t step = 0; step < 8; step++) {
        /* add takes long in the first step, but the step lasts as long as all others, so it is no warm-up */
        int64_t at = 100000 + step * 100000, length = step ? 10000 : 60000;
        build_range(trace, WS_RANGE_STEP, 1, "ProfilerStep", at - 10500, at + 80000);
        launch(trace, gelu, NULL, at, at + 10000);
        launch(trace, add, NULL, at + 10000, at + 10000 + length);
        launch(trace, gemm, NULL, at + 70000, at + 80000);
        launch(trace, neg, NULL, at + 80000, at + 85000);
    }
    built_report(&built);
    assert_true(chains_of(&built)->steps > 2);
    assert_int_equal(chains_of(&built)->chains.count, 1);
    assert_int_equal(chain(&built, 0)->count, 8);
    assert_int_equal(chain(&built, 0)->steady, chains_of(&built)->steps);
    /* According to the grids, half of the bytes of gelu could be saved, and a third of those of add. In the seven
     * steady steps, add takes 120000 ns in all. The eighth step is not steady, because the trace does not show where
     * it ends. */
    assert_int_equal(chain(&built, 0)->steady_saving, (int64_t)chains_of(&built)->steps * 5000 + 120000 / 3);
    built_finish(&built);
}

static void long_runs_are_cut(void **state)
{
    struct built built;
    struct builder *trace = built_begin_on(&built, "GPU", 2);
    (void)state;
    for (int64_t i = 0; i < WS_CHAIN_MOST + 2; i++)
        launch(trace, gelu, &(struct arrays){ 1000, { 0x1000, 0x1000 } }, i * 1000, (i + 1) * 1000);
    built_report(&built);
    assert_int_equal(chains_of(&built)->chains.count, 2);
    assert_int_equal(chain(&built, 0)->length, WS_CHAIN_MOST);
    assert_int_equal(chain(&built, 0)->proof, WS_CHAIN_WRITES_READS);
    assert_int_equal(chain(&built, 1)->length, 2);
    built_finish(&built);
}

static void labels_say_what_is_done(void **state)
{
    static const struct {
        const char *name, *label;
    } examples[] = {
        { gelu, "gelu" },
        { add, "add" },
        { softmax, "softmax_warp_forward" },
        { "_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_18GeluCUDAKernelImplERNS_18TensorIteratorBaseEEUlfE_"
          "St5arrayIPcLm2EEEEviT0_T1_",
          "gelu" },
        { "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_15gpu_kernel_implINS0_13BinaryFunctorIfffNS0_15binary_"
          "internal10MulFunctorIfEEEEEEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_",
          "mul" },
        { "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int)",
          "vectorized_layer_norm" },
        { "_ZN2at6native12_GLOBAL__N_128vectorized_layer_norm_kernelIffEEviT0_PKT_", "vectorized_layer_norm" },
        { "_Z26FusedBiasAddCUDAKernelHalfI6__halfEEvT_", "FusedBiasAddCUDAKernelHalf" },
        { "std::enable_if<(((8)>(0)))&&true, void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(int)",
          "fused_add_rms_norm" },
        { "_Z9999x", "_Z9999x" },
        { "_Z", "_Z" },
        { "plain", "plain" },
        { "", "" },
    };
    char label[64];
    (void)state;
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        ws_kernel_label(label, sizeof(label), examples[i].name);
        assert_string_equal(label, examples[i].label);
    }
    ws_kernel_label(label, 4, "plain");
    assert_string_equal(label, "pla");
}

static void titles_tell_rows_apart(void **state)
{
    static const struct {
        const char *name, *title;
    } examples[] = {
        { gelu, "gelu (vectorized_elementwise)" },
        { "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float>, 4> >"
          "(at::native::ReduceOp<float>)",
          "mean (reduce)" },
        { "void (anonymous namespace)::softmax_warp_forward<float, float, 10, true>(float*, const float*, int)",
          "softmax_warp_forward<float, float, 10, true>" },
        { "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_align8>(cutlass_80_tensorop::Params)",
          "Kernel2<cutlass_80_tensorop_f16_s16816gemm_align8>" },
        { "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
          "ncclDevKernel_AllReduce_Sum_f16_RING_LL" },
        { "void f<cub::Policy<(a)->b> >(int)", "f<cub::Policy<(a)->b> >" },
        { "void f<never closed", "f<never closed" },
#ifdef WS_HAVE_LIBIBERTY
        { "_Z26FusedBiasAddCUDAKernelHalfI6__halfEvT_", "FusedBiasAddCUDAKernelHalf<__half>" },
        { "_ZN2at6native12_GLOBAL__N_128vectorized_layer_norm_kernelIffEEviT0_PKT_",
          "vectorized_layer_norm_kernel<float, float>" },
        { "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_",
          "fill (vectorized_elementwise)" },
#endif
        { "_Z26FusedBiasAddCUDAKernelHalfI6__halfEEvT_", "_Z26FusedBiasAddCUDAKernelHalfI6__halfEEvT_" },
        { "_Z9999x", "_Z9999x" },
        { "Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)" },
        { "volta_sgemm_64x64_nt", "volta_sgemm_64x64_nt" },
        { "", "" },
    };
    char title[128];
    (void)state;
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        ws_kernel_title(title, sizeof(title), examples[i].name);
        assert_string_equal(title, examples[i].title);
    }
}

/* Each template parameter contains the previous one twice. The demangled name would not fit into memory. */
static void names_that_grow_without_end_stay_mangled(void **state)
{
    char name[2048] = "_Z1f1AIiiES_IS0_S0_E", title[4096], plain[4096];
    (void)state;
    for (int i = 1; i < 36; i++) {
        char digit = (char)(i < 10 ? '0' + i : 'A' + i - 10);
        size_t length = strlen(name);
        snprintf(name + length, sizeof(name) - length, "S_IS%c_S%c_E", digit, digit);
    }
    assert_false(ws_demangle(plain, sizeof(plain), name));
    ws_kernel_title(title, sizeof(title), name);
    assert_string_equal(title, name);
    memset(name + 4, '1', sizeof(name) - 5);
    name[sizeof(name) - 1] = 0;
    ws_kernel_title(title, sizeof(title), name);
    assert_string_equal(title, name);
    assert_false(ws_demangle(plain, sizeof(plain), "plain"));
    assert_false(ws_demangle(plain, sizeof(plain), ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_between_products_are_folded_into_one_pattern),
        cmocka_unit_test(copies_pauses_and_other_streams_part_chains_and_memsets_do_not),
        cmocka_unit_test(what_a_compiler_fused_is_no_part_of_a_chain),
        cmocka_unit_test(buffers_confirm_a_chain),
        cmocka_unit_test(what_is_read_in_part_moves_again_in_part),
        cmocka_unit_test(what_one_kernel_would_take_follows_from_its_arrays),
        cmocka_unit_test(what_operators_were_given_tells_the_waste_and_its_time),
        cmocka_unit_test(a_reduction_passes_on_little),
        cmocka_unit_test(no_more_is_moved_again_than_was_allocated),
        cmocka_unit_test(sharing_is_no_proof_of_writing_then_reading),
        cmocka_unit_test(an_array_that_is_missing_leaves_the_order_unknown),
        cmocka_unit_test(kernels_on_different_buffers_are_taken_apart),
        cmocka_unit_test(data_may_go_past_a_neighbour),
        cmocka_unit_test(the_end_of_a_step_ends_a_chain_and_savings_are_of_steady_steps),
        cmocka_unit_test(long_runs_are_cut),
        cmocka_unit_test(labels_say_what_is_done),
        cmocka_unit_test(titles_tell_rows_apart),
        cmocka_unit_test(names_that_grow_without_end_stay_mangled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
