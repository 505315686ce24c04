/* Compares our declarations of cuBLAS's and cuBLASLt's binary interfaces with their headers: values, sizes, every row
 * of the table. */
#include <cublasLt.h>
#include <cublas_v2.h>

#include "calibrate/blas.h"
#include "src/abi/cublas.h"
#include "src/abi/cuda.h"
#include "abi.h"

static void compare_values()
{
#define VALUE(name, value) EXPECT((long long)WS_##name == (long long)name, #name " is %lld", (long long)name);
    WS_CUBLAS_VALUES(VALUE)
    EXPECT(sizeof(ws_cublasStatus) == sizeof(cublasStatus_t), "cublasStatus_t has %zu bytes", sizeof(cublasStatus_t));
    EXPECT(sizeof(ws_cublasEnum) == sizeof(cudaDataType), "cudaDataType has %zu bytes", sizeof(cudaDataType));
    EXPECT(sizeof(ws_cublasEnum) == sizeof(cublasComputeType_t), "cublasComputeType_t has %zu bytes",
           sizeof(cublasComputeType_t));
    EXPECT(sizeof(ws_cublasLtMatrixLayout) == sizeof(cublasLtMatrixLayoutOpaque_t), "a layout has %zu bytes",
           sizeof(cublasLtMatrixLayoutOpaque_t));
    EXPECT(sizeof(ws_cublasLtMatmulDesc) == sizeof(cublasLtMatmulDescOpaque_t), "a descriptor has %zu bytes",
           sizeof(cublasLtMatmulDescOpaque_t));
}

/* For C++ the header overloads these functions. The overloads with a compute type are those that the library
 * exports. */
using gemm_ex = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void *,
                               const void *, cudaDataType, int, const void *, cudaDataType, int, const void *, void *,
                               cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
using gemm_batched_ex = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                                       const void *, const void *const[], cudaDataType, int, const void *const[],
                                       cudaDataType, int, const void *, void *const[], cudaDataType, int, int,
                                       cublasComputeType_t, cublasGemmAlgo_t);
using gemm_strided_ex = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                                       const void *, const void *, cudaDataType, int, long long, const void *,
                                       cudaDataType, int, long long, const void *, void *, cudaDataType, int, long long,
                                       int, cublasComputeType_t, cublasGemmAlgo_t);
static gemm_ex &library_cublasGemmEx = cublasGemmEx;
static gemm_batched_ex &library_cublasGemmBatchedEx = cublasGemmBatchedEx;
static gemm_strided_ex &library_cublasGemmStridedBatchedEx = cublasGemmStridedBatchedEx;
#define cublasGemmEx library_cublasGemmEx
#define cublasGemmBatchedEx library_cublasGemmBatchedEx
#define cublasGemmStridedBatchedEx library_cublasGemmStridedBatchedEx

static void compare_functions()
{
#define DRIVER_TYPE(symbol, typedef_name, parameters)
#define NCCL_TYPE(symbol, parameters)
#define CUDNN_TYPE(symbol, parameters)
#define CUBLAS_TYPE(symbol, parameters) \
    comparison<ws_cublasStatus parameters, std::remove_reference_t<decltype(symbol)>>::run(#symbol);
#include "driver_rows.h"
#define CALIBRATE(member, symbol, parameters) CUBLAS_TYPE(symbol, parameters)
    WS_BLAS_FUNCTIONS(CALIBRATE)
    WS_BLASLT_FUNCTIONS(CALIBRATE)
}

int main()
{
    std::printf("cublas_v2.h %d.%d.%d\n", CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH);
    compare_values();
    compare_functions();
    return summary("cublas_v2.h");
}
