/* The simulated cuBLAS and cuBLASLt: a matrix product is a kernel of the simulated driver.
 *
 * The kernel's duration follows from the product's sizes and the chip's peaks. Only small single-precision products
 * are really computed. SIMGPU_PRODUCTS names a file that gets a line for each product: kernel, m, n, k, batch, FLOPs.
 */
#ifndef SIMGPU_CUBLAS_PRODUCT_H
#define SIMGPU_CUBLAS_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cublas.h"
#include "abi/cuda.h"

/* The type of fp32 inputs that may be rounded to TF32. cuBLAS has no data type for this, only a compute type. */
enum { SIM_TYPE_TF32 = 0x100 };

static inline uint64_t sim_product_type(ws_cublasEnum type, ws_cublasEnum compute)
{
    return type == WS_CUDA_R_32F && compute == WS_CUBLAS_COMPUTE_32F_FAST_TF32 ? SIM_TYPE_TF32 : (uint64_t)type;
}

/* The kernel's parameter block, in the layout that the kernel's PTX image declares. */
struct sim_product {
    uint64_t m, n, k, batch;
    uint64_t type; /* type of the elements of A and B */
    uint64_t a, b, c;
    uint64_t lda, ldb, ldc;
    uint64_t transposed; /* bit 0: A is transposed, bit 1: B is transposed */
};

/* Launches the product's kernel. */
ws_cublasStatus sim_product_launch(const struct sim_product *product, ws_CUstream stream);

#endif
