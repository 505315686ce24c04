/* Kernels with known bytes and FLOPs. Prints a line (label) for each kernel, with tabs between: name, what bounds the
 * kernel (memory-bound …), number of launches, bytes and FLOPs of a launch (0: these do not follow from the launch's
 * parameters). */
#include "program.h"

#include "abi/cublas.h"
#include "tests/walls/kernels.h"

ws_cublasStatus cublasCreate_v2(ws_cublasHandle *handle);
ws_cublasStatus cublasSetStream_v2(ws_cublasHandle handle, ws_CUstream stream);
ws_cublasStatus cublasGemmEx(ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, int m, int n, int k,
                             ws_cublasPointer alpha, ws_cublasPointer a, ws_cublasEnum atype, int lda,
                             ws_cublasPointer b, ws_cublasEnum btype, int ldb, ws_cublasPointer beta, void *c,
                             ws_cublasEnum ctype, int ldc, ws_cublasEnum compute, ws_cublasEnum algo);

enum {
    STEPS = 10,
    LARGE = 32 << 20, /* elements */
    SMALL = 2000,
    /* Launches per step. All steps together have so many launches that the shim records the parameters of only some
     * of them. */
    SMALL_LAUNCHES = 40,
    ROWS = 16384,
    COLUMNS = 4096,
    HEADS = 32,
    HIDDEN = 64 * HEADS,
    PARAMETERS = 5000000,
};

static const float one = 1, zero = 0;
static ws_CUstream stream;
static ws_cublasHandle handle;
static ws_CUdeviceptr x, y, z;

/* The label of each kernel: the kernel moves `arrays` arrays of `elements` elements of 2 bytes, and `more_bytes`
 * further bytes. `flops` is per element, `launches` per step. */
static const struct label {
    enum kernel kernel;
    int launches;
    const char *holds;
    double elements, arrays, more_bytes, flops;
} labels[] = {
    { KERNEL_FILL, 1, "memory-bound", LARGE, 1, 0, 0 },
    { KERNEL_GELU, 1, "memory-bound", LARGE, 2, 0, 1 },
    { KERNEL_SCALE, 1, "memory-bound", LARGE, 2, 0, 1 },
    { KERNEL_ADD, 1, "memory-bound", LARGE, 3, 0, 1 },
    { KERNEL_MUL, 1, "memory-bound", LARGE, 2, 0, 1 }, /* multiplies an array by itself, so only one array is read */
    { KERNEL_GELU_BACKWARD, 1, "memory-bound", LARGE, 3, 0, 1 },
    { KERNEL_TANH, SMALL_LAUNCHES, "latency-bound", SMALL, 2, 0, 1 },
    { KERNEL_NORM, 1, "memory-bound", (double)ROWS *COLUMNS, 2, COLUMNS * 2 * 2 + ROWS * 4 * 2, 8 },
    { KERNEL_SOFTMAX, 1, "memory-bound", (double)ROWS *COLUMNS, 2, 0, 4 },
    { KERNEL_SOFTMAX_BACKWARD, 1, "memory-bound", (double)ROWS *COLUMNS, 2, 0,
      3 }, /* only two arrays, because step() passes x as both inputs */
    { KERNEL_REDUCE, 1, "memory-bound", (double)ROWS *COLUMNS, 1, ROWS * 2, 1 },
    { KERNEL_ADD_ROW, 1, "memory-bound", (double)ROWS *COLUMNS, 2, COLUMNS * 2, 1 },
    /* The result has elements of 4 bytes, so it counts as two arrays. */
    { KERNEL_CAST, 1, "memory-bound", LARGE, 3, 0, 0 },
    /* Causal attention over sequences of length 1024: only half of the scores are computed. */
    { KERNEL_ATTENTION, 1, "memory-bound", (double)ROWS *HIDDEN, 4, ROWS *HEADS * 4, 2 * 1024 },
    { KERNEL_ATTENTION_BACKWARD, 1, "compute-bound", (double)ROWS *HIDDEN, 8, ROWS *HEADS * 8, 5 * 1024 },
    { KERNEL_ADAM, 1, "memory-bound", (double)PARAMETERS * 2, 7, 0, 0 }, /* elements of 4 bytes count twice */
    /* Kernels whose bytes and FLOPs are unknown: a matrix product without a cuBLAS call; an embedding, which may read
     * a row of its table more than once; and a Triton kernel, whose parameters have no types. */
    { KERNEL_GEMM_SLIM, 1, "unknown", ROWS, 0, 0, 0 },
    { KERNEL_EMBEDDING, 1, "memory-bound", ROWS, 0, 0, 0 },
    { KERNEL_TRITON, 1, "memory-bound", LARGE, 0, 0, 0 },
};

