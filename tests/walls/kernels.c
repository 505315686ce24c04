#include "kernels.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/programs/program.h"
#include "tests/simgpu/simgpu.h"
#include "tests/walls/pytorch.h"

enum { FIXED_NS = 1500, SEQUENCE = 1024, MOST_PARAMETERS = 8 };

/* The only parameter of a cuBLAS kernel is one structure. The real layout is not public, so this layout is made
 * up. */
struct gemm {
    ws_CUdeviceptr a, b, out;
    uint32_t m, n, k, padding[67];
};

static struct speed speed;
static void (*dispatch)(void *context);
static void *dispatch_context;

void kernels_dispatch(void (*call)(void *context), void *context)
{
    dispatch = call;
    dispatch_context = context;
}

/* A random number between -1 and 1. */
static double random_part(void)
{
    speed.seed = speed.seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(speed.seed >> 11) / 4503599627370496.0 - 1;
}

static uint64_t lasting(double ns)
{
    return (uint64_t)((FIXED_NS + ns) * speed.slow * (1 + speed.jitter * random_part()));
}

static uint64_t moving(double bytes)
{
    return lasting(bytes / speed.bytes_per_ns);
}

static uint32_t number(void **parameters, int index)
{
    uint32_t value;
    memcpy(&value, parameters[index], sizeof(value));
    return value;
}

#define DURATION(name)                                                                      \
    static uint64_t name(void **parameters, const unsigned grid[3] __attribute__((unused)), \
                         const unsigned block[3] __attribute__((unused)))

DURATION(gemm_duration)
{
    const struct gemm *gemm = parameters[0];
    double m = gemm->m, n = gemm->n, k = gemm->k;
    double compute = 2 * m * n * k / speed.flops_per_ns, memory = 2 * (m * k + k * n + m * n) / speed.bytes_per_ns;
    return lasting(compute > memory ? compute : memory);
}

DURATION(attention_duration)
{
    const struct flash_params *attention = parameters[0];
    double tokens = (double)attention->batch * attention->queries,
           hidden = (double)attention->heads * attention->head;
    return lasting(4.0 * tokens * SEQUENCE * hidden / (0.6 * speed.flops_per_ns));
}

DURATION(attention_backward_duration)
{
    return attention_duration(parameters, grid, block) * 5 / 2;
}

DURATION(one_buffer)
{
    return moving(2.0 * number(parameters, 0));
}

DURATION(two_buffers)
{
    return moving(4.0 * number(parameters, 0));
}

DURATION(three_buffers)
{
    return moving(6.0 * number(parameters, 0));
}

DURATION(strided_duration)
{
    return moving(4.0 * number(parameters, 0));
}

DURATION(cast_duration)
{
    return moving(6.0 * number(parameters, 0));
}

DURATION(triton_duration)
{
    return moving(6.0 * number(parameters, 3));
}

DURATION(rows_duration) /* the first parameter is the number of columns; the grid has a block per row */
{
    return moving(4.0 * grid[0] * number(parameters, 0));
}

DURATION(softmax_duration)
{
    return moving(4.0 * grid[0] * number(parameters, 2));
}

DURATION(softmax_backward_duration)
{
    return moving(6.0 * grid[0] * number(parameters, 3));
}

DURATION(reduce_duration)
{
    const struct reduce_op *reduction = parameters[0];
    return moving(2.0 * reduction->config.num_inputs * reduction->config.num_outputs);
}

DURATION(adam_duration)
{
    const struct tensor_list *list = parameters[0];
    return moving(28.0 * (double)list->elements[0]);
}

#define ITERATOR(count) ".u32 %, .align 4 .b8 %[8], .align 8 .b8 %[" #count "]"
#define ELEMENTWISE(functor, buffers) \
    "_ZN2at6native29vectorized_elementwise_kernelILi4E" functor "St5arrayIPcLm" #buffers "EEEEviT0_T1_"
