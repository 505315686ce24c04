/* A cuBLAS and a cuBLASLt whose products cost nothing. */
#include <string.h>

#include "shim/abi/cublas.h"
#include "shim/abi/cuda.h"

#define CUBLAS_FUNCTION(...)                                            \
    __attribute__((visibility("default"))) ws_cublasStatus __VA_ARGS__; \
    ws_cublasStatus __VA_ARGS__

CUBLAS_FUNCTION(cublasGemmEx(ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, int m, int n, int k,
                             ws_cublasPointer alpha, ws_cublasPointer a, ws_cublasEnum atype, int lda,
                             ws_cublasPointer b, ws_cublasEnum btype, int ldb, ws_cublasPointer beta, void *c,
                             ws_cublasEnum ctype, int ldc, ws_cublasEnum compute, ws_cublasEnum algo))
{
    (void)handle, (void)transa, (void)transb, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)atype, (void)lda;
    (void)b, (void)btype, (void)ldb, (void)beta, (void)c, (void)ctype, (void)ldc, (void)compute, (void)algo;
    return WS_CUBLAS_STATUS_SUCCESS;
}

CUBLAS_FUNCTION(cublasLtMatmul(ws_cublasHandle handle, ws_cublasLtMatmulDesc *desc, ws_cublasPointer alpha,
                               ws_cublasPointer a, ws_cublasLtMatrixLayout *alayout, ws_cublasPointer b,
                               ws_cublasLtMatrixLayout *blayout, ws_cublasPointer beta, ws_cublasPointer c,
                               ws_cublasLtMatrixLayout *clayout, void *d, ws_cublasLtMatrixLayout *dlayout,
                               const void *algo, void *workspace, size_t workspace_bytes, ws_CUstream stream))
{
    (void)handle, (void)desc, (void)alpha, (void)a, (void)alayout, (void)b, (void)blayout, (void)beta, (void)c;
    (void)clayout, (void)d, (void)dlayout, (void)algo, (void)workspace, (void)workspace_bytes, (void)stream;
    return WS_CUBLAS_STATUS_SUCCESS;
}

/* Every attribute is 1: a product of no size would not be recorded. */
CUBLAS_FUNCTION(cublasLtMatrixLayoutGetAttribute(const void *layout, ws_cublasEnum which, void *value, size_t size,
                                                 size_t *written))
{
    (void)layout, (void)which, (void)written;
    memcpy(value, &(uint64_t){ 1 }, size);
    return WS_CUBLAS_STATUS_SUCCESS;
}

CUBLAS_FUNCTION(cublasLtMatmulDescGetAttribute(const void *desc, ws_cublasEnum which, void *value, size_t size,
                                               size_t *written))
{
    return cublasLtMatrixLayoutGetAttribute(desc, which, value, size, written);
}
