/* The wrapped functions of cuBLAS and cuBLASLt, which compute GEMMs. Include this file like driver_table.h, with this
 * macro defined:
 *
 *   CUBLAS_ROW(library, symbol, parameters, arguments, gemm)
 *
 * library is the name of the library's file without "lib" and ".so". gemm is an expression that tells what the call
 * computes; it uses macros of libraries/cublas.c. For each cuBLAS function in this table, cuBLAS has a second
 * function with 64-bit sizes (suffix _64), which is wrapped too. Not wrapped: complex GEMMs, grouped GEMMs, and
 * products of triangular or symmetric matrices. Kernels that these unwrapped functions launch are recorded, but not
 * the sizes of the products that they compute. */
#ifndef CUBLAS_ROW
#error "define CUBLAS_ROW before including cublas_table.h"
#endif
/* clang-format off */
#define CUBLAS_GEMM(symbol, integer, type)                                                                             \
    CUBLAS_ROW(cublas, symbol,                                                                                         \
        (ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, integer m, integer n, integer k,          \
         ws_cublasPointer alpha, ws_cublasPointer a, integer lda, ws_cublasPointer b, integer ldb,                     \
         ws_cublasPointer beta, void *c, integer ldc),                                                                 \
        (handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc),                                        \
        GEMM(m, n, k, 1, type, type, 0))
#define CUBLAS_BATCHED(symbol, integer, type)                                                                          \
    CUBLAS_ROW(cublas, symbol,                                                                                         \
        (ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, integer m, integer n, integer k,          \
         ws_cublasPointer alpha, const ws_cublasPointer a[], integer lda, const ws_cublasPointer b[], integer ldb,     \
         ws_cublasPointer beta, void *const c[], integer ldc, integer batch),                                          \
        (handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch),                                 \
        GEMM(m, n, k, batch, type, type, 0))
#define CUBLAS_STRIDED(symbol, integer, type)                                                                          \
    CUBLAS_ROW(cublas, symbol,                                                                                         \
        (ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, integer m, integer n, integer k,          \
         ws_cublasPointer alpha, ws_cublasPointer a, integer lda, long long stridea, ws_cublasPointer b, integer ldb,  \
         long long strideb, ws_cublasPointer beta, void *c, integer ldc, long long stridec, integer batch),            \
        (handle, transa, transb, m, n, k, alpha, a, lda, stridea, b, ldb, strideb, beta, c, ldc, stridec, batch),      \
        GEMM(m, n, k, batch, type, type, 0))
#define CUBLAS_GEMV(symbol, integer, type)                                                                             \
    CUBLAS_ROW(cublas, symbol,                                                                                         \
        (ws_cublasHandle handle, ws_cublasEnum trans, integer m, integer n, ws_cublasPointer alpha,                    \
         ws_cublasPointer a, integer lda, ws_cublasPointer x, integer incx, ws_cublasPointer beta, void *y,            \
         integer incy),                                                                                                \
        (handle, trans, m, n, alpha, a, lda, x, incx, beta, y, incy),                                                  \
        GEMM(trans == WS_CUBLAS_OP_N ? m : n, 1, trans == WS_CUBLAS_OP_N ? n : m, 1, type, type, 0))
