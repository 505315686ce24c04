#include "check.h"

#include "analysis/chains.h"
#include "analysis/demangle.h"
#include "analysis/label.h"
#include "load.h"

#define ELEMENTWISE(functor, arrays)                                                                       \
    "void at::native::vectorized_elementwise_kernel<4, at::native::" functor ", std::array<char*, " arrays \
    "ul> >(int, at::native::" functor ", std::array<char*, " arrays "ul>)"

static const char gelu[] = ELEMENTWISE("GeluFunctor<float>", "2");
static const char add[] = ELEMENTWISE("CUDAFunctor_add<float>", "3");
static const char neg[] = ELEMENTWISE("NegFunctor<float>", "2");
static const char softmax[] = "void softmax_warp_forward<float, float, float, 8>(float*, float const*)";
static const char gemm[] = "ampere_sgemm_128x64_nn";

/* The arrays of a kernel of TensorIterator's, the output first; 0: their number is over. */
struct arrays {
    uint32_t elements;
    uint64_t address[4];
};

static void launch(struct story *story, const char *name, const struct arrays *arrays, int64_t begin, int64_t end)
{
    static struct ws_param_word words[8];
    static uint32_t params;
    struct ws_shape shape = { .kind = WS_OP_KERNEL,
                              .stream = 1,
                              .function = story_function(story, name),
                              .grid_x = 4,
                              .grid_y = 1,
                              .grid_z = 1,
                              .block_x = 128,
                              .block_y = 1,
                              .block_z = 1 };
    struct ws_op op = story_op(story, story_shape(story, &shape), begin, end);
    if (arrays) {
        uint32_t count = 0;
        words[count++] = (struct ws_param_word){ .offset = 0, .size = 4, .value = arrays->elements };
        for (uint32_t i = 0; i < 4 && arrays->address[i]; i++)
            words[count++] = (struct ws_param_word){
                .offset = (uint16_t)(8 + 8 * i), .size = 8, .address = 1, .value = arrays->address[i]
            };
        struct ws_params row = { .id = ++params,
                                 .function = shape.function,
                                 .words = { (const char *)words, (uint32_t)(count * sizeof(words[0])) } };
        story_add(story, WS_FAMILY_params, &row);
        op.params = row.id;
    }
    story_add(story, WS_FAMILY_op, &op);
}

static const struct ws_track_chains *chains_of(const struct loaded *loaded)
{
    return ws_report_result(loaded->report, &ws_analysis_chains, 0);
}

static const struct ws_chain *chain(const struct loaded *loaded, size_t index)
{
    assert_true(index < chains_of(loaded)->chains.count);
    return (const struct ws_chain *)chains_of(loaded)->chains.data + index;
}

static void kernels_between_products_are_folded_into_one_pattern(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin_on(&loaded, "GPU", 2);
    (void)state;
    for (int64_t at = 0; at < 3000000; at += 1000000) {
        launch(story, gemm, NULL, at, at + 100000);
        launch(story, gelu, NULL, at + 100000, at + 120000);
        launch(story, add, NULL, at + 121000, at + 151000);
        launch(story, softmax, NULL, at + 153000, at + 163000);
        launch(story, gemm, NULL, at + 200000, at + 300000);
        launch(story, gelu, NULL, at + 300000, at + 320000); /* nothing in a row */
    }
    load_report(&loaded);
    assert_int_equal(chains_of(&loaded)->chains.count, 1);
    assert_int_equal(chain(&loaded, 0)->length, 3);
    assert_int_equal(chain(&loaded, 0)->count, 3);
    assert_int_equal(chain(&loaded, 0)->total, 3 * 60000);
    assert_int_equal(chain(&loaded, 0)->longest, 3 * 30000);
    assert_int_equal(chain(&loaded, 0)->saving, 3 * 30000);
    assert_int_equal(chain(&loaded, 0)->gap, 3 * 3000);
    assert_int_equal(chain(&loaded, 0)->proof, WS_CHAIN_ADJACENT);
    /* 4 blocks of 128 threads with 4 elements of 4 bytes: twice from gelu to add, twice from add to softmax */
    assert_int_equal(chain(&loaded, 0)->bytes_source, WS_BYTES_LAUNCH);
    assert_int_equal(chain(&loaded, 0)->bytes, 3 * 4 * 8192);
    load_finish(&loaded);
}

