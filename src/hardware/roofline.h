/* The roofline: the least time that work with given FLOPs and bytes takes on a GPU, and the FLOPs and bytes of
 * common operations.
 *
 * Source: Williams, Waterman, Patterson: Roofline (CACM 52/4, 2009). A multiply-add counts as two FLOPs. Bytes are
 * the minimum traffic to and from device memory: each input read once, each output written once. */
#ifndef WALLSHIM_HARDWARE_ROOFLINE_H
#define WALLSHIM_HARDWARE_ROOFLINE_H

#include "hardware/gpu.h"

struct ws_work {
    double flops;
    double bytes;
};

struct ws_roof {
    double intensity;   /* arithmetic intensity: FLOPs per byte */
    double ridge;       /* ridge of the GPU at the precision, in FLOPs per byte */
    double attainable;  /* GFLOP/s at this intensity: the lower of cores_peak and intensity × memory bandwidth */
    double peak;        /* peak of the precision in GFLOP/s, of the faster kind of cores */
    double cores_peak;  /* peak in GFLOP/s of the cores that the work runs on */
    double ns;          /* the least time that the work takes, in ns */
    bool compute_bound; /* true: the cores limit the work; false: memory bandwidth does */
};

/* Requires that the GPU's peak at this precision is known (ws_gpu_peak). */
struct ws_roof ws_roof_of(const struct ws_gpu *gpu, enum ws_precision precision, const struct ws_work *work);

/* Like ws_roof_of, but for work that is not a matrix product and so cannot use tensor cores. If ordinary cores do
 * not support the precision, uses their fp32 peak. If their fp32 peak is unknown too, uses ws_gpu_peak. */
struct ws_roof ws_roof_of_ordinary(const struct ws_gpu *gpu, enum ws_precision precision, const struct ws_work *work);

/* C[m,n] = A[m,k] · B[k,n], `batch` times: 2·m·n·k FLOPs, (m·k + k·n + m·n) elements. */
struct ws_work ws_work_gemm(double m, double n, double k, double batch, double element_bytes);

/* A chain of pointwise kernels: each reads the output of the kernel before it. If the chain is fused, only its first
 * input and its last output are moved, not the results between kernels. `inputs` is the number of inputs of each
 * kernel; the inputs after the first are read whether or not the chain is fused. */
struct ws_work ws_work_chain(double kernels, bool fused, double elements, double inputs, double flops_per_element,
                             double element_bytes);

struct ws_attention {
    double batch, heads, queries, keys, head_size;
    bool causal; /* causal mask: `queries` must equal `keys`, and fused attention computes half of the scores */
};

/* softmax(Q·Kᵀ)·V: two GEMMs of 2·queries·keys·head_size FLOPs per head; the FLOPs of the softmax are left out.
 * Fused attention (Dao et al., FlashAttention, 2022) moves Q, K, V and the output once. The unfused form also
 * writes the scores, reads them for the softmax, writes the probabilities and reads them again. Fused causal
 * attention skips the masked half (Dao, FlashAttention-2, 2023, section 3.1); the unfused form computes and moves
 * whole matrices. */
struct ws_work ws_work_attention(const struct ws_attention *attention, bool fused, double element_bytes);

#endif