#define BF16 "N3c108BFloat16E"

/* `parameters` holds the PTX declarations of the kernel's parameters, with % in place of each name. */
static const struct {
    const char *name, *parameters;
    simgpu_duration duration;
    uint32_t threads;
} kernels[KERNEL_COUNT] = {
    [KERNEL_GEMM] = { "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_"
                      "segment_k_"
                      "off_kernel__5x_cublas",
                      ".align 8 .b8 %[304]", gemm_duration, 384 },
    [KERNEL_GEMM_SLIM] = { "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NTN", ".align 8 .b8 %[304]", gemm_duration, 384 },
    [KERNEL_GEMV] = { "_ZN8internal5gemvx6kernelIii13__nv_bfloat16S1_S1_"
                      "fLb0ELb1ELb1ELb0ELi7ELb0E18cublasGemvParamsExIi30"
                      "cublasGemvTensorStridedBatchedIKS1_ES5_S3_IS1_EfEEENSt9enable_ifIXntT5_EvE4typeET11_",
                      ".align 8 .b8 %[304]", gemm_duration, 128 },
    [KERNEL_ATTENTION] = { "_ZN5flash16flash_fwd_kernelI23Flash_fwd_kernel_"
                           "traitsILi64ELi128ELi128ELi4ELb0ELb0EN7cutlass"
                           "10bfloat16_tE19Flash_kernel_traitsILi64ELi128ELi128ELi4ES3_"
                           "EELb0ELb1ELb0ELb0ELb1ELb1ELb0EEEv"
                           "NS_16Flash_fwd_paramsE",
                           ".align 8 .b8 %[512]", attention_duration, 128 },
    [KERNEL_ATTENTION_BACKWARD] = { "_ZN5flash44flash_bwd_dq_dk_dv_loop_seqk_parallel_kernelI23Flash_bwd_kernel_"
                                    "traitsIL"
                                    "i64ELi128ELi128ELi8ELi4ELi4ELi4ELb0ELb0EN7cutlass10bfloat16_tE19Flash_kernel_"
                                    "traits"
                                    "ILi64ELi128ELi128ELi8ES3_EELb0ELb1ELb0ELb0ELb0ELb1ELb0EEEvNS_16Flash_bwd_"
                                    "paramsE",
                                    ".align 8 .b8 %[512]", attention_backward_duration, 256 },
    [KERNEL_NORM] = { "_ZN2at6native12_GLOBAL__N_128vectorized_layer_norm_kernelI" BF16
                      "fEEviT0_PKT_S8_S8_PS6_S9_PS5_",
                      ".u32 %, .f32 %, .u64 %, .u64 %, .u64 %, .u64 %, .u64 %, .u64 %", rows_duration, 128 },
    [KERNEL_NORM_BACKWARD] = { "_ZN2at6native12_GLOBAL__N_139layer_norm_grad_input_kernel_vectorizedI" BF16
                               "fEEvPKT_S7_"
                               "PKT0_SA_S7_PS5_i",
                               ".u32 %, .f32 %, .u64 %, .u64 %, .u64 %, .u64 %, .u64 %, .u64 %", rows_duration, 128 },
    [KERNEL_SOFTMAX] = { "_ZN2at6native12_GLOBAL__N_119cunn_SoftMaxForwardILi8E" BF16
                         "fS4_NS1_25LogSoftMaxForwardEpilogueE"
                         "EEvPT2_PKT0_i",
                         ".u64 %, .u64 %, .u32 %", softmax_duration, 1024 },
    [KERNEL_SOFTMAX_BACKWARD] = { "_ZN2at6native12_GLOBAL__N_120cunn_SoftMaxBackwardILi8E" BF16
                                  "fS4_NS1_26LogSoftMaxBackw"
                                  "ardEpilogueEEEvPT0_PKT2_SA_l",
                                  ".u64 %, .u64 %, .u64 %, .u32 %", softmax_backward_duration, 1024 },
    [KERNEL_REDUCE] = { "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpI" BF16
                        "NS0_14func_wrapper_tIS4_ZNS0_11sum_"
                        "functorIS4_fS4_EclERNS_14TensorIteratorEEUlffE_EEjS4_Li4ELi4EEEEEvT1_",
                        ".align 8 .b8 %[1048]", reduce_duration, 512 },
    [KERNEL_EMBEDDING] = { "_ZN2at6native24vectorized_gather_kernelILi16ElEEvPcS2_PT0_illllb",
                           ".u32 %, .f32 %, .u64 %, .u64 %, .u64 %, .u64 %, .u64 %, .u64 %", rows_duration, 256 },
    [KERNEL_EMBEDDING_BACKWARD] = { "_ZN2at6native12_GLOBAL__N_133embedding_backward_feature_kernelI" BF16
                                    "flEEvPKT1_PKT"
                                    "_PS7_iil",
                                    ".u32 %, .f32 %, .u64 %, .u64 %, .u64 %, .u64 %, .u64 %, .u64 %", rows_duration,
                                    256 },
    [KERNEL_FILL] = { ELEMENTWISE("NS0_11FillFunctorI" BF16 "EE", 1), ITERATOR(8), one_buffer, 128 },
    [KERNEL_GELU] = { ELEMENTWISE(
                          "ZZZNS0_18GeluCUDAKernelImplERNS_18TensorIteratorBaseENS0_8GeluTypeEENKUlvE0_clEvENKUl"
                          "vE2_clEvEUl" BF16 "E_",
                          2),
                      ITERATOR(16), two_buffers, 128 },
    [KERNEL_TANH] = { ELEMENTWISE(
                          "ZZZNS0_16tanh_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_clEvENKUlvE2_clEvEUl" BF16
                          "E_",
                          2),
                      ITERATOR(16), two_buffers, 128 },
    [KERNEL_SCALE] = { ELEMENTWISE("NS0_13AUnaryFunctorI" BF16 "S4_S4_NS0_15binary_internal10MulFunctorIfEEEE", 2),
                       ITERATOR(16), two_buffers, 128 },
    [KERNEL_ADD] = { ELEMENTWISE("NS0_15CUDAFunctor_addI" BF16 "EE", 3), ITERATOR(24), three_buffers, 128 },
    [KERNEL_MUL] = { ELEMENTWISE("NS0_13BinaryFunctorI" BF16 "S4_S4_NS0_15binary_internal10MulFunctorIfEEEE", 3),
                     ITERATOR(24), three_buffers, 128 },
    [KERNEL_GELU_BACKWARD] = { ELEMENTWISE(
                                   "ZZZNS0_26GeluBackwardCUDAKernelImplERNS_18TensorIteratorBaseENS0_8GeluTypeEEN"
                                   "KUlvE0_clEvENKUlvE2_clEvEUl" BF16 "S6_E_",
                                   3),
                               ITERATOR(24), three_buffers, 128 },
    [KERNEL_ADD_ROW] = { "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastINS0_"
                         "15CUDAFunctor_addI" BF16 "EEEEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_",
                         ".u32 %, .align 8 .b8 %[640]", strided_duration, 128 },
    [KERNEL_CAST] = { "_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_"
                      "18TensorIteratorBaseEENKUlvE1_clEvENKUlvE5_clEvEUlfE_St5arrayIPcLm2EELi4E23TrivialOffset"
                      "CalculatorILi1EjESB_NS0_6memory12LoadWithCastILi1EEENSC_13StoreWithCastILi1EEEEEviT_T0_T2_"
                      "T3_T4_T5_",
                      ".u32 %, .align 1 .b8 %[1], .align 8 .b8 %[16], .align 1 .b8 %[1], .align 1 .b8 %[1], .align 4 "
                      ".b8 %[8], .align 4 .b8 %[8]",
                      cast_duration, 128 },
    [KERNEL_TRITON] = { "triton_poi_fused_add_gelu_mul_tanh_0", ".u64 %, .u64 %, .u64 %, .u32 %", triton_duration,
                        256 },
    [KERNEL_ADAM] = { "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_"
                      "32FusedOptimizerTensorListMetadataILi4E"
                      "EENS1_20FusedAdamMathFunctorIfLi4ELNS0_9ADAM_MODEE0ELb0EEEJPKfddddbdS8_EEEvT_T0_DpT1_",
                      ".align 8 .b8 %[3336], .align 1 .b8 %[1], .u64 %, .f64 %, .f64 %, .f64 %, .f64 %",
                      adam_duration, 512 },
};