#define CUBLAS_EX(suffix, integer)                                                                                     \
    CUBLAS_ROW(cublas, cublasSgemmEx##suffix,                                                                          \
        (ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, integer m, integer n, integer k,          \
         ws_cublasPointer alpha, ws_cublasPointer a, ws_cublasEnum atype, integer lda, ws_cublasPointer b,             \
         ws_cublasEnum btype, integer ldb, ws_cublasPointer beta, void *c, ws_cublasEnum ctype, integer ldc),          \
        (handle, transa, transb, m, n, k, alpha, a, atype, lda, b, btype, ldb, beta, c, ctype, ldc),                   \
        GEMM(m, n, k, 1, atype, btype, 0))                                                                          \
    CUBLAS_ROW(cublas, cublasGemmEx##suffix,                                                                           \
        (ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, integer m, integer n, integer k,          \
         ws_cublasPointer alpha, ws_cublasPointer a, ws_cublasEnum atype, integer lda, ws_cublasPointer b,             \
         ws_cublasEnum btype, integer ldb, ws_cublasPointer beta, void *c, ws_cublasEnum ctype, integer ldc,           \
         ws_cublasEnum compute, ws_cublasEnum algo),                                                                   \
        (handle, transa, transb, m, n, k, alpha, a, atype, lda, b, btype, ldb, beta, c, ctype, ldc, compute, algo),    \
        GEMM(m, n, k, 1, atype, btype, compute))                                                                    \
    CUBLAS_ROW(cublas, cublasGemmBatchedEx##suffix,                                                                    \
        (ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, integer m, integer n, integer k,          \
         ws_cublasPointer alpha, const ws_cublasPointer a[], ws_cublasEnum atype, integer lda,                         \
         const ws_cublasPointer b[], ws_cublasEnum btype, integer ldb, ws_cublasPointer beta, void *const c[],         \
         ws_cublasEnum ctype, integer ldc, integer batch, ws_cublasEnum compute, ws_cublasEnum algo),                  \
        (handle, transa, transb, m, n, k, alpha, a, atype, lda, b, btype, ldb, beta, c, ctype, ldc, batch, compute,    \
         algo),                                                                                                        \
        GEMM(m, n, k, batch, atype, btype, compute))                                                                \
    CUBLAS_ROW(cublas, cublasGemmStridedBatchedEx##suffix,                                                             \
        (ws_cublasHandle handle, ws_cublasEnum transa, ws_cublasEnum transb, integer m, integer n, integer k,          \
         ws_cublasPointer alpha, ws_cublasPointer a, ws_cublasEnum atype, integer lda, long long stridea,              \
         ws_cublasPointer b, ws_cublasEnum btype, integer ldb, long long strideb, ws_cublasPointer beta, void *c,      \
         ws_cublasEnum ctype, integer ldc, long long stridec, integer batch, ws_cublasEnum compute,                    \
         ws_cublasEnum algo),                                                                                          \
        (handle, transa, transb, m, n, k, alpha, a, atype, lda, stridea, b, btype, ldb, strideb, beta, c, ctype, ldc,  \
         stridec, batch, compute, algo),                                                                               \
        GEMM(m, n, k, batch, atype, btype, compute))
#define CUBLAS_BOTH(kind, symbol, type) \
    kind(symbol, int, type)             \
    kind(symbol##_64, int64_t, type)

CUBLAS_BOTH(CUBLAS_GEMM, cublasSgemm_v2, WS_CUDA_R_32F)
CUBLAS_BOTH(CUBLAS_GEMM, cublasDgemm_v2, WS_CUDA_R_64F)
CUBLAS_BOTH(CUBLAS_GEMM, cublasHgemm, WS_CUDA_R_16F)
CUBLAS_BOTH(CUBLAS_BATCHED, cublasSgemmBatched, WS_CUDA_R_32F)
CUBLAS_BOTH(CUBLAS_BATCHED, cublasDgemmBatched, WS_CUDA_R_64F)
CUBLAS_BOTH(CUBLAS_BATCHED, cublasHgemmBatched, WS_CUDA_R_16F)
CUBLAS_BOTH(CUBLAS_STRIDED, cublasSgemmStridedBatched, WS_CUDA_R_32F)
CUBLAS_BOTH(CUBLAS_STRIDED, cublasDgemmStridedBatched, WS_CUDA_R_64F)
CUBLAS_BOTH(CUBLAS_STRIDED, cublasHgemmStridedBatched, WS_CUDA_R_16F)
CUBLAS_BOTH(CUBLAS_GEMV, cublasSgemv_v2, WS_CUDA_R_32F)
CUBLAS_BOTH(CUBLAS_GEMV, cublasDgemv_v2, WS_CUDA_R_64F)
CUBLAS_EX(, int)
CUBLAS_EX(_64, int64_t)
CUBLAS_ROW(cublasLt, cublasLtMatmul,
    (ws_cublasHandle handle, ws_cublasLtMatmulDesc *desc, ws_cublasPointer alpha, ws_cublasPointer a,
     ws_cublasLtMatrixLayout *alayout, ws_cublasPointer b, ws_cublasLtMatrixLayout *blayout, ws_cublasPointer beta,
     ws_cublasPointer c, ws_cublasLtMatrixLayout *clayout, void *d, ws_cublasLtMatrixLayout *dlayout, const void *algo,
     void *workspace, size_t workspace_bytes, ws_CUstream stream),
    (handle, desc, alpha, a, alayout, b, blayout, beta, c, clayout, d, dlayout, algo, workspace, workspace_bytes, stream),
    LT_GEMM(desc, alayout, blayout, dlayout))
/* clang-format on */
#undef CUBLAS_GEMM
#undef CUBLAS_BATCHED
#undef CUBLAS_STRIDED
#undef CUBLAS_GEMV
#undef CUBLAS_EX
#undef CUBLAS_BOTH
#undef CUBLAS_ROW
