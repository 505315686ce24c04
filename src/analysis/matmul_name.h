/* What the name of a matrix kernel tells of how it computes.
 *
 * Libraries write it into their names: the instruction (s884, s1688, h16816 …: tensor cores' shapes of m, n and k;
 * simt, ffma, sgemm: ordinary cores), the elements of one load (CUTLASS's align8, cuBLAS's ldg8) and which operands
 * are transposed (nn, nt, tn, tt; Tensile's Alik, Bljk: the index that comes first lies in memory first). A name that
 * says nothing of it is believed nothing of.
 */
#ifndef WALLSHIM_ANALYSIS_MATMUL_NAME_H
#define WALLSHIM_ANALYSIS_MATMUL_NAME_H

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
    uint32_t load; /* elements that it loads at a time; 0: not said */
    char a, b;     /* operands as BLAS has them, in columns: 'n' as they are, 't' transposed; 0: not said */
};

struct ws_matmul_name ws_matmul_name(const char *kernel);

#endif