static const struct {
    ws_cublasEnum type;
    const char *holds, *name;
    int m, n, k;
    double element_bytes;
} products[] = {
    { WS_CUDA_R_16BF, "compute-bound", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize128x128x64_cublas", 4096,
      4096, 4096, 2 },
    { WS_CUDA_R_16F, "memory-bound", "sm90_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize128x128x64_cublas", 16384, 8,
      16384, 2 },
    { WS_CUDA_R_32F, "latency-bound",
      "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x128x8_stage3_warpsize2x4x1_ffma_cublas", 64, 64, 64, 4 },
};
enum { LABELS = sizeof(labels) / sizeof(labels[0]), PRODUCTS = sizeof(products) / sizeof(products[0]) };

static void print_labels(void)
{
    for (int i = 0; i < LABELS; i++)
        printf("%s\t%s\t%d\t%.0f\t%.0f\n", kernel_name(labels[i].kernel), labels[i].holds, STEPS * labels[i].launches,
               labels[i].elements * labels[i].arrays * 2 + labels[i].more_bytes,
               labels[i].elements * labels[i].flops);
    for (int i = 0; i < PRODUCTS; i++) {
        double m = products[i].m, n = products[i].n, k = products[i].k;
        printf("%s\t%s\t%d\t%.0f\t%.0f\n", products[i].name, products[i].holds, STEPS,
               (m * k + k * n + m * n) * products[i].element_bytes, 2 * m * n * k);
    }
}

static void multiply(int i)
{
    cublasGemmEx(handle, WS_CUBLAS_OP_N, WS_CUBLAS_OP_N, products[i].m, products[i].n, products[i].k, &one, NULL,
                 products[i].type, products[i].m, NULL, products[i].type, products[i].k, &zero, NULL,
                 products[i].type, products[i].m, WS_CUBLAS_COMPUTE_32F, -1);
}

/* First launches two chains of kernels, in which each kernel reads the result of the previous kernel. A matrix
 * product follows each chain. The kernels after that form no chain. */
static void step(void)
{
    launch_pointwise(stream, KERNEL_FILL, LARGE, x, 0, 0);
    launch_pointwise(stream, KERNEL_GELU, LARGE, y, x, 0);
    launch_pointwise(stream, KERNEL_SCALE, LARGE, z, y, 0);
    launch_pointwise(stream, KERNEL_ADD, LARGE, y, z, x);
    launch_pointwise(stream, KERNEL_MUL, LARGE, z, y, y);
    launch_pointwise(stream, KERNEL_GELU_BACKWARD, LARGE, x, y, z);
    multiply(0);
    launch_rows(stream, KERNEL_SOFTMAX_BACKWARD, ROWS, COLUMNS, y, x);
    launch_rows(stream, KERNEL_REDUCE, ROWS, COLUMNS, z, y);
    launch_add_row(stream, ROWS, COLUMNS, x, y, z);
    launch_cast(stream, LARGE, y, x);
    multiply(1);
    for (int i = 0; i < SMALL_LAUNCHES; i++)
        launch_pointwise(stream, KERNEL_TANH, SMALL, y, x, 0);
    launch_rows(stream, KERNEL_NORM, ROWS, COLUMNS, y, x);
    launch_rows(stream, KERNEL_SOFTMAX, ROWS, COLUMNS, y, x);
    launch_attention(stream, KERNEL_ATTENTION, ROWS, HIDDEN, y, x);
    launch_attention(stream, KERNEL_ATTENTION_BACKWARD, ROWS, HIDDEN, y, x);
    launch_adam(stream, PARAMETERS, y, z);
    launch_gemm(stream, KERNEL_GEMM_SLIM, y, x, x, 4096, 4096, 4096);
    launch_rows(stream, KERNEL_EMBEDDING, ROWS, COLUMNS, y, x);
    launch_triton(stream, LARGE, z, x, y);
    multiply(2);
    MUST(cuStreamSynchronize(stream));
}

int main(void)
{
    ws_CUcontext context;
    ws_CUdevice device;
    const struct speed speed = { .flops_per_ns = 700000, .bytes_per_ns = 3000, .slow = 1 };
    MUST(cuInit(0));
    MUST(cuDeviceGet(&device, 0));
    MUST(cuCtxCreate_v2(&context, 0, device));
    MUST(cuStreamCreate(&stream, 0));
    kernels_open(&speed);
    if (cublasCreate_v2(&handle) || cublasSetStream_v2(handle, stream))
        return 1;
    ws_CUdeviceptr *buffers[] = { &x, &y, &z };
    for (int i = 0; i < 3; i++)
        MUST(cuMemAlloc_v2(buffers[i], (size_t)ROWS * COLUMNS * 2));
    for (int i = 0; i < STEPS; i++) {
        step();
        if (!i) /* the shim's thread needs time to ask the driver for the kernels' parameter layouts */
            usleep(200000);
    }
    print_labels();
    MUST(cuCtxDestroy_v2(context));
    return 0;
}