static void copies_pauses_and_other_streams_part_chains_and_memsets_do_not(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin_on(&loaded, "GPU", 2);
    struct ws_shape memset = { .kind = WS_OP_MEMSET, .stream = 1, .to_space = WS_SPACE_DEVICE };
    (void)state;
    story_kernel(story, 1, gelu, 0, 1000);
    story_copy(story, 1, WS_SPACE_DEVICE, WS_SPACE_PINNED, 4, 1000, 1500);
    story_kernel(story, 1, add, 2000, 3000);
    story_kernel(story, 2, gelu, 3000, 4000);
    story_kernel(story, 1, neg, 2000000, 2001000);
    struct ws_op op = story_op(story, story_shape(story, &memset), 2001000, 2002000);
    story_add(story, WS_FAMILY_op, &op);
    story_kernel(story, 1, softmax, 2002000, 2003000);
    load_report(&loaded);
    assert_int_equal(chains_of(&loaded)->chains.count, 1);
    assert_int_equal(chain(&loaded, 0)->length, 2);
    assert_int_equal(chain(&loaded, 0)->count, 1);
    assert_string_equal(
        ws_model_name(loaded.model, ws_chain_kernels(chains_of(&loaded), chain(&loaded, 0))->name)->text, neg);
    load_finish(&loaded);
}

static void what_a_compiler_fused_is_no_part_of_a_chain(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin_on(&loaded, "GPU", 2);
    (void)state;
    story_kernel(story, 1, "triton_poi_fused_add_gelu_0", 0, 1000);
    story_kernel(story, 1, "triton_red_fused_native_layer_norm_1", 1000, 2000);
    story_kernel(story, 1, "loop_add_fusion", 2000, 3000);
    load_report(&loaded);
    assert_int_equal(chains_of(&loaded)->chains.count, 0);
    load_finish(&loaded);
}

static void buffers_confirm_a_chain(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin_on(&loaded, "GPU", 2);
    (void)state;
    launch(story, gelu, &(struct arrays){ 1000, { 0x1000, 0x9000 } }, 0, 1000);
    launch(story, add, &(struct arrays){ 1000, { 0x2000, 0x7000, 0x1000 } }, 1000, 2000);
    launch(story, neg, &(struct arrays){ 1000, { 0x2000, 0x2000 } }, 2000, 3000);
    load_report(&loaded);
    assert_int_equal(chains_of(&loaded)->chains.count, 1);
    assert_int_equal(chain(&loaded, 0)->examined, 1);
    assert_int_equal(chain(&loaded, 0)->proof, WS_CHAIN_WRITES_READS);
    assert_int_equal(chain(&loaded, 0)->bytes_source, WS_BYTES_ARGUMENTS);
    assert_int_equal(chain(&loaded, 0)->bytes, 2 * 2 * 4000);
    load_finish(&loaded);
}

static void what_is_read_in_part_moves_again_in_part(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin_on(&loaded, "GPU", 2);
    (void)state;
    launch(story, gelu, &(struct arrays){ 1000, { 0x1000, 0x9000 } }, 0, 1000);
    launch(story, neg, &(struct arrays){ 100, { 0x2000, 0x1000 } }, 1000, 2000);
    load_report(&loaded);
    assert_int_equal(chain(&loaded, 0)->bytes_source, WS_BYTES_ARGUMENTS);
    assert_int_equal(chain(&loaded, 0)->bytes, 2 * 400);
    load_finish(&loaded);
}

/* Of eight arrays that three kernels read and write, four remain: the first one's input, what the others add, and the
 * last one's output. */
static void what_one_kernel_would_take_follows_from_its_arrays(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin_on(&loaded, "GPU", 2);
    (void)state;
    launch(story, gelu, &(struct arrays){ 1000, { 0x1000, 0x9000 } }, 0, 2000);
    launch(story, add, &(struct arrays){ 1000, { 0x1000, 0x1000, 0x7000 } }, 2000, 5000);
    launch(story, add, &(struct arrays){ 1000, { 0x2000, 0x1000, 0x6000 } }, 5000, 8000);
    load_report(&loaded);
    assert_int_equal(chain(&loaded, 0)->longest, 3000);
    assert_int_equal(chain(&loaded, 0)->fused, 4000);
    assert_int_equal(chain(&loaded, 0)->saving, 4000);
    load_finish(&loaded);
}

/* 1000 floats: gelu moves 8000 bytes in 2000 ns, of which half is the waste; the sum 12000 in 3000 ns, a third. */
static void what_operators_were_given_tells_the_waste_and_its_time(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin_on(&loaded, "GPU", 2);
    (void)state;
    story_thread(story, 1, 1, "main");
    story_operate(story, "aten::gelu", "float[1000]", gelu, 100000, 2000);
    story_operate(story, "aten::add", "float[1000] float[1000]", add, 102500, 3000);
    load_report(&loaded);
    assert_int_equal(chain(&loaded, 0)->bytes_source, WS_BYTES_SHAPE);
    assert_int_equal(chain(&loaded, 0)->moved, 20000);
    assert_int_equal(chain(&loaded, 0)->bytes, 8000);
    assert_int_equal(chain(&loaded, 0)->saving, 1000 + 1000);
    assert_int_equal(chain(&loaded, 0)->gap, 500);
    load_finish(&loaded);
}

