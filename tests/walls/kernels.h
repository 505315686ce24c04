/* The kernels of a training program under the names and with the parameters that PyTorch, cuBLAS, FlashAttention and
 * Triton give theirs, on the simulated GPU: each lasts as long as its parameters say it would. */
#ifndef WALLSHIM_WALLS_KERNELS_H
#define WALLSHIM_WALLS_KERNELS_H

#include <stdint.h>

#include "abi/cuda.h"

enum kernel {
    KERNEL_GEMM,      /* large tiles */
    KERNEL_GEMM_SLIM, /* smaller ones, as for gradients of weights */
    KERNEL_GEMV,
    KERNEL_ATTENTION,
    KERNEL_ATTENTION_BACKWARD,
    KERNEL_NORM,
    KERNEL_NORM_BACKWARD,
    KERNEL_SOFTMAX,
    KERNEL_SOFTMAX_BACKWARD,
    KERNEL_REDUCE,
    KERNEL_EMBEDDING, /* once in each forward pass: steps are told apart by it */
    KERNEL_EMBEDDING_BACKWARD,
    KERNEL_FILL,
    KERNEL_GELU,
    KERNEL_TANH,
    KERNEL_SCALE,
    KERNEL_ADD,
    KERNEL_MUL,
    KERNEL_GELU_BACKWARD,
    KERNEL_ADD_ROW,
    KERNEL_CAST,
    KERNEL_TRITON,
    KERNEL_ADAM,
    KERNEL_COUNT,
};

/* What the simulated GPU reaches of what it could. */
struct speed {
    double flops_per_ns, bytes_per_ns;
    double slow;   /* all durations by this: 1.3 for a GPU that is hot */
    double jitter; /* each by up to this part of it, up or down */
    uint64_t seed;
};

/* Makes the kernels known to the simulated GPU and loads them into the current context; ends the program with 77
 * where it is another GPU. */
void kernels_open(const struct speed *speed);

const char *kernel_name(enum kernel kernel);

/* From now on each launch is preceded by a call of this: what the layers of the program take of the host. */
void kernels_dispatch(void (*dispatch)(void *context), void *context);

void launch_gemm(ws_CUstream stream, enum kernel kernel, ws_CUdeviceptr out, ws_CUdeviceptr a, ws_CUdeviceptr b,
                 uint32_t m, uint32_t n, uint32_t k);

/* Over so many elements of 2 bytes; a kernel of TensorIterator has its output first. */
void launch_pointwise(ws_CUstream stream, enum kernel kernel, uint32_t elements, ws_CUdeviceptr out,
                      ws_CUdeviceptr in, ws_CUdeviceptr other);

/* Rows of 2-byte elements plus one that is the same for all, as a bias is. */
void launch_add_row(ws_CUstream stream, uint32_t rows, uint32_t columns, ws_CUdeviceptr out, ws_CUdeviceptr in,
                    ws_CUdeviceptr row);

/* From 2-byte elements into those of 4 bytes. */
void launch_cast(ws_CUstream stream, uint32_t elements, ws_CUdeviceptr out, ws_CUdeviceptr in);

/* Triton's: inputs, then the output, then the number of elements. */
void launch_triton(ws_CUstream stream, uint32_t elements, ws_CUdeviceptr out, ws_CUdeviceptr in,
                   ws_CUdeviceptr other);

/* Norms, softmax, reductions, embeddings: rows of 2-byte elements from one buffer into another. */
void launch_rows(ws_CUstream stream, enum kernel kernel, uint32_t rows, uint32_t columns, ws_CUdeviceptr out,
                 ws_CUdeviceptr in);

/* Over sequences of 1024 tokens with heads of 64. */
void launch_attention(ws_CUstream stream, enum kernel kernel, uint32_t tokens, uint32_t hidden, ws_CUdeviceptr out,
                      ws_CUdeviceptr in);

/* An optimizer's, over a list of tensors: so many parameters of 4 bytes, their gradients and two moments. */
void launch_adam(ws_CUstream stream, uint32_t elements, ws_CUdeviceptr parameters, ws_CUdeviceptr gradients);

#endif
