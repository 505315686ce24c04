/* The part of the binary interface of cuBLAS and cuBLASLt that wallshim uses. See abi/cuda.h for the conventions.
 *
 * Source: cublas_api.h, cublasLt.h and library_types.h of CUDA 13.0. */
#ifndef WALLSHIM_ABI_CUBLAS_H
#define WALLSHIM_ABI_CUBLAS_H

#include <stddef.h>
#include <stdint.h>

#define WS_CUBLAS_VALUES(X)                  \
    X(CUBLAS_STATUS_SUCCESS, 0)              \
    X(CUBLAS_STATUS_NOT_INITIALIZED, 1)      \
    X(CUBLAS_STATUS_NOT_SUPPORTED, 15)       \
    X(CUBLAS_GEMM_DEFAULT, -1)               \
    X(CUBLAS_OP_N, 0)                        \
    X(CUBLAS_OP_T, 1)                        \
    X(CUDA_R_32F, 0)                         \
    X(CUDA_R_64F, 1)                         \
    X(CUDA_R_16F, 2)                         \
    X(CUDA_R_8I, 3)                          \
    X(CUDA_R_32I, 10)                        \
    X(CUDA_R_16BF, 14)                       \
    X(CUDA_R_8F_E4M3, 28)                    \
    X(CUDA_R_8F_E5M2, 29)                    \
    X(CUDA_R_4F_E2M1, 33)                    \
    X(CUBLAS_COMPUTE_16F, 64)                \
    X(CUBLAS_COMPUTE_32F, 68)                \
    X(CUBLAS_COMPUTE_64F, 70)                \
    X(CUBLAS_COMPUTE_32I, 72)                \
    X(CUBLAS_COMPUTE_32F_FAST_16F, 74)       \
    X(CUBLAS_COMPUTE_32F_FAST_16BF, 75)      \
    X(CUBLAS_COMPUTE_32F_FAST_TF32, 77)      \
    X(CUBLASLT_MATRIX_LAYOUT_TYPE, 0)        \
    X(CUBLASLT_MATRIX_LAYOUT_ROWS, 2)        \
    X(CUBLASLT_MATRIX_LAYOUT_COLS, 3)        \
    X(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 5) \
    X(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 0)  \
    X(CUBLASLT_MATMUL_DESC_TRANSA, 3)        \
    X(CUBLASLT_MATMUL_DESC_TRANSB, 4)        \
    X(CUBLASLT_MATMUL_DESC_EPILOGUE, 7)      \
    X(CUBLASLT_MATMUL_DESC_FAST_ACCUM, 25)   \
    X(CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8)  \
    X(CUBLASLT_EPILOGUE_DEFAULT, 1)          \
    X(CUBLASLT_EPILOGUE_RELU, 2)             \
    X(CUBLASLT_EPILOGUE_BIAS, 4)

enum {
#define X(name, value) WS_##name = (value),
    WS_CUBLAS_VALUES(X)
#undef X
};

typedef int ws_cublasStatus;
typedef int ws_cublasEnum; /* data types, operations, compute types: all enumerations are int-sized */
typedef void *ws_cublasHandle;
typedef const void *ws_cublasPointer; /* points to numbers of any type, on the host or the device */

/* Opaque descriptors. The toolkit's headers give only their sizes in 64-bit words. A matrix layout has had 8 words
 * since CUDA 11.0. A matmul descriptor had 11 words in CUDA 11.0, 23 in CUDA 12.0 and 32 in CUDA 13.0. */
typedef struct {
    uint64_t data[8];
} ws_cublasLtMatrixLayout;
typedef struct {
    uint64_t data[32];
} ws_cublasLtMatmulDesc;

#endif
