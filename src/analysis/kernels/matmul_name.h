/* The method of a matrix multiplication kernel, read from the kernel's name.
 *
 * Libraries write these facts into the names:
 * - the instruction: s884, s1688, h16816 … stand for tensor core instructions, and the digits are the shape m, n, k
 *   (8, 8, 4 in s884); simt, ffma, sgemm stand for ordinary cores;
 * - the elements per load: CUTLASS's align8, cuBLAS's ldg8;
 * - the transposed operands: nn, nt, tn, tt. Tensile instead names the operands' indices (Alik, Bljk), with the index
 *   that is contiguous in memory first;
 * - the types of the operands: bf16, e4m3, mxfp4, Tensile's BBS;
 * - the tile of the result that a block computes: Tensile's MT64x32x256, cuBLAS's 64x8 in nvjet_tst_64x8_64x16.
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
    char a, b;     /* operands in BLAS's column-major view: 'n' = not transposed, 't' = transposed; 0: not known */
    uint32_t tile; /* the shorter side of the tile; 0: not known */
    float element; /* bytes per element of the smallest type in the name; 0: not known */
    bool vector;   /* a matrix times a vector */
};

/* Does the name suggest that the product has few rows, so that the kernel mostly waits for weights? On tensor cores,
 * a library takes a tile of at most 32 rows or columns only for a product with at most as many rows or columns. For a
 * larger product, a kernel with such tiles would load the other operand once for each tile. The limit of 32 is our
 * choice. On ordinary cores small tiles are usual. The answer is only a suggestion, because the sizes of the product
 * are not known. */
bool ws_matmul_has_few_rows(const struct ws_matmul_name *matmul);

struct ws_matmul_name ws_matmul_name(const char *kernel);

#endif
