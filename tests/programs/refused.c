/* Launches that the driver refuses before it reads their parameters, which point to unmapped memory. Before and after
 * the refused launches, the program makes launches that the driver accepts. */
#include <stdint.h>

#include "program.h"

ws_CUresult cuLaunchKernelEx(const ws_CUlaunchConfig *config, ws_CUfunction function, void **parameters,
                             void **extra);
ws_CUresult cuLaunchCooperativeKernelMultiDevice(ws_CUDA_LAUNCH_PARAMS *launches, unsigned count, unsigned flags);

static struct gpu gpu;

/* Tries each launch three times. Only the first time, its kernel and grid are new to the shim. */
static void refused(ws_CUfunction function, unsigned grid, unsigned block, unsigned shared)
{
    void **const nowhere = (void **)(uintptr_t)16;
    void *parameters[] = { nowhere };
    void *extra[] = { WS_CU_LAUNCH_PARAM_BUFFER_POINTER, nowhere, WS_CU_LAUNCH_PARAM_BUFFER_SIZE, nowhere,
                      WS_CU_LAUNCH_PARAM_END };
    for (int i = 0; i < 3; i++) {
        TRY(cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, gpu.stream, nowhere, NULL));
        TRY(cuLaunchKernel(function, 1, 1, grid, 1, 1, block, shared, gpu.stream, parameters, NULL));
        TRY(cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, gpu.stream, NULL, nowhere));
        TRY(cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, gpu.stream, NULL, extra));
    }
}

static void refused_ex(unsigned grid)
{
    ws_CUlaunchConfig config = { .gridDimX = grid,
                                 .gridDimY = 1,
                                 .gridDimZ = 1,
                                 .blockDimX = 32,
                                 .blockDimY = 1,
                                 .blockDimZ = 1,
                                 .hStream = gpu.stream };
    TRY(cuLaunchKernelEx(&config, gpu.spin, (void **)(uintptr_t)16, NULL));
}

int main(void)
{
    enum { TOO_MANY = 1 << 20, TOO_MUCH = 1 << 30 };
    gpu_open(&gpu, 0);
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 10, 2000));
    refused(gpu.spin, 0, 32, 0);
    refused(gpu.spin, 1, 0, 0);
    refused(gpu.spin, 1, TOO_MANY, 0);
    refused(gpu.spin, 1, 32, TOO_MUCH);
    refused(NULL, 1, 32, 0);
    refused_ex(0);
    TRY(cuLaunchCooperativeKernelMultiDevice((ws_CUDA_LAUNCH_PARAMS *)(uintptr_t)16, 1, ~0u));
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 10, 2000));
    TRY(cuStreamSynchronize(gpu.stream));
    return 0;
}
