/* The simulated cuBLASLt. A descriptor is an array of attribute values, indexed by attribute number. */
#include <stdlib.h>
#include <string.h>

#include "cublas/product.h"

#define CUBLASLT_API(name, ...)                                               \
    __attribute__((visibility("default"))) ws_cublasStatus name(__VA_ARGS__); \
    __attribute__((visibility("default"))) ws_cublasStatus name(__VA_ARGS__)

enum { LAYOUT_ATTRIBUTES = 8, DESC_ATTRIBUTES = 32 };

static ws_cublasStatus set(uint64_t *attributes, int count, ws_cublasEnum which, const void *value, size_t size)
{
    if (which < 0 || which >= count || size > sizeof(*attributes))
        return WS_CUBLAS_STATUS_NOT_INITIALIZED;
    attributes[which] = 0;
    memcpy(&attributes[which], value, size);
    return WS_CUBLAS_STATUS_SUCCESS;
}

static ws_cublasStatus get(const uint64_t *attributes, int count, ws_cublasEnum which, void *value, size_t size,
                           size_t *written)
{
    if (which < 0 || which >= count || size > sizeof(*attributes))
        return WS_CUBLAS_STATUS_NOT_INITIALIZED;
    memcpy(value, &attributes[which], size);
    if (written)
        *written = size;
    return WS_CUBLAS_STATUS_SUCCESS;
}

CUBLASLT_API(cublasLtCreate, ws_cublasHandle *handle)
{
    *handle = malloc(1);
    return *handle ? WS_CUBLAS_STATUS_SUCCESS : WS_CUBLAS_STATUS_NOT_INITIALIZED;
}

CUBLASLT_API(cublasLtDestroy, ws_cublasHandle handle)
{
    free(handle);
    return WS_CUBLAS_STATUS_SUCCESS;
}

CUBLASLT_API(cublasLtMatrixLayoutCreate, ws_cublasLtMatrixLayout **layout, ws_cublasEnum type, uint64_t rows,
             uint64_t cols, int64_t ld)
{
    *layout = calloc(1, sizeof(**layout));
    if (!*layout)
        return WS_CUBLAS_STATUS_NOT_INITIALIZED;
    (*layout)->data[WS_CUBLASLT_MATRIX_LAYOUT_TYPE] = (uint64_t)type;
    (*layout)->data[WS_CUBLASLT_MATRIX_LAYOUT_ROWS] = rows;
    (*layout)->data[WS_CUBLASLT_MATRIX_LAYOUT_COLS] = cols;
    (*layout)->data[4] = (uint64_t)ld;
    (*layout)->data[WS_CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = 1;
    return WS_CUBLAS_STATUS_SUCCESS;
}

CUBLASLT_API(cublasLtMatrixLayoutDestroy, ws_cublasLtMatrixLayout *layout)
{
    free(layout);
    return WS_CUBLAS_STATUS_SUCCESS;
}

CUBLASLT_API(cublasLtMatrixLayoutSetAttribute, ws_cublasLtMatrixLayout *layout, ws_cublasEnum which,
             const void *value, size_t size)
{
    return set(layout->data, LAYOUT_ATTRIBUTES, which, value, size);
}

CUBLASLT_API(cublasLtMatrixLayoutGetAttribute, const ws_cublasLtMatrixLayout *layout, ws_cublasEnum which,
             void *value, size_t size, size_t *written)
{
    return get(layout->data, LAYOUT_ATTRIBUTES, which, value, size, written);
}

CUBLASLT_API(cublasLtMatmulDescCreate, ws_cublasLtMatmulDesc **desc, ws_cublasEnum compute, ws_cublasEnum scale)
{
    *desc = calloc(1, sizeof(**desc));
    if (!*desc)
        return WS_CUBLAS_STATUS_NOT_INITIALIZED;
    (*desc)->data[WS_CUBLASLT_MATMUL_DESC_COMPUTE_TYPE] = (uint64_t)compute;
    (*desc)->data[1] = (uint64_t)scale;
    (*desc)->data[WS_CUBLASLT_MATMUL_DESC_EPILOGUE] = WS_CUBLASLT_EPILOGUE_DEFAULT;
    return WS_CUBLAS_STATUS_SUCCESS;
}

CUBLASLT_API(cublasLtMatmulDescDestroy, ws_cublasLtMatmulDesc *desc)
{
    free(desc);
    return WS_CUBLAS_STATUS_SUCCESS;
}

CUBLASLT_API(cublasLtMatmulDescSetAttribute, ws_cublasLtMatmulDesc *desc, ws_cublasEnum which, const void *value,
             size_t size)
{
    return set(desc->data, DESC_ATTRIBUTES, which, value, size);
}

CUBLASLT_API(cublasLtMatmulDescGetAttribute, const ws_cublasLtMatmulDesc *desc, ws_cublasEnum which, void *value,
             size_t size, size_t *written)
{
    return get(desc->data, DESC_ATTRIBUTES, which, value, size, written);
}

CUBLASLT_API(cublasLtMatmul, ws_cublasHandle handle, ws_cublasLtMatmulDesc *desc, ws_cublasPointer alpha,
             ws_cublasPointer a, ws_cublasLtMatrixLayout *alayout, ws_cublasPointer b,
             ws_cublasLtMatrixLayout *blayout, ws_cublasPointer beta, ws_cublasPointer c,
             ws_cublasLtMatrixLayout *clayout, void *d, ws_cublasLtMatrixLayout *dlayout, const void *algo,
             void *workspace, size_t workspace_bytes, ws_CUstream stream)
{
    bool transa = desc->data[WS_CUBLASLT_MATMUL_DESC_TRANSA] != WS_CUBLAS_OP_N;
    bool transb = desc->data[WS_CUBLASLT_MATMUL_DESC_TRANSB] != WS_CUBLAS_OP_N;
    (void)handle;
    (void)alpha;
    (void)beta;
    (void)c;
    (void)clayout;
    (void)algo;
    (void)workspace;
    (void)workspace_bytes;
    struct sim_product product = {
        .m = dlayout->data[WS_CUBLASLT_MATRIX_LAYOUT_ROWS],
        .n = dlayout->data[WS_CUBLASLT_MATRIX_LAYOUT_COLS],
        .k = alayout->data[transa ? WS_CUBLASLT_MATRIX_LAYOUT_ROWS : WS_CUBLASLT_MATRIX_LAYOUT_COLS],
        .batch = dlayout->data[WS_CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT],
        .type = sim_product_type((ws_cublasEnum)alayout->data[WS_CUBLASLT_MATRIX_LAYOUT_TYPE],
                                 (ws_cublasEnum)desc->data[WS_CUBLASLT_MATMUL_DESC_COMPUTE_TYPE]),
        .a = (uint64_t)(uintptr_t)a,
        .b = (uint64_t)(uintptr_t)b,
        .c = (uint64_t)(uintptr_t)d,
        .lda = alayout->data[4],
        .ldb = blayout->data[4],
        .ldc = dlayout->data[4],
        .transposed = (uint64_t)transa | (uint64_t)transb << 1,
    };
    return sim_product_launch(&product, stream);
}
