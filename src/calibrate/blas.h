/* cuBLAS and cuBLASLt as a calibration uses them: found at run time, whichever version is there. */
#ifndef WALLSHIM_CALIBRATE_BLAS_H
#define WALLSHIM_CALIBRATE_BLAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calibrate/driver.h"
#include "shim/abi/cublas.h"

#define WS_BLAS_FUNCTIONS(X)                                                                         \
    X(create, cublasCreate_v2, (ws_cublasHandle * handle))                                           \
    X(destroy, cublasDestroy_v2, (ws_cublasHandle handle))                                           \
    X(set_stream, cublasSetStream_v2, (ws_cublasHandle handle, ws_CUstream stream))                  \
    X(version, cublasGetVersion_v2, (ws_cublasHandle handle, int *version))                          \
    X(gemm, cublasGemmEx,                                                                            \
      (ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, int m, int n, int k,      \
       ws_cublasPointer alpha, ws_cublasPointer a, ws_cublasEnum atype, int lda, ws_cublasPointer b, \
       ws_cublasEnum btype, int ldb, ws_cublasPointer beta, void *c, ws_cublasEnum ctype, int ldc,   \
       ws_cublasEnum compute, ws_cublasEnum algo))

#define WS_BLASLT_FUNCTIONS(X)                                                                              \
    X(create, cublasLtCreate, (ws_cublasHandle * handle))                                                   \
    X(destroy, cublasLtDestroy, (ws_cublasHandle handle))                                                   \
    X(desc_create, cublasLtMatmulDescCreate,                                                                \
      (ws_cublasLtMatmulDesc * *desc, ws_cublasEnum compute, ws_cublasEnum scale))                          \
    X(desc_destroy, cublasLtMatmulDescDestroy, (ws_cublasLtMatmulDesc * desc))                              \
    X(desc_set, cublasLtMatmulDescSetAttribute,                                                             \
      (ws_cublasLtMatmulDesc * desc, ws_cublasEnum which, const void *value, size_t size))                  \
    X(layout_create, cublasLtMatrixLayoutCreate,                                                            \
      (ws_cublasLtMatrixLayout * *layout, ws_cublasEnum type, uint64_t rows, uint64_t columns, int64_t ld)) \
    X(layout_destroy, cublasLtMatrixLayoutDestroy, (ws_cublasLtMatrixLayout * layout))                      \
    X(matmul, cublasLtMatmul,                                                                               \
      (ws_cublasHandle handle, ws_cublasLtMatmulDesc * desc, ws_cublasPointer alpha, ws_cublasPointer a,    \
       ws_cublasLtMatrixLayout * alayout, ws_cublasPointer b, ws_cublasLtMatrixLayout * blayout,            \
       ws_cublasPointer beta, ws_cublasPointer c, ws_cublasLtMatrixLayout * clayout, void *d,               \
       ws_cublasLtMatrixLayout *dlayout, const void *algo, void *workspace, size_t workspace_bytes,         \
       ws_CUstream stream))

struct ws_blas {
#define WS_BLAS_MEMBER(member, name, parameters) ws_cublasStatus(*member) parameters;
    struct {
        WS_BLAS_FUNCTIONS(WS_BLAS_MEMBER)
    } cublas;
    struct {
        WS_BLASLT_FUNCTIONS(WS_BLAS_MEMBER)
    } lt;
#undef WS_BLAS_MEMBER
    const char *(*status_name)(ws_cublasStatus status); /* NULL before CUDA 11.4 */
    ws_cublasHandle handle, lt_handle;                  /* lt_handle NULL: there is no cuBLASLt */
    int version;                                        /* 130100 for 13.1.0 */
    char status_text[32];
};

/* Square matrices, column by column; the first is transposed. */
struct ws_blas_product {
    ws_cublasEnum type, result_type, compute, scale_type;
    const void *one, *zero; /* of the scale type */
    bool by_lt;
    int size;
    ws_CUdeviceptr a, b, c;
    ws_CUdeviceptr workspace; /* for cuBLASLt */
    size_t workspace_bytes;
};

/* Opens the newest that works with the driver, on its stream. Returns 0, or -errno with the reason in message; to be
 * closed in either case. */
int ws_blas_open(struct ws_blas *blas, ws_CUstream stream, char *message, size_t capacity);

void ws_blas_close(struct ws_blas *blas);

/* Puts the product on the stream. */
ws_cublasStatus ws_blas_multiply(const struct ws_blas *blas, const struct ws_blas_product *product,
                                 ws_CUstream stream);

/* "CUBLAS_STATUS_…". */
const char *ws_blas_status(struct ws_blas *blas, ws_cublasStatus status);

#endif
