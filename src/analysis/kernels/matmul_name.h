/* The method of a matrix multiplication kernel, read from the kernel's name.
 *
 * Libraries write these facts into the names:
 * - the instruction: s884, s1688, h16816 … stand for tensor core instructions, and the digits are the shape m, n, k
 *   (8, 8, 4 in s884); simt, ffma, sgemm stand for CUDA cores;
 * - the number of elements that one load instruction reads: CUTLASS's align8, cuBLAS's ldg8;
 * - the transposed operands: nn, nt, tn, tt. Tensile instead names the operands' indices (Alik, Bljk), with the index
 *   that is contiguous in memory first;
 * - the types of the operands: bf16, e4m3, mxfp4, Tensile's BBS;
 * - the tile of the result that a block computes: Tensile's MT64x32x256, cuBLAS's 64x8 in nvjet_tst_64x8_64x16.
 *
 * A field of struct ws_matmul_name is 0 if the kernel's name does not tell its value.
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
    uint32_t load; /* number of elements that one load instruction reads; 0: not known */
    char a, b;     /* is operand A, B transposed in BLAS's column-major view? 'n': no, 't': yes, 0: not known */
    uint32_t tile; /* the shorter side of the tile, in elements of the result; 0: not known */
    float element; /* bytes per element of the smallest type in the name; 0: not known */
    bool vector;   /* the kernel multiplies a matrix and a vector */
};

/* Does the name suggest that the product has few rows, so that the kernel mostly waits for weights from memory? We
 * assume that, on tensor cores, a library chooses a tile with at most 32 rows or columns only if the product has no
 * more rows or columns than the tile. With such small tiles, a kernel for a larger product would have to load one
 * operand again for each tile of the other operand. The limit of 32 is our choice. On CUDA cores small tiles are
 * usual, so they suggest nothing. The answer is only a guess, because the name does not give the sizes of the
 * product. */
bool ws_matmul_has_few_rows(const struct ws_matmul_name *matmul);

struct ws_matmul_name ws_matmul_name(const char *kernel);

#endif
