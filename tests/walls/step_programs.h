/* Made-up programs as lists of kernels, from which make_steps.c and make_loops.c build their steps. */
#ifndef WALLSHIM_WALLS_STEP_PROGRAMS_H
#define WALLSHIM_WALLS_STEP_PROGRAMS_H

#include <stdbool.h>

enum { PROGRAMS = 7, FORWARD = 16 };

/* A kernel and how long it takes in µs. */
struct piece {
    const char *name;
    double length;
};

/* The lists of a program's step, in this order: begin, forward of each layer, end, backward of each layer, update. */
struct program {
    const char *name;
    struct piece begin[4], forward[FORWARD], end[6], backward[24], update[8];
    int layers[2]; /* least and largest number of layers */
    bool trains, communicates, lengths_differ;
};

extern const struct program programs[PROGRAMS];

/* Kernels that are also launched outside these lists. */
#define GEMM "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_execute_segment_k_off_kernel__5x_cublas"
#define GEMM_OF_LENGTH "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn"
#define GEMM_WEIGHTS "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_nt_align8"
#define CONV "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage4"
#define SOFTMAX_BACKWARD \
    "void at::native::(anonymous namespace)::cunn_SoftMaxBackward<8, c10::BFloat16, float, float>"
#define LOSS_BACKWARD "void at::native::(anonymous namespace)::nll_loss_backward_reduce_cuda_kernel_2d<float, long>"
#define EMBEDDING_BACKWARD \
    "void at::native::(anonymous namespace)::embedding_backward_feature_kernel<c10::BFloat16, float>"
#define ALL_REDUCE "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
#define ARGMAX "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>>>"

#endif
