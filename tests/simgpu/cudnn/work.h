/* The simulated cuDNN: its operations are kernels of the simulated driver.
 *
 * Nothing is computed: a kernel lasts as long as its FLOPs and bytes take on the device. SIMGPU_CUDNN names a file
 * that gets a line for each call of sim_work: the kernel's name, its FLOPs and the bytes that it moves. */
#ifndef SIMGPU_CUDNN_WORK_H
#define SIMGPU_CUDNN_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cublas.h"
#include "abi/cuda.h"
#include "abi/cudnn.h"

#define CUDNN_API(name, ...)                                                 \
    __attribute__((visibility("default"))) ws_cudnnStatus name(__VA_ARGS__); \
    __attribute__((visibility("default"))) ws_cudnnStatus name(__VA_ARGS__)

enum sim_work {
    SIM_FORWARD,
    SIM_BACKWARD_DATA,
    SIM_BACKWARD_FILTER,
    SIM_ATTENTION_FORWARD,
    SIM_ATTENTION_BACKWARD,
    SIM_NORM,
    SIM_TRANSFORM, /* a kernel that changes the layout of a convolution's input */
    SIM_WORKS
};

struct sim_handle {
    ws_CUstream stream;
};

/* Bytes of an element of this type; 0 for an unknown type. */
uint64_t sim_element_bytes(ws_cudnnEnum type);

/* Launches the kernel that does the work. Before a convolution it also launches a kernel that changes the input's
 * layout. */
ws_cudnnStatus sim_work(enum sim_work work, double flops, double bytes, ws_CUstream stream);

/* Launches a kernel of the simulated cuBLASLt for a matrix product, as engines of the real cuDNN use cuBLASLt.
 * Matrices are row-major, as in cuDNN. */
ws_cudnnStatus sim_matmul(uint64_t batch, uint64_t m, uint64_t n, uint64_t k, ws_cudnnEnum type, ws_CUstream stream);

#endif