static void a_reduction_passes_on_little(void **state)
{
    static const char sum[] = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >()";
    struct loaded loaded;
    struct story *story = load_begin_on(&loaded, "GPU", 2);
    (void)state;
    story_thread(story, 1, 1, "main");
    story_operate(story, "aten::neg", "float[1000]", neg, 100000, 2000);
    story_operate(story, "aten::sum", "float[1000]", sum, 102000, 2000);
    story_operate(story, "aten::add", "float[1000] float[1000]", add, 104000, 3000);
    load_report(&loaded);
    assert_int_equal(chain(&loaded, 0)->bytes_source, WS_BYTES_SHAPE);
    assert_int_equal(chain(&loaded, 0)->moved, 8000 + 4000 + 12000);
    assert_int_equal(chain(&loaded, 0)->bytes, 8000);
    load_finish(&loaded);
}

static void take(struct story *story, const char *function, uint64_t address, uint64_t bytes)
{
    struct ws_call row = { .function = story_driver_function(story, function, WS_CALL_MEMORY),
                           .thread = 1,
                           .correlation = (uint64_t)1 << 40 | ++story->launches,
                           .host_begin = (int64_t)story->launches,
                           .host_end = (int64_t)story->launches + 1,
                           .context = 1,
                           .address = address,
                           .bytes = bytes };
    story_add(story, WS_FAMILY_call, &row);
}

/* In 20 µs an H100 moves 67 MB, of which no more goes over than fits into 4 kB twice, written and read. */
static void no_more_is_moved_again_than_was_allocated(void **state)
{
    (void)state;
    enum { PLENTY = 1 << 30, LITTLE = 4096, TWICE = 2 };
    static const struct {
        uint64_t bytes, before; /* before: the recording, and given back in it */
        enum ws_bytes_source source;
    } cases[] = { { PLENTY, 0, WS_BYTES_TIME },
                  { LITTLE, 0, WS_BYTES_ALLOCATED },
                  { LITTLE, 1, WS_BYTES_TIME },
                  { 0, 0, WS_BYTES_TIME } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct loaded loaded;
        struct story *story = load_begin_on(&loaded, "NVIDIA H100 80GB HBM3", 1);
        story_thread(story, 1, 1, "main");
        if (cases[i].bytes)
            take(story, "cuMemAlloc_v2", 0x1000, cases[i].bytes);
        if (cases[i].before)
            take(story, "cuMemFree_v2", 0x9000, 0);
        launch(story, "add_residual", NULL, 100000, 110000);
        launch(story, "dropout", NULL, 110000, 120000);
        launch(story, "gelu_grad", NULL, 120000, 130000);
        load_report(&loaded);
        assert_int_equal(chain(&loaded, 0)->bytes_source, cases[i].source);
        if (cases[i].source == WS_BYTES_ALLOCATED)
            assert_int_equal(chain(&loaded, 0)->bytes, 2 * TWICE * LITTLE);
        else
            assert_in_range(chain(&loaded, 0)->bytes, 60000000, 70000000);
        load_finish(&loaded);
    }
}

/* Both read the same; and a kernel whose order of parameters nobody knows has what the one before it writes. */
static void sharing_is_no_proof_of_writing_then_reading(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin_on(&loaded, "GPU", 2);
    (void)state;
    launch(story, gelu, &(struct arrays){ 1000, { 0x1000, 0x9000 } }, 0, 1000);
    launch(story, neg, &(struct arrays){ 1000, { 0x2000, 0x9000 } }, 1000, 2000);
    launch(story, gemm, NULL, 2000, 3000);
    launch(story, add, &(struct arrays){ 1000, { 0x1000, 0x5000, 0x6000 } }, 3000, 4000);
    launch(story, softmax, &(struct arrays){ 1000, { 0x8000, 0x1000 } }, 4000, 4500);
    load_report(&loaded);
    assert_int_equal(chains_of(&loaded)->chains.count, 2);
    assert_int_equal(chain(&loaded, 0)->proof, WS_CHAIN_SHARES);
    assert_int_equal(chain(&loaded, 1)->proof, WS_CHAIN_SHARES);
    load_finish(&loaded);
}

