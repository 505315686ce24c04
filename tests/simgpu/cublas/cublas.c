/* The simulated cuBLAS. */
#include <stdlib.h>

#include "cublas/product.h"

#define CUBLAS_API(name, ...)                                                 \
    __attribute__((visibility("default"))) ws_cublasStatus name(__VA_ARGS__); \
    __attribute__((visibility("default"))) ws_cublasStatus name(__VA_ARGS__)

struct handle {
    ws_CUstream stream;
};

CUBLAS_API(cublasCreate_v2, ws_cublasHandle *handle)
{
    *handle = calloc(1, sizeof(struct handle));
    return *handle ? WS_CUBLAS_STATUS_SUCCESS : WS_CUBLAS_STATUS_NOT_INITIALIZED;
}

CUBLAS_API(cublasDestroy_v2, ws_cublasHandle handle)
{
    free(handle);
    return WS_CUBLAS_STATUS_SUCCESS;
}

CUBLAS_API(cublasGetVersion_v2, ws_cublasHandle handle, int *version)
{
    (void)handle;
    *version = 130000;
    return WS_CUBLAS_STATUS_SUCCESS;
}

CUBLAS_API(cublasSetStream_v2, ws_cublasHandle handle, ws_CUstream stream)
{
    ((struct handle *)handle)->stream = stream;
    return WS_CUBLAS_STATUS_SUCCESS;
}

__attribute__((visibility("default"))) const char *cublasGetStatusName(ws_cublasStatus status);

__attribute__((visibility("default"))) const char *cublasGetStatusName(ws_cublasStatus status)
{
    return status == WS_CUBLAS_STATUS_SUCCESS         ? "CUBLAS_STATUS_SUCCESS"
           : status == WS_CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                                      : "CUBLAS_STATUS_NOT_INITIALIZED";
}

static ws_cublasStatus gemm(ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, int64_t m, int64_t n,
                            int64_t k, int64_t batch, uint64_t type, ws_cublasPointer a, int64_t lda,
                            ws_cublasPointer b, int64_t ldb, void *c, int64_t ldc)
{
    struct sim_product product = { .m = (uint64_t)m,
                                   .n = (uint64_t)n,
                                   .k = (uint64_t)k,
                                   .batch = (uint64_t)batch,
                                   .type = type,
                                   .a = (uint64_t)(uintptr_t)a,
                                   .b = (uint64_t)(uintptr_t)b,
                                   .c = (uint64_t)(uintptr_t)c,
                                   .lda = (uint64_t)lda,
                                   .ldb = (uint64_t)ldb,
                                   .ldc = (uint64_t)ldc,
                                   .transposed = (uint64_t)(transa != WS_CUBLAS_OP_N) |
                                                 (uint64_t)(transb != WS_CUBLAS_OP_N) << 1 };
    return sim_product_launch(&product, ((struct handle *)handle)->stream);
}

#define GEMM(name, type)                                                                                      \
    CUBLAS_API(name, ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, int m, int n, int k, \
               ws_cublasPointer alpha, ws_cublasPointer a, int lda, ws_cublasPointer b, int ldb,              \
               ws_cublasPointer beta, void *c, int ldc)                                                       \
    {                                                                                                         \
        (void)alpha;                                                                                          \
        (void)beta;                                                                                           \
        return gemm(handle, transa, transb, m, n, k, 1, type, a, lda, b, ldb, c, ldc);                        \
    }
GEMM(cublasSgemm_v2, WS_CUDA_R_32F)
GEMM(cublasDgemm_v2, WS_CUDA_R_64F)
GEMM(cublasHgemm, WS_CUDA_R_16F)

CUBLAS_API(cublasSgemmStridedBatched, ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, int m,
           int n, int k, ws_cublasPointer alpha, ws_cublasPointer a, int lda, long long stridea, ws_cublasPointer b,
           int ldb, long long strideb, ws_cublasPointer beta, void *c, int ldc, long long stridec, int batch)
{
    (void)alpha;
    (void)beta;
    (void)stridea;
    (void)strideb;
    (void)stridec;
    return gemm(handle, transa, transb, m, n, k, batch, WS_CUDA_R_32F, a, lda, b, ldb, c, ldc);
}

CUBLAS_API(cublasSgemv_v2, ws_cublasHandle handle, ws_cublasEnum trans, int m, int n, ws_cublasPointer alpha,
           ws_cublasPointer a, int lda, ws_cublasPointer x, int incx, ws_cublasPointer beta, void *y, int incy)
{
    bool plain = trans == WS_CUBLAS_OP_N;
    (void)alpha;
    (void)beta;
    (void)incy;
    return gemm(handle, trans, WS_CUBLAS_OP_N, plain ? m : n, 1, plain ? n : m, 1, WS_CUDA_R_32F, a, lda, x, incx, y,
                m);
}

CUBLAS_API(cublasGemmEx, ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, int m, int n, int k,
           ws_cublasPointer alpha, ws_cublasPointer a, ws_cublasEnum atype, int lda, ws_cublasPointer b,
           ws_cublasEnum btype, int ldb, ws_cublasPointer beta, void *c, ws_cublasEnum ctype, int ldc,
           ws_cublasEnum compute, ws_cublasEnum algo)
{
    (void)alpha;
    (void)beta;
    (void)btype;
    (void)ctype;
    (void)algo;
    return gemm(handle, transa, transb, m, n, k, 1, sim_product_type(atype, compute), a, lda, b, ldb, c, ldc);
}

CUBLAS_API(cublasGemmEx_64, ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, int64_t m, int64_t n,
           int64_t k, ws_cublasPointer alpha, ws_cublasPointer a, ws_cublasEnum atype, int64_t lda,
           ws_cublasPointer b, ws_cublasEnum btype, int64_t ldb, ws_cublasPointer beta, void *c, ws_cublasEnum ctype,
           int64_t ldc, ws_cublasEnum compute, ws_cublasEnum algo)
{
    (void)alpha;
    (void)beta;
    (void)btype;
    (void)ctype;
    (void)algo;
    return gemm(handle, transa, transb, m, n, k, 1, sim_product_type(atype, compute), a, lda, b, ldb, c, ldc);
}

CUBLAS_API(cublasGemmStridedBatchedEx, ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, int m,
           int n, int k, ws_cublasPointer alpha, ws_cublasPointer a, ws_cublasEnum atype, int lda, long long stridea,
           ws_cublasPointer b, ws_cublasEnum btype, int ldb, long long strideb, ws_cublasPointer beta, void *c,
           ws_cublasEnum ctype, int ldc, long long stridec, int batch, ws_cublasEnum compute, ws_cublasEnum algo)
{
    (void)alpha;
    (void)beta;
    (void)stridea;
    (void)strideb;
    (void)stridec;
    (void)btype;
    (void)ctype;
    (void)algo;
    return gemm(handle, transa, transb, m, n, k, batch, sim_product_type(atype, compute), a, lda, b, ldb, c, ldc);
}
