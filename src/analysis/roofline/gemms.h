/* GEMMs that run on ordinary (CUDA) cores although they could use tensor cores, or that are slow because of their
 * sizes.
 *
 * Tensor cores need operands aligned to 16 bytes: 8 elements of 16 bits, 16 of fp8 and int8, 4 of TF32, 2 of fp64.
 * cuBLAS requires this alignment of the contiguous dimension of each of the three matrices, of leading dimensions and
 * of addresses (cuBLAS Library, "Tensor Core Usage"). From the A100 on, NVIDIA recommends multiples of 128 bytes,
 * which are 64 elements of 16 bits (Matrix Multiplication Background User's Guide, "Tensor Core Requirements").
 * Before version 11, cuBLAS ran GEMMs without this alignment on ordinary cores. From version 11 on, it runs them on
 * tensor cores with smaller loads. The contiguous dimensions are known if the kernel's name tells which operands are
 * transposed; the result is assumed to have the layout of the caller's matrices. If they are not known, all three
 * sizes must be aligned. If the name tells the elements per load, this number decides instead of the sizes.
 *
 * The saving is an upper limit:
 * - For a GEMM on ordinary cores: the time saved if it ran on tensor cores and kept its present share of the peak.
 * Memory bandwidth limits the saving. If other fp32 GEMMs of the recording run as TF32, the program allows TF32. In
 * that case this GEMM's sizes or the library's choice keep it off the tensor cores.
 * - For a GEMM with slow sizes: the time saved if it ran at the rate (FLOPs per ns) of the fastest aligned GEMM of
 * this recording with the same precision and half to twice the work. If there is no such GEMM, the roof gives the
 * rate. A GEMM has slow sizes only if its own rate is below 70 % of this rate; this limit is our choice.
 */
#ifndef WALLSHIM_ANALYSIS_ROOFLINE_GEMMS_H
#define WALLSHIM_ANALYSIS_ROOFLINE_GEMMS_H

#include "analysis/roofline/roofline.h"

enum ws_gemm_issue {
    WS_GEMM_FINE,
    WS_GEMM_NO_TF32,    /* fp32 on ordinary cores, although the GPU has TF32; no GEMM of the recording uses TF32 */
    WS_GEMM_MISSES,     /* on ordinary cores, with sizes that are not aligned */
    WS_GEMM_MISSES_FIT, /* on ordinary cores, with aligned sizes: leading dimensions, addresses or settings may be the
                           cause */
    WS_GEMM_SLOW,       /* on tensor cores, slow, with sizes that are not aligned */
    WS_GEMM_ISSUES
};

enum ws_gemm_judge { WS_JUDGED_BY_SHARE, WS_JUDGED_BY_ALIKE, WS_JUDGED_BY_ROOF };

struct ws_gemm_finding {
    enum ws_gemm_issue issue;
    enum ws_gemm_judge judge;
    double multiple; /* sizes should be multiples of this many elements */
    double m, n, k;  /* sizes, padded to `multiple` where alignment matters */
    double rate;     /* reachable FLOPs per ns */
    int64_t saving;  /* ns per steady step, upper limit; for the recording if there are no steps */
};

/* Merges rows with the same sizes and precision, whatever their operators. Divides the times in steady steps by
 * the number of steps (0: times are for the recording). Sorts by time, longest first. */
void ws_gemms_sum_up(struct ws_vector *rows, size_t steps);

/* Finds for each GEMM the best rate (FLOPs per ns) of aligned GEMMs with similar work. Also finds whether any GEMM
 * uses TF32. Returns 0 or -ENOMEM. */
int ws_gemms_compare(struct ws_track_roofline *result);

/* Judges one GEMM, and finds the reason if the GEMM is slow. The GPU of the result must be known. */
struct ws_gemm_finding ws_gemm_judge(const struct ws_track_roofline *result, const struct ws_gemm_row *row);

const char *ws_gemm_issue_name(enum ws_gemm_issue issue); /* the name in JSON */
const char *ws_gemm_judge_name(enum ws_gemm_judge judge); /* the name in JSON */

#endif
