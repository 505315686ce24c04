/* What the name of a matrix multiplication kernel says of its method.
 *
 * Libraries write three things into these names:
 * - the instruction: s884, s1688, h16816 … are shapes m, n, k of tensor core instructions; simt, ffma, sgemm stand
 * for ordinary cores;
 * - the elements per load: CUTLASS's align8, cuBLAS's ldg8;
 * - which operands are transposed: nn, nt, tn, tt. Tensile names the operands' indices instead (Alik, Bljk); the
 * first index is contiguous in memory.
 *
 * A field is 0 if the name does not give it.
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
