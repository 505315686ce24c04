/* Tests of kernels that work on rows, such as layer norm and softmax. Each kernel gets a parameter block as real
 * launches fill it. */
#include "blocks.h"

enum { ROWS = 96, COLUMNS = 48 };

/* Fills a block by a string of letters. p: a pointer; 0: a NULL pointer; l and L: the numbers of rows and of columns
 * in 8 bytes; r and n: the same numbers in 4 bytes; f and d: any floating-point number in 4 and in 8 bytes; T:
 * PyTorch's TensorInfo. */
static void fill(struct block *block, const char *parameters)
{
    struct {
        uint64_t data;
        uint32_t sizes[25], strides[25];
        int32_t dims;
    } info = { .sizes = { 7 }, .dims = 1 };
    uint64_t number;
    block_begin(block, ROWS, 128);
    for (uint32_t i = 0; parameters[i]; i++) {
        switch (parameters[i]) {
        case 'p':
        case '0':
            number = parameters[i] == 'p' ? ADDRESS(i + 1) : 0;
            block_add(block, &number, 8, 8);
            break;
        case 'l':
        case 'L':
            number = parameters[i] == 'l' ? ROWS : COLUMNS;
            block_add(block, &number, 8, 8);
            break;
        case 'T':
            info.data = ADDRESS(i + 1);
            block_add(block, &info, sizeof(info), 8);
            break;
        case 'd':
            number = 3;
            block_add(block, &number, 8, 8);
            break;
        default:
            block_add_u32(block, parameters[i] == 'r' ? ROWS : parameters[i] == 'n' ? COLUMNS : 3);
        }
    }
}

#define NATIVE "void at::native::(anonymous namespace)::"

static const struct kernel {
    const char *name, *parameters;
    double bytes, flops; /* bytes and FLOPs per element; `more`: further bytes of the whole launch */
    double more;
} kernels[] = {
    { NATIVE "vectorized_layer_norm_kernel<c10::BFloat16, float>(X)", "nfpppppp", 4, 8, COLUMNS * 4 + ROWS * 8 },
    { NATIVE "vectorized_layer_norm_kernel<float, float, true>(X)", "nfppppp0", 0, 0, 0 }, /* the output is NULL */
    { NATIVE "LayerNormForwardCUDAKernel<float, float>(X)", "Lpppppp", 8, 0, COLUMNS * 8 + ROWS * 8 },
    { NATIVE "RowwiseMomentsCUDAKernel<c10::Half>(X)", "Lfppp", 2, 0, ROWS * 8 },
    { NATIVE "GammaBetaBackwardCUDAKernel<float, float>(X)", "lLpppppp", 8, 0, COLUMNS * 8 + ROWS * 8 },
    { NATIVE "GammaBetaBackwardCUDAKernel_32x32<c10::Half, float>(X)", "lLppppp0", 4, 0, COLUMNS * 2 + ROWS * 8 },
    { NATIVE "cunn_SoftMaxForwardSmem<8, c10::BFloat16, float, float, at::native::X, long>(X)", "ppL", 6, 4, 0 },
    { NATIVE "cunn_SoftMaxForwardReg<c10::BFloat16, float, c10::BFloat16, at::native::X, long, 4>(X)", "ppL", 4, 4,
      0 },
    { NATIVE "fused_dropout_kernel_vec<c10::BFloat16, float, unsigned int, 1, 4, bool>(X)", "TTTnf", 5, 1, 0 },
    { "void cuApplyLayerNorm<c10::Half, float, c10::Half>(c10::Half*, float*, float*, c10::Half const*, int, int, "
      "float, "
      "c10::Half const*, c10::Half const*)",
      "pppprnfpp", 4, 8, COLUMNS * 4 + ROWS * 8 },
    { "_Z16cuApplyLayerNormIN3c104HalfEfS1_EvPT1_PT0_S5_PKT_iiS4_PKS2_SA_", "pppprnfpp", 4, 8,
      COLUMNS * 4 + ROWS * 8 },
    { "void cuApplyRMSNorm<c10::Half, float, c10::Half>(X)", "ppprnfp", 4, 4, COLUMNS * 2 + ROWS * 4 },
    { "void vllm::rms_norm_kernel<c10::BFloat16>(X)", "pppfrn", 4, 4, COLUMNS * 2 },
    { "void vllm::rms_norm_kernel<c10::BFloat16>(X)", "ppdpfrn", 4, 4, COLUMNS * 2 },
    { "void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>(X)", "ppdddddpfrn", 4, 4, COLUMNS * 2 },
    /* the grid has another number of rows than the parameters */
    { "void vllm::rms_norm_kernel<c10::BFloat16>(X)", "pppfnr", 0, 0, 0 },
    { "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
      "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long, c10::BFloat16*, c10::BFloat16 const*, "
      "float, "
      "int, int)",
      "pdppfrn", 8, 5, COLUMNS * 2 },
    { "_ZN4vllm25fused_add_rms_norm_kernelIN3c108BFloat16ELi8EEENSt9enable_ifIXaagtT0_Li0EsrNS_12_typeConvertIT_"
      "EE6exists"
      "EvE4typeEPS4_S7_PKS4_fii",
      "pppfrn", 8, 5, COLUMNS * 2 },
    { "void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>(c10::BFloat16 "
      "const&)), "
      "true>(c10::BFloat16*, c10::BFloat16 const*, int)",
      "ppn", 6, 2, 0 },
};

static void rows_are_counted_by_each_kernels_parameters(void **state)
{
    struct block block;
    (void)state;
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        double elements = strstr(kernels[i].name, "dropout") ? COLUMNS : (double)ROWS * COLUMNS;
        fill(&block, kernels[i].parameters);
        block_costs(kernels[i].name, &block, elements * kernels[i].bytes + kernels[i].more,
                    elements * kernels[i].flops);
    }
}

/* Megatron's masked softmax works on square matrices. It skips the upper half of each matrix: it neither reads that
 * half nor computes anything for it. */
static void triangles_are_half_read(void **state)
{
    static const char forward[] =
        "void (anonymous namespace)::scaled_upper_triang_masked_softmax_warp_forward<c10::Half, c10::Half, float, "
        "11>(X)";
    static const char backward[] =
        "_ZN12_GLOBAL__N_147scaled_upper_triang_masked_softmax_warp_backwardIN3c104HalfES2_fLi11EE"
        "EvPT0_PT_PKS5_T1_iii";
    struct block block;
    (void)state;
    fill(&block, "ppfrfn");
    block.shape.grid_x = COLUMNS;
    block_costs(forward, &block, ROWS * COLUMNS * 2 + ROWS * (COLUMNS + 1), 0);
    fill(&block, "pppfrfn");
    block.shape.grid_x = COLUMNS;
    block_costs(backward, &block, ROWS * COLUMNS * 2 + 2 * ROWS * (COLUMNS + 1), 0);
    block.shape.grid_x = ROWS;
    block_costs(backward, &block, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_counted_by_each_kernels_parameters),
        cmocka_unit_test(triangles_are_half_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
