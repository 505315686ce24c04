/* Matrix products through cuBLAS and cuBLASLt. All products have different sizes or types, so that a test finds each
 * product in the trace. The result of one product is checked. */
#include "program.h"

#include <setjmp.h>
#include <signal.h>

#include "abi/cublas.h"

ws_cublasStatus cublasCreate_v2(ws_cublasHandle *handle);
ws_cublasStatus cublasSetStream_v2(ws_cublasHandle handle, ws_CUstream stream);
ws_cublasStatus cublasSgemm_v2(ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, int m, int n,
                               int k, ws_cublasPointer alpha, ws_cublasPointer a, int lda, ws_cublasPointer b,
                               int ldb, ws_cublasPointer beta, void *c, int ldc);
ws_cublasStatus cublasDgemm_v2(ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, int m, int n,
                               int k, ws_cublasPointer alpha, ws_cublasPointer a, int lda, ws_cublasPointer b,
                               int ldb, ws_cublasPointer beta, void *c, int ldc);
ws_cublasStatus cublasSgemv_v2(ws_cublasHandle handle, ws_cublasEnum trans, int m, int n, ws_cublasPointer alpha,
                               ws_cublasPointer a, int lda, ws_cublasPointer x, int incx, ws_cublasPointer beta,
                               void *y, int incy);
ws_cublasStatus cublasGemmEx(ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, int m, int n, int k,
                             ws_cublasPointer alpha, ws_cublasPointer a, ws_cublasEnum atype, int lda,
                             ws_cublasPointer b, ws_cublasEnum btype, int ldb, ws_cublasPointer beta, void *c,
                             ws_cublasEnum ctype, int ldc, ws_cublasEnum compute, ws_cublasEnum algo);
ws_cublasStatus cublasGemmEx_64(ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, int64_t m,
                                int64_t n, int64_t k, ws_cublasPointer alpha, ws_cublasPointer a, ws_cublasEnum atype,
                                int64_t lda, ws_cublasPointer b, ws_cublasEnum btype, int64_t ldb,
                                ws_cublasPointer beta, void *c, ws_cublasEnum ctype, int64_t ldc,
                                ws_cublasEnum compute, ws_cublasEnum algo);
ws_cublasStatus cublasGemmStridedBatchedEx(ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, int m,
                                           int n, int k, ws_cublasPointer alpha, ws_cublasPointer a,
                                           ws_cublasEnum atype, int lda, long long stridea, ws_cublasPointer b,
                                           ws_cublasEnum btype, int ldb, long long strideb, ws_cublasPointer beta,
                                           void *c, ws_cublasEnum ctype, int ldc, long long stridec, int batch,
                                           ws_cublasEnum compute, ws_cublasEnum algo);
ws_cublasStatus cublasLtCreate(ws_cublasHandle *handle);
ws_cublasStatus cublasLtMatmulDescCreate(ws_cublasLtMatmulDesc **desc, ws_cublasEnum compute, ws_cublasEnum scale);
ws_cublasStatus cublasLtMatmulDescSetAttribute(ws_cublasLtMatmulDesc *desc, ws_cublasEnum which, const void *value,
                                               size_t size);
ws_cublasStatus cublasLtMatrixLayoutCreate(ws_cublasLtMatrixLayout **layout, ws_cublasEnum type, uint64_t rows,
                                           uint64_t cols, int64_t ld);
ws_cublasStatus cublasLtMatrixLayoutSetAttribute(ws_cublasLtMatrixLayout *layout, ws_cublasEnum which,
                                                 const void *value, size_t size);
ws_cublasStatus cublasLtMatmul(ws_cublasHandle handle, ws_cublasLtMatmulDesc *desc, ws_cublasPointer alpha,
                               ws_cublasPointer a, ws_cublasLtMatrixLayout *alayout, ws_cublasPointer b,
                               ws_cublasLtMatrixLayout *blayout, ws_cublasPointer beta, ws_cublasPointer c,
                               ws_cublasLtMatrixLayout *clayout, void *d, ws_cublasLtMatrixLayout *dlayout,
                               const void *algo, void *workspace, size_t workspace_bytes, ws_CUstream stream);

enum { STEPS = 20, SIZE = 64 };

static const float one = 1, zero = 0;

/* Computes C = A · B for matrices of small whole numbers, whose sums are exact in float. */
static void compute(ws_cublasHandle handle, ws_CUstream stream)
{
    static float a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE];
    ws_CUdeviceptr device[3];
    for (int i = 0; i < SIZE * SIZE; i++) {
        a[i] = (float)(i % 7);
        b[i] = (float)(i % 5);
    }
    for (int i = 0; i < 3; i++)
        cuMemAlloc_v2(&device[i], sizeof(a));
    cuMemcpyHtoD_v2(device[0], a, sizeof(a));
    cuMemcpyHtoD_v2(device[1], b, sizeof(b));
    cublasSgemm_v2(handle, WS_CUBLAS_OP_N, WS_CUBLAS_OP_N, SIZE, SIZE, SIZE, &one, (void *)(uintptr_t)device[0], SIZE,
                   (void *)(uintptr_t)device[1], SIZE, &zero, (void *)(uintptr_t)device[2], SIZE);
    cuStreamSynchronize(stream);
    cuMemcpyDtoH_v2(c, device[2], sizeof(c));
    double sum = 0;
    for (int i = 0; i < SIZE * SIZE; i++)
        sum += (double)c[i] * (1 + i % 3);
    printf("sum %.0f\n", sum);
}

