/* Calls a cuBLAS and a cuDNN that do nothing, in bursts that the shim's drain (its thread that writes the trace) can
 * keep up with:
 *
 *   product_loop BURSTS PRODUCTS-PER-BURST [KIND]
 *
 * Prints the ns of one call in the median burst, for each kind of call in the table `loops`, or for KIND alone. The
 * benchmark is run with and without the shim; the difference is the cost of recording the sizes of the products. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "abi/cublas.h"
#include "abi/cuda.h"
#include "abi/cudnn.h"
#include "base/clock.h"

typedef ws_cublasStatus (*gemm_function)(ws_cublasHandle, ws_cublasEnum, ws_cublasEnum, int, int, int,
                                         ws_cublasPointer, ws_cublasPointer, ws_cublasEnum, int, ws_cublasPointer,
                                         ws_cublasEnum, int, ws_cublasPointer, void *, ws_cublasEnum, int,
                                         ws_cublasEnum, ws_cublasEnum);
typedef ws_cublasStatus (*lt_function)(ws_cublasHandle, ws_cublasLtMatmulDesc *, ws_cublasPointer, ws_cublasPointer,
                                       ws_cublasLtMatrixLayout *, ws_cublasPointer, ws_cublasLtMatrixLayout *,
                                       ws_cublasPointer, ws_cublasPointer, ws_cublasLtMatrixLayout *, void *,
                                       ws_cublasLtMatrixLayout *, const void *, void *, size_t, ws_CUstream);

enum { SHAPES = 16 };

#define CUDNN_ROW(part, symbol, parameters, ...) static ws_cudnnStatus(*symbol) parameters;
#include "shim/hook/cudnn_table.h"

static gemm_function gemm;
static lt_function lt;
static ws_cublasLtMatmulDesc descs[SHAPES];
static ws_cublasLtMatrixLayout layouts[SHAPES][3];

static void call_gemm(int shape)
{
    gemm(NULL, WS_CUBLAS_OP_N, WS_CUBLAS_OP_N, 128 * shape, 1024, 4096, NULL, NULL, WS_CUDA_R_16BF, 128, NULL,
         WS_CUDA_R_16BF, 128, NULL, NULL, WS_CUDA_R_16BF, 128, WS_CUBLAS_COMPUTE_32F, -1);
}

static void call_lt(int shape)
{
    ws_cublasLtMatrixLayout *of = layouts[shape];
    lt(NULL, &descs[shape], NULL, NULL, &of[0], NULL, &of[1], NULL, NULL, &of[2], NULL, &of[2], NULL, NULL, 0, NULL);
}

static ws_cudnnBackendDescriptor plans[SHAPES];

static void call_execute(int shape)
{
    cudnnBackendExecute(NULL, plans[shape], NULL);
}

static void call_convolution(int shape)
{
    int image[4] = { 8, 64, 56, 56 }, filter[4] = { shape + 1, 64, 3, 3 }, result[4] = { 8, shape + 1, 56, 56 };
    cudnnConvolutionForward(NULL, NULL, image, NULL, filter, NULL, NULL, 1, NULL, 0, NULL, result, NULL);
}

static ws_cudnnBackendDescriptor make(ws_cudnnEnum type)
{
    ws_cudnnBackendDescriptor made = NULL;
    cudnnBackendCreateDescriptor(type, &made);
    return made;
}

static void set(ws_cudnnBackendDescriptor to, ws_cudnnEnum name, ws_cudnnBackendDescriptor element)
{
    cudnnBackendSetAttribute(to, name, WS_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &element);
}

/* A plan of one matrix product, described with as few calls as possible. */
static ws_cudnnBackendDescriptor make_plan(int64_t m)
{
    const int64_t sizes[3][2] = { { m, 256 }, { 256, 512 }, { m, 512 } };
    ws_cudnnBackendDescriptor operation = make(WS_CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    ws_cudnnBackendDescriptor graph = make(WS_CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    ws_cudnnBackendDescriptor plan = make(WS_CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    for (int i = 0; i < 3; i++) {
        ws_cudnnBackendDescriptor tensor = make(WS_CUDNN_BACKEND_TENSOR_DESCRIPTOR);
        cudnnBackendSetAttribute(tensor, WS_CUDNN_ATTR_TENSOR_DIMENSIONS, WS_CUDNN_TYPE_INT64, 2, sizes[i]);
        cudnnBackendSetAttribute(tensor, WS_CUDNN_ATTR_TENSOR_UNIQUE_ID, WS_CUDNN_TYPE_INT64, 1, &(int64_t){ i });
        set(operation, WS_CUDNN_ATTR_OPERATION_MATMUL_ADESC + i, tensor);
    }
    set(graph, WS_CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    set(plan, WS_CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, graph);
    cudnnBackendFinalize(plan);
    return plan;
}

static const struct {
    const char *name;
    void (*call)(int);
} loops[] = {
    { "gemm", call_gemm }, { "lt", call_lt }, { "execute", call_execute }, { "convolution", call_convolution }
};

/* Attribute number N is data[N], as null_cublas.c reads it. */
static ws_cublasLtMatrixLayout layout_of(uint64_t rows, uint64_t columns)
{
    return (ws_cublasLtMatrixLayout){ .data = { [WS_CUBLASLT_MATRIX_LAYOUT_TYPE] = WS_CUDA_R_16BF,
                                                [WS_CUBLASLT_MATRIX_LAYOUT_ROWS] = rows,
                                                [WS_CUBLASLT_MATRIX_LAYOUT_COLS] = columns,
                                                [WS_CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = 1 } };
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double ns_of(void (*call)(int), int bursts, int products)
{
    double *ns = calloc((size_t)bursts, sizeof(*ns));
    for (int burst = 0; ns && burst < bursts; burst++) {
        int64_t start = ws_clock_ns();
        for (int i = 0; i < products; i++)
            call(i % SHAPES);
        ns[burst] = (double)(ws_clock_ns() - start) / products;
        nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    }
    if (!ns)
        exit(2);
    qsort(ns, (size_t)bursts, sizeof(*ns), by_value);
    double median = ns[bursts / 2];
    free(ns);
    return median;
}

int main(int argc, char **argv)
{
    int bursts = argc > 1 ? atoi(argv[1]) : 21, products = argc > 2 ? atoi(argv[2]) : 20000;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    ws_CUresult (*init)(unsigned) = driver ? (ws_CUresult(*)(unsigned))dlsym(driver, "cuInit") : NULL;
    ws_CUresult (*retain)(ws_CUcontext *, ws_CUdevice) =
        driver ? (ws_CUresult(*)(ws_CUcontext *, ws_CUdevice))dlsym(driver, "cuDevicePrimaryCtxRetain") : NULL;
    ws_CUcontext context;
    void *library = dlopen("libcublas.so.13", RTLD_NOW);
    gemm = library ? (gemm_function)dlsym(library, "cublasGemmEx") : NULL;
    lt = library ? (lt_function)dlsym(library, "cublasLtMatmul") : NULL;
    void *cudnn = dlopen("libcudnn.so.9", RTLD_NOW);
#define CUDNN_ROW(part, symbol, parameters, ...) symbol = cudnn ? (__typeof__(symbol))dlsym(cudnn, #symbol) : NULL;
#include "shim/hook/cudnn_table.h"
    if (!init || !retain || !gemm || !lt || !cudnnBackendExecute || !cudnnConvolutionForward) {
        fprintf(stderr, "product_loop: no null libraries on LD_LIBRARY_PATH\n");
        return 2;
    }
    init(0);
    retain(&context, 0);
    for (int i = 0; i < SHAPES; i++) {
        uint64_t m = 128 * ((uint64_t)i + 1), n = 1024, k = 4096;
        descs[i].data[WS_CUBLASLT_MATMUL_DESC_COMPUTE_TYPE] = WS_CUBLAS_COMPUTE_32F;
        layouts[i][0] = layout_of(m, k);
        layouts[i][1] = layout_of(k, n);
        layouts[i][2] = layout_of(m, n);
        plans[i] = make_plan((int64_t)m);
    }
    for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++)
        if (argc <= 3 || !strcmp(argv[3], loops[i].name))
            printf("%s %.2f\n", loops[i].name, ns_of(loops[i].call, bursts, products));
    return 0;
}
