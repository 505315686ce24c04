/* The kernels of a training program on the simulated GPU, with the names and parameters of real kernels from PyTorch,
 * cuBLAS, FlashAttention and Triton. A kernel computes nothing; its duration follows from its parameters. */
#ifndef WALLSHIM_WALLS_KERNELS_H
#define WALLSHIM_WALLS_KERNELS_H

#include <stdint.h>

#include "abi/cuda.h"

enum kernel {
    KERNEL_GEMM,      /* large tiles */
    KERNEL_GEMM_SLIM, /* smaller tiles, as in gradients of weights */
    KERNEL_GEMV,
    KERNEL_ATTENTION,
    KERNEL_ATTENTION_BACKWARD,
    KERNEL_NORM,
    KERNEL_NORM_BACKWARD,
    KERNEL_SOFTMAX,
    KERNEL_SOFTMAX_BACKWARD,
    KERNEL_REDUCE,
    KERNEL_EMBEDDING, /* launched once in each forward pass: tests find the true steps by it */
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

/* The speed that the kernels reach on the simulated GPU. */
struct speed {
    double flops_per_ns, bytes_per_ns;
    double slow;   /* multiplies all durations: 1.3 for a GPU that is slower by 30 % */
    double jitter; /* each duration varies by up to this fraction, up or down */
    uint64_t seed;
};

/* Registers the kernels with the simulated GPU and loads them into the current context. Ends the program with status
 * 77 if the driver is not the simulated one. */
void kernels_open(const struct speed *speed);

const char *kernel_name(enum kernel kernel);

/* From now on each launch first calls dispatch(context), which takes the host time that a framework spends on a
 * launch. */
void kernels_dispatch(void (*dispatch)(void *context), void *context);

void launch_gemm(ws_CUstream stream, enum kernel kernel, ws_CUdeviceptr out, ws_CUdeviceptr a, ws_CUdeviceptr b,
                 uint32_t m, uint32_t n, uint32_t k);

/* A pointwise kernel over elements of 2 bytes, with TensorIterator's parameters: the output comes first. */
void launch_pointwise(ws_CUstream stream, enum kernel kernel, uint32_t elements, ws_CUdeviceptr out,
                      ws_CUdeviceptr in, ws_CUdeviceptr other);

/* Adds the vector `row` to each of `rows` rows, as for a bias. Elements have 2 bytes. */
void launch_add_row(ws_CUstream stream, uint32_t rows, uint32_t columns, ws_CUdeviceptr out, ws_CUdeviceptr in,
                    ws_CUdeviceptr row);

/* Converts elements of 2 bytes into elements of 4. */
void launch_cast(ws_CUstream stream, uint32_t elements, ws_CUdeviceptr out, ws_CUdeviceptr in);

/* A pointwise kernel with Triton's parameters: inputs, then the output, then the number of elements. */
void launch_triton(ws_CUstream stream, uint32_t elements, ws_CUdeviceptr out, ws_CUdeviceptr in,
                   ws_CUdeviceptr other);

/* Norms, softmax, reductions, embeddings: they read rows of 2-byte elements from one buffer and write into
 * another. */
void launch_rows(ws_CUstream stream, enum kernel kernel, uint32_t rows, uint32_t columns, ws_CUdeviceptr out,
                 ws_CUdeviceptr in);

/* Attention over sequences of 1024 tokens, with heads of 64 elements. */
void launch_attention(ws_CUstream stream, enum kernel kernel, uint32_t tokens, uint32_t hidden, ws_CUdeviceptr out,
                      ws_CUdeviceptr in);

/* Adam's fused kernel over a list of tensors: parameters of 4 bytes, their gradients, first and second moments. */
void launch_adam(ws_CUstream stream, uint32_t elements, ws_CUdeviceptr parameters, ws_CUdeviceptr gradients);

#endif
