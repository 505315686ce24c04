/* The roofline: how fast work can run that does so many FLOPs over so many bytes, and what common work takes.
 *
 * Williams, Waterman, Patterson: Roofline (CACM 52/4, 2009). FLOPs count a multiply and an add as two. Bytes are the
 * least that must move to and from device memory: every input read once, every output written once.
 */
#ifndef WALLSHIM_HARDWARE_ROOFLINE_H
#define WALLSHIM_HARDWARE_ROOFLINE_H

#include "hardware/gpu.h"

struct ws_work {
    double flops;
    double bytes;
};

struct ws_roof {
    double intensity;   /* FLOPs per byte of the work */
    double ridge;       /* of the GPU at the precision */
    double attainable;  /* GFLOP/s: the lower of the two roofs */
    double peak;        /* GFLOP/s of the precision, by whichever cores are faster */
    double cores_peak;  /* of those that the work runs on */
    double ns;          /* the least the work takes */
    bool compute_bound; /* the cores hold it up, else memory */
};

/* The GPU's peak must be known at this precision (ws_gpu_peak). */
struct ws_roof ws_roof_of(const struct ws_gpu *gpu, enum ws_precision precision, const struct ws_work *work);

/* The same for work that is no matrix work: tensor cores do none of it. Types that ordinary cores do not compute in
 * are converted to fp32. */
struct ws_roof ws_roof_of_ordinary(const struct ws_gpu *gpu, enum ws_precision precision, const struct ws_work *work);

/* C[m,n] = A[m,k] · B[k,n], `batch` times: 2·m·n·k FLOPs, (m·k + k·n + m·n) elements. */
struct ws_work ws_work_gemm(double m, double n, double k, double batch, double element_bytes);

/* One output and `inputs` inputs an element. */
struct ws_work ws_work_pointwise(double elements, double inputs, double flops_per_element, double element_bytes);

/* `kernels` of them in a row, each reading what the one before wrote; fused, only the first one's inputs and the
 * last one's output move. Inputs beyond the first are read by every kernel either way. */
struct ws_work ws_work_chain(double kernels, bool fused, double elements, double inputs, double flops_per_element,
                             double element_bytes);

struct ws_attention {
    double batch, heads, queries, keys, head_size;
    bool causal; /* half of the scores are needed, where there are as many queries as keys; standard makes them all */
};

/* softmax(Q·Kᵀ)·V: two products of 2·queries·keys·head_size FLOPs a head; the softmax's own few are left out.
 * Fused (Dao et al., FlashAttention, 2022) moves Q, K, V and the output once; standard also writes the scores, reads
 * them for the softmax, writes the probabilities and reads them. Of causal attention the fused form leaves out what
 * the mask hides (Dao, FlashAttention-2, 2023, section 3.1); standard's products of whole matrices compute and move
 * it, and the softmax sets it to 0. */
struct ws_work ws_work_attention(const struct ws_attention *attention, bool fused, double element_bytes);

#endif
