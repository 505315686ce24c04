/* What the name of a matrix multiplication kernel says of its method.
 *
 * Libraries write three things into these names. The instruction: s884, s1688, h16816 … are tensor core shapes
 * m, n, k; simt, ffma, sgemm are ordinary cores. The elements per load: CUTLASS's align8, cuBLAS's ldg8. The
 * transposed operands: nn, nt, tn, tt; Tensile writes Alik or Bljk, whose first index is contiguous in memory.
 * Where a name does not say something, the field stays 0.
 */
#ifndef WALLSHIM_ANALYSIS_KERNELS_MATMUL_NAME_H
#define WALLSHIM_ANALYSIS_KERNELS_MATMUL_NAME_H

#include <stdbool.h>
#include <stdint.h>

enum ws_matmul_cores {
    WS_MATMUL_CORES_UNKNOWN,
    WS_MATMUL_CORES_ORDINARY,
    WS_MATMUL_CORES_TENSOR,
    WS_MATMUL_CORES_COUNT
};

struct ws_matmul_name {
    enum ws_matmul_cores cores;
    uint32_t load; /* elements per load; 0: not known */
    char a, b;     /* operands in BLAS's column-major view: 'n' not transposed, 't' transposed; 0: not known */
};

struct ws_matmul_name ws_matmul_name(const char *kernel);

#endif