/* The output of a kernel that is not among its addresses: what then comes first is an input. */
static void an_array_that_is_missing_leaves_the_order_unknown(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin_on(&loaded, "GPU", 2);
    (void)state;
    launch(story, add, &(struct arrays){ 1000, { 0x1000, 0x5000 } }, 0, 1000);
    launch(story, neg, &(struct arrays){ 1000, { 0x2000, 0x1000 } }, 1000, 2000);
    load_report(&loaded);
    assert_int_equal(chain(&loaded, 0)->proof, WS_CHAIN_SHARES);
    load_finish(&loaded);
}

static void kernels_on_different_buffers_are_taken_apart(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin_on(&loaded, "GPU", 2);
    (void)state;
    launch(story, gelu, &(struct arrays){ 1000, { 0x1000, 0x9000 } }, 0, 1000);
    launch(story, neg, &(struct arrays){ 1000, { 0x2000, 0x1000 } }, 1000, 2000);
    launch(story, add, &(struct arrays){ 1000, { 0x3000, 0x4000, 0x5000 } }, 2000, 3000);
    launch(story, softmax, &(struct arrays){ 1000, { 0x6000, 0x3000 } }, 3000, 3500);
    launch(story, gelu, &(struct arrays){ 1000, { 0x7000, 0x8000 } }, 3500, 4500);
    load_report(&loaded);
    assert_int_equal(chains_of(&loaded)->chains.count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(chain(&loaded, i)->length, 2);
        assert_int_equal(chain(&loaded, i)->count, 1);
        assert_int_equal(chain(&loaded, i)->examined, 1);
    }
    assert_int_equal(chain(&loaded, 0)->saving, 1000);
    assert_int_equal(chain(&loaded, 1)->saving, 500);
    load_finish(&loaded);
}

/* What the first writes is read two further on: all three belong together. */
static void data_may_go_past_a_neighbour(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin_on(&loaded, "GPU", 2);
    (void)state;
    launch(story, gelu, &(struct arrays){ 1000, { 0x1000, 0x9000 } }, 0, 1000);
    launch(story, neg, &(struct arrays){ 1000, { 0x2000, 0x8000 } }, 1000, 2000);
    launch(story, add, &(struct arrays){ 1000, { 0x3000, 0x1000, 0x2000 } }, 2000, 3000);
    load_report(&loaded);
    assert_int_equal(chains_of(&loaded)->chains.count, 1);
    assert_int_equal(chain(&loaded, 0)->length, 3);
    assert_int_equal(chain(&loaded, 0)->proof, WS_CHAIN_WRITES_READS);
    load_finish(&loaded);
}

static void the_end_of_a_step_ends_a_chain_and_savings_are_of_steady_steps(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin_on(&loaded, "GPU", 2);
    (void)state;
    story_thread(story, 1, 1, "main");
    for (int64_t step = 0; step < 8; step++) {
        int64_t at = 100000 + step * 100000, length = step ? 10000 : 60000; /* the first warms up */
        story_range(story, WS_RANGE_STEP, 1, "ProfilerStep", at - 10500, at + 80000);
        launch(story, gelu, NULL, at, at + 10000);
        launch(story, add, NULL, at + 10000, at + 10000 + length);
        launch(story, gemm, NULL, at + 70000, at + 80000);
        launch(story, neg, NULL, at + 80000, at + 85000);
    }
    load_report(&loaded);
    assert_true(chains_of(&loaded)->steps > 2);
    assert_int_equal(chains_of(&loaded)->chains.count, 1);
    assert_int_equal(chain(&loaded, 0)->count, 8);
    assert_int_equal(chain(&loaded, 0)->steady, chains_of(&loaded)->steps);
    /* By the grids, half of what gelu moves is for the sum alone, and a third of what that moves. The first step's
     * sum is steady too: the last one's took its place. */
    assert_int_equal(chain(&loaded, 0)->steady_saving, (int64_t)chains_of(&loaded)->steps * 5000 + 120000 / 3);
    load_finish(&loaded);
}

static void long_runs_are_cut(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin_on(&loaded, "GPU", 2);
    (void)state;
    for (int64_t i = 0; i < WS_CHAIN_MOST + 2; i++)
        launch(story, gelu, &(struct arrays){ 1000, { 0x1000, 0x1000 } }, i * 1000, (i + 1) * 1000);
    load_report(&loaded);
    assert_int_equal(chains_of(&loaded)->chains.count, 2);
    assert_int_equal(chain(&loaded, 0)->length, WS_CHAIN_MOST);
    assert_int_equal(chain(&loaded, 0)->proof, WS_CHAIN_WRITES_READS);
    assert_int_equal(chain(&loaded, 1)->length, 2);
    load_finish(&loaded);
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

/* Each parameter is made of two of the one before: written out, more than there is memory. */
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