static ws_CUfunction functions[KERNEL_COUNT];

const char *kernel_name(enum kernel kernel)
{
    return kernels[kernel].name;
}

/* Writes the kernel's entry in PTX. */
static void write_entry(FILE *image, enum kernel kernel)
{
    int parameter = 0;
    fprintf(image, ".visible .entry %s(\n.param ", kernels[kernel].name);
    for (const char *at = kernels[kernel].parameters; *at; at++) {
        if (*at == '%')
            fprintf(image, "parameter_%d", parameter++);
        else if (*at == ',')
            fprintf(image, ",\n.param");
        else
            fputc(*at, image);
    }
    fputs("\n)\n{\nret;\n}\n", image);
}

void kernels_open(const struct speed *chosen)
{
    char *text = NULL;
    size_t bytes = 0;
    ws_CUmodule module;
    int (*known)(const char *, simgpu_run, simgpu_duration) =
        (int (*)(const char *, simgpu_run, simgpu_duration))dlsym(RTLD_DEFAULT, "simgpuRegisterKernel");
    if (!known) {
        dprintf(STDOUT_FILENO, "skipped: this is not the simulated GPU\n");
        exit(77);
    }
    speed = *chosen;
    FILE *image = open_memstream(&text, &bytes);
    if (!image)
        abort();
    fputs(".version 8.0\n.target sm_90\n.address_size 64\n", image);
    for (int i = 0; i < KERNEL_COUNT; i++) {
        known(kernels[i].name, NULL, kernels[i].duration);
        write_entry(image, i);
    }
    fclose(image);
    MUST(cuModuleLoadData(&module, text));
    free(text);
    for (int i = 0; i < KERNEL_COUNT; i++)
        MUST(cuModuleGetFunction(&functions[i], module, kernels[i].name));
}

