/* Finds GEMMs that run on CUDA cores (called `ordinary` cores in this code) although they could use tensor cores, and
 * GEMMs that are slow because of their sizes.
 *
 * Tensor cores need operands aligned to 16 bytes: 8 elements of 16 bits, 16 of fp8 and int8, 4 of TF32, 2 of fp64.
 * For tensor cores, cuBLAS requires this alignment of the contiguous dimension of each of the three matrices, of
 * leading dimensions and of addresses (cuBLAS Library, "Tensor Core Usage"). From the A100 on, NVIDIA recommends
 * multiples of 128 bytes, which are 64 elements of 16 bits (Matrix Multiplication Background User's Guide, "Tensor
 * Core Requirements"). Before version 11, cuBLAS ran GEMMs without this alignment on CUDA cores. From version 11 on,
 * cuBLAS runs such GEMMs on tensor cores with smaller loads. The contiguous dimensions are known if the kernel's name
 * tells which operands are transposed; the result is assumed to have the layout of the caller's matrices. If the
 * contiguous dimensions are not known, all three sizes must be aligned. If the kernel's name tells how many elements
 * one load instruction reads, this number is used instead of the sizes.
 *
 * The saving is an upper limit:
 * - For a GEMM on CUDA cores: the time saved if the GEMM ran on tensor cores and reached the same share of the tensor
 *   cores' peak as it now reaches of the CUDA cores' peak. The rate on tensor cores is at most what memory bandwidth
 *   allows. If other fp32 GEMMs of the recording run as TF32, the program allows TF32. In that case the reason why
 *   this GEMM does not run on tensor cores is its sizes or the library's choice.
 * - For a GEMM with slow sizes: the time saved if it ran at the rate (FLOPs per ns) of the fastest aligned GEMM of
 *   this recording with the same precision and half to twice the work. If there is no such GEMM, the rate is the
 *   GPU's limit by peak or memory bandwidth. A GEMM has slow sizes only if its own rate, with the padding counted as
 *   work, is below 70 % of the rate found in this way. The limit of 70 % is our choice. */
#ifndef WALLSHIM_ANALYSIS_ROOFLINE_GEMMS_H
#define WALLSHIM_ANALYSIS_ROOFLINE_GEMMS_H

#include "analysis/roofline/roofline.h"

enum ws_gemm_issue {
    WS_GEMM_FINE,
    /* the GEMM runs in fp32 on CUDA cores; the GPU has TF32, but no GEMM of the recording uses it */
    WS_GEMM_NO_TF32,
    WS_GEMM_MISSES, /* the GEMM runs on CUDA cores, and its sizes are not aligned */
    /* the GEMM runs on CUDA cores, although its sizes are aligned. Leading dimensions, addresses or settings may be
     * the cause */
    WS_GEMM_MISSES_FIT,
    WS_GEMM_SLOW, /* the GEMM runs on tensor cores and is slow, and its sizes are not aligned */
    WS_GEMM_ISSUES
};

/* What ws_gemm_finding.rate follows from: the share of the peak that the GEMM reaches now, an aligned GEMM with
 * similar work (ws_gemm_row.alike), or the GPU's roof. */
enum ws_gemm_judge { WS_JUDGED_BY_SHARE, WS_JUDGED_BY_ALIKE, WS_JUDGED_BY_ROOF };

struct ws_gemm_finding {
    enum ws_gemm_issue issue;
    enum ws_gemm_judge judge;
    double multiple; /* the GEMM's sizes should be multiples of this number of elements */
    double m, n, k;  /* sizes of the GEMM; the sizes that must be aligned are rounded up to multiples of `multiple` */
    double rate;     /* FLOPs per ns that the GEMM could reach */
    /* upper limit of the saving, in ns: per steady step, or in the whole recording if there are no steady steps */
    int64_t saving;
};

/* Merges rows (struct ws_gemm_row) with the same sizes and precision, even if their operators differ. Divides the
 * times in steady steps by `steps`, the number of steady steps. If `steps` is 0, the times are those of the whole
 * recording and stay as they are. Sorts the rows by time, longest first. */
void ws_gemms_sum_up(struct ws_vector *rows, size_t steps);

/* Sets ws_gemm_row.alike of each GEMM: the best rate (FLOPs per ns) of the aligned GEMMs with half to twice its work.
 * Also sets result->uses_tf32. Returns 0 or -ENOMEM. */
int ws_gemms_compare(struct ws_track_roofline *result);

/* Tells whether a GEMM could be faster, and why it is slow. result->gpu must be known. */
struct ws_gemm_finding ws_gemm_judge(const struct ws_track_roofline *result, const struct ws_gemm_row *row);

const char *ws_gemm_issue_name(enum ws_gemm_issue issue); /* returns the issue's name in JSON */
const char *ws_gemm_judge_name(enum ws_gemm_judge judge); /* returns the judge's name in JSON */

#endif
