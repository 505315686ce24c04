/* Replaces cuBLAS and cuBLASLt by functions that compute nothing, so that only the shim's work is measured. */
#include <stdlib.h>
#include <string.h>

#include "abi/cublas.h"
#include "abi/cuda.h"

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

/* Descriptors are arrays of 64-bit words; attribute number N is in words[N], as in the simulated cuBLASLt. */
static ws_cublasStatus get(const uint64_t *words, ws_cublasEnum which, void *value, size_t size)
{
    memcpy(value, &words[which], size);
    return WS_CUBLAS_STATUS_SUCCESS;
}

CUBLAS_FUNCTION(cublasLtMatrixLayoutGetAttribute(const ws_cublasLtMatrixLayout *layout, ws_cublasEnum which,
                                                 void *value, size_t size, size_t *written))
{
    (void)written;
    return get(layout->data, which, value, size);
}

CUBLAS_FUNCTION(cublasLtMatmulDescGetAttribute(const ws_cublasLtMatmulDesc *desc, ws_cublasEnum which, void *value,
                                               size_t size, size_t *written))
{
    (void)written;
    return get(desc->data, which, value, size);
}

CUBLAS_FUNCTION(cublasLtMatmulDescCreate(ws_cublasLtMatmulDesc **desc, ws_cublasEnum compute, ws_cublasEnum scale))
{
    (void)scale;
    *desc = calloc(1, sizeof(**desc));
    if (!*desc)
        return WS_CUBLAS_STATUS_NOT_INITIALIZED;
    (*desc)->data[WS_CUBLASLT_MATMUL_DESC_COMPUTE_TYPE] = (uint64_t)compute;
    return WS_CUBLAS_STATUS_SUCCESS;
}

CUBLAS_FUNCTION(cublasLtMatmulDescSetAttribute(ws_cublasLtMatmulDesc *desc, ws_cublasEnum which, const void *value,
                                               size_t size))
{
    memcpy(&desc->data[which], value, size);
    return WS_CUBLAS_STATUS_SUCCESS;
}

CUBLAS_FUNCTION(cublasLtMatmulDescDestroy(ws_cublasLtMatmulDesc *desc))
{
    free(desc);
    return WS_CUBLAS_STATUS_SUCCESS;
}
