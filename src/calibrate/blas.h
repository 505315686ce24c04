/* cuBLAS and cuBLASLt for a calibration, loaded at run time in whichever version is installed. */
#ifndef WALLSHIM_CALIBRATE_BLAS_H
#define WALLSHIM_CALIBRATE_BLAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/cublas.h"
#include "calibrate/driver.h"

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
    ws_cublasHandle handle, lt_handle;                  /* lt_handle is NULL if cuBLASLt is not available */
    int version;                                        /* version of cuBLAS: 130100 for 13.1.0 */
    char status_text[32];
};

/* A GEMM of square column-major matrices. The first matrix is transposed. */
struct ws_blas_gemm {
    ws_cublasEnum type, result_type, compute, scale_type;
    const void *one, *zero; /* pointers to numbers of the scale type */
    bool by_lt;
    int size;
    ws_CUdeviceptr a, b, c;
    ws_CUdeviceptr workspace; /* device memory that cuBLASLt may use for intermediate results */
    size_t workspace_bytes;
};

/* Opens the newest installed cuBLAS that works with the driver, and makes it launch on `stream`. Returns 0, or -errno
 * with the reason in message. Call ws_blas_close in both cases. */
int ws_blas_open(struct ws_blas *blas, ws_CUstream stream, char *message, size_t capacity);

void ws_blas_close(struct ws_blas *blas);

/* Launches the GEMM on the stream. */
ws_cublasStatus ws_blas_multiply(const struct ws_blas *blas, const struct ws_blas_gemm *gemm, ws_CUstream stream);

/* Returns "CUBLAS_STATUS_…". */
const char *ws_blas_status(struct ws_blas *blas, ws_cublasStatus status);

#endif