static void set_size(ws_cublasLtMatrixLayout *layout, uint64_t rows, uint64_t columns)
{
    cublasLtMatrixLayoutSetAttribute(layout, WS_CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof(rows));
    cublasLtMatrixLayoutSetAttribute(layout, WS_CUBLASLT_MATRIX_LAYOUT_COLS, &columns, sizeof(columns));
}

/* All calls of this function use the same cuBLASLt descriptors, and change their contents. */
static void lt_product(ws_cublasHandle handle, ws_CUstream stream, int m, int n, int k, unsigned epilogue)
{
    static ws_cublasLtMatmulDesc *desc;
    static ws_cublasLtMatrixLayout *layouts[3];
    int transposed = WS_CUBLAS_OP_T;
    if (!desc) {
        cublasLtMatmulDescCreate(&desc, WS_CUBLAS_COMPUTE_32F, WS_CUDA_R_32F);
        cublasLtMatmulDescSetAttribute(desc, WS_CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof(transposed));
        for (int i = 0; i < 3; i++)
            cublasLtMatrixLayoutCreate(&layouts[i], WS_CUDA_R_16BF, 1, 1, 1);
    }
    cublasLtMatmulDescSetAttribute(desc, WS_CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue));
    set_size(layouts[0], (uint64_t)k, (uint64_t)m);
    set_size(layouts[1], (uint64_t)k, (uint64_t)n);
    set_size(layouts[2], (uint64_t)m, (uint64_t)n);
    cublasLtMatmul(handle, desc, &one, NULL, layouts[0], NULL, layouts[1], &zero, NULL, layouts[2], NULL, layouts[2],
                   NULL, NULL, 0, stream);
}

static sigjmp_buf before_fault;

static void leave(int signal)
{
    siglongjmp(before_fault, signal);
}

/* A product that a SIGSEGV handler leaves by siglongjmp. The shim must not treat later products as nested in this
 * one. */
static void fault(void)
{
    struct sigaction action = { .sa_handler = leave }, old;
    sigaction(SIGSEGV, &action, &old);
    if (!sigsetjmp(before_fault, 1))
        cublasSgemm_v2(NULL, WS_CUBLAS_OP_N, WS_CUBLAS_OP_N, SIZE, SIZE, SIZE, &one, NULL, SIZE, NULL, SIZE, &zero,
                       NULL, SIZE);
    else
        printf("left a product\n");
    sigaction(SIGSEGV, &old, NULL);
}

int main(void)
{
    ws_CUcontext context;
    ws_CUdevice device;
    ws_CUstream stream;
    ws_cublasHandle handle, lt;
    cuInit(0);
    cuDeviceGet(&device, 0);
    cuCtxCreate_v2(&context, 0, device);
    cuStreamCreate(&stream, 0);
    printf("create %d\n", cublasCreate_v2(&handle) | cublasLtCreate(&lt));
    cublasSetStream_v2(handle, stream);
    fault();
    compute(handle, stream);
    for (int step = 0; step < STEPS; step++) {
        cublasGemmEx(handle, WS_CUBLAS_OP_T, WS_CUBLAS_OP_N, 4096, 1024, 2048, &one, NULL, WS_CUDA_R_16BF, 2048, NULL,
                     WS_CUDA_R_16BF, 2048, &zero, NULL, WS_CUDA_R_16BF, 4096, WS_CUBLAS_COMPUTE_32F, -1);
        /* the kernel and the grid are those of the product above, but k is smaller */
        cublasGemmEx(handle, WS_CUBLAS_OP_T, WS_CUBLAS_OP_N, 4096, 1024, 256, &one, NULL, WS_CUDA_R_16BF, 256, NULL,
                     WS_CUDA_R_16BF, 256, &zero, NULL, WS_CUDA_R_16BF, 4096, WS_CUBLAS_COMPUTE_32F, -1);
        cublasGemmEx_64(handle, WS_CUBLAS_OP_N, WS_CUBLAS_OP_N, 1000, 3000, 500, &one, NULL, WS_CUDA_R_16F, 1000,
                        NULL, WS_CUDA_R_16F, 500, &zero, NULL, WS_CUDA_R_16F, 1000, WS_CUBLAS_COMPUTE_32F, -1);
        cublasGemmStridedBatchedEx(handle, WS_CUBLAS_OP_N, WS_CUBLAS_OP_N, 512, 512, 64, &one, NULL, WS_CUDA_R_16BF,
                                   512, 32768, NULL, WS_CUDA_R_16BF, 64, 32768, &zero, NULL, WS_CUDA_R_16BF, 512,
                                   262144, 96, WS_CUBLAS_COMPUTE_32F, -1);
        cublasDgemm_v2(handle, WS_CUBLAS_OP_N, WS_CUBLAS_OP_N, 256, 256, 256, &one, NULL, 256, NULL, 256, &zero, NULL,
                       256);
        cublasSgemv_v2(handle, WS_CUBLAS_OP_T, 8192, 4096, &one, NULL, 8192, NULL, 1, &zero, NULL, 1);
        lt_product(lt, stream, 4096, 1024, 4096, WS_CUBLASLT_EPILOGUE_DEFAULT);
        lt_product(lt, stream, 1024, 1024, 128, 32);
        cuStreamSynchronize(stream);
    }
    cuCtxDestroy_v2(context);
    return 0;
}