static void launch_3d(ws_CUstream stream, enum kernel kernel, const uint32_t blocks[3], void **parameters)
{
    if (dispatch)
        dispatch(dispatch_context);
    MUST(cuLaunchKernel(functions[kernel], blocks[0] ? blocks[0] : 1, blocks[1] ? blocks[1] : 1,
                        blocks[2] ? blocks[2] : 1, kernels[kernel].threads, 1, 1, 0, stream, parameters, NULL));
}

static void launch(ws_CUstream stream, enum kernel kernel, uint32_t blocks, uint32_t blocks_y, void **parameters)
{
    launch_3d(stream, kernel, (uint32_t[]){ blocks, blocks_y, 1 }, parameters);
}

void launch_gemm(ws_CUstream stream, enum kernel kernel, ws_CUdeviceptr out, ws_CUdeviceptr a, ws_CUdeviceptr b,
                 uint32_t m, uint32_t n, uint32_t k)
{
    struct gemm gemm = { .a = a, .b = b, .out = out, .m = m, .n = n, .k = k };
    void *parameters[] = { &gemm };
    launch(stream, kernel, (m + 127) / 128, (n + 127) / 128, parameters);
}

void launch_pointwise(ws_CUstream stream, enum kernel kernel, uint32_t elements, ws_CUdeviceptr out,
                      ws_CUdeviceptr in, ws_CUdeviceptr other)
{
    uint64_t functor = 0;
    ws_CUdeviceptr buffers[] = { out, in, other };
    void *parameters[] = { &elements, &functor, buffers };
    launch(stream, kernel, (elements + 511) / 512, 1, parameters);
}

void launch_add_row(ws_CUstream stream, uint32_t rows, uint32_t columns, ws_CUdeviceptr out, ws_CUdeviceptr in,
                    ws_CUdeviceptr row)
{
    uint32_t elements = rows * columns;
    struct strided strided = strided_rows(rows, columns, 2, out, in, row);
    void *parameters[] = { &elements, &strided };
    launch(stream, KERNEL_ADD_ROW, (elements + 511) / 512, 1, parameters);
}

void launch_cast(ws_CUstream stream, uint32_t elements, ws_CUdeviceptr out, ws_CUdeviceptr in)
{
    enum { FLOAT = 6, BFLOAT16 = 15 }; /* values of c10::ScalarType */
    uint8_t empty = 0;
    ws_CUdeviceptr buffers[] = { out, in };
    struct load_with_cast from = { BFLOAT16, 2 }, to = { FLOAT, 4 };
    void *parameters[] = { &elements, &empty, buffers, &empty, &empty, &from, &to };
    launch(stream, KERNEL_CAST, (elements + 511) / 512, 1, parameters);
}

void launch_triton(ws_CUstream stream, uint32_t elements, ws_CUdeviceptr out, ws_CUdeviceptr in, ws_CUdeviceptr other)
{
    void *parameters[] = { &in, &other, &out, &elements };
    launch(stream, KERNEL_TRITON, (elements + 1023) / 1024, 1, parameters);
}

void launch_rows(ws_CUstream stream, enum kernel kernel, uint32_t rows, uint32_t columns, ws_CUdeviceptr out,
                 ws_CUdeviceptr in)
{
    float epsilon = 1e-5f;
    struct reduce_op reduction = reduce_rows(rows, columns, 2, 512, out, in);
    void *usual[MOST_PARAMETERS] = { &columns, &epsilon, &in, &in, &in, &out, &out, &out };
    void *forward[] = { &out, &in, &columns }, *backward[] = { &out, &in, &in, &columns }, *whole[] = { &reduction };
    void **parameters = kernel == KERNEL_SOFTMAX            ? forward
                        : kernel == KERNEL_SOFTMAX_BACKWARD ? backward
                        : kernel == KERNEL_REDUCE           ? whole
                                                            : usual;
    launch(stream, kernel, rows, 1, parameters);
}

void launch_attention(ws_CUstream stream, enum kernel kernel, uint32_t tokens, uint32_t hidden, ws_CUdeviceptr out,
                      ws_CUdeviceptr in)
{
    uint32_t batch = tokens > SEQUENCE ? tokens / SEQUENCE : 1, sequence = tokens / batch, heads = hidden / 64;
    struct flash_params attention = flash_attention((int32_t)batch, (int32_t)sequence, (int32_t)heads, out, in);
    void *parameters[] = { &attention };
    launch_3d(stream, kernel, (uint32_t[]){ (sequence + 127) / 128, batch, heads }, parameters);
}

void launch_adam(ws_CUstream stream, uint32_t elements, ws_CUdeviceptr weights, ws_CUdeviceptr gradients)
{
    struct tensor_list list = { 0 };
    uint8_t functor = 0;
    uint64_t rate = 0;
    double beta = 0.9;
    void *parameters[] = { &list, &functor, &rate, &beta, &beta, &beta, &beta };
    for (int i = 0; i < 4; i++) /* the optimizer's moments follow the gradients in memory */
        list.addresses[i][0] = i ? gradients + (uint64_t)elements * 4 * (uint64_t)(i - 1) : weights;
    list_tensor(&list, elements);
    launch(stream, KERNEL_ADAM, (elements + LIST_CHUNK - 1) / LIST_CHUNK, 1, parameters);
}
