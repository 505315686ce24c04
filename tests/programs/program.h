/* Shared by the programs of this folder: declarations of the driver's functions under their exported names, and a
 * device with one kernel.
 *
 * The programs write the results of their calls to stdout, unbuffered. The output must not change from run to run,
 * because a test compares the output with and without the shim byte for byte. The shim is libwallshim.so, the
 * preloaded library that records. Some comments in this folder call it the profiler. */
#ifndef WALLSHIM_TESTS_PROGRAM_H
#define WALLSHIM_TESTS_PROGRAM_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/cuda.h"

/* Functions that the programs call by plain linking, as X(name, parameters). */
#define DRIVER_CALLS(X)                                                                                           \
    X(cuInit, (unsigned flags))                                                                                   \
    X(cuDriverGetVersion, (int *version))                                                                         \
    X(cuDeviceGet, (ws_CUdevice * device, int ordinal))                                                           \
    X(cuDeviceGetCount, (int *count))                                                                             \
    X(cuCtxCreate_v2, (ws_CUcontext * context, unsigned flags, ws_CUdevice device))                               \
    X(cuCtxDestroy_v2, (ws_CUcontext context))                                                                    \
    X(cuCtxSetCurrent, (ws_CUcontext context))                                                                    \
    X(cuCtxWaitEvent, (ws_CUcontext context, ws_CUevent event))                                                   \
    X(cuCtxSynchronize, (void))                                                                                   \
    X(cuDevicePrimaryCtxRetain, (ws_CUcontext * context, ws_CUdevice device))                                     \
    X(cuDevicePrimaryCtxRelease_v2, (ws_CUdevice device))                                                         \
    X(cuDevicePrimaryCtxReset_v2, (ws_CUdevice device))                                                           \
    X(cuModuleLoadData, (ws_CUmodule * module, const void *image))                                                \
    X(cuModuleGetFunction, (ws_CUfunction * function, ws_CUmodule module, const char *name))                      \
    X(cuModuleUnload, (ws_CUmodule module))                                                                       \
    X(cuMemAlloc_v2, (ws_CUdeviceptr * address, size_t bytes))                                                    \
    X(cuMemFree_v2, (ws_CUdeviceptr address))                                                                     \
    X(cuMemAllocHost_v2, (void **memory, size_t bytes))                                                           \
    X(cuMemFreeHost, (void *memory))                                                                              \
    X(cuMemcpyHtoD_v2, (ws_CUdeviceptr to, const void *from, size_t bytes))                                       \
    X(cuMemcpyDtoH_v2, (void *to, ws_CUdeviceptr from, size_t bytes))                                             \
    X(cuMemcpyHtoDAsync_v2, (ws_CUdeviceptr to, const void *from, size_t bytes, ws_CUstream stream))              \
    X(cuMemcpyDtoHAsync_v2, (void *to, ws_CUdeviceptr from, size_t bytes, ws_CUstream stream))                    \
    X(cuMemcpyDtoDAsync_v2, (ws_CUdeviceptr to, ws_CUdeviceptr from, size_t bytes, ws_CUstream stream))           \
    X(cuMemsetD8_v2, (ws_CUdeviceptr to, unsigned char value, size_t bytes))                                      \
    X(cuMemsetD8Async, (ws_CUdeviceptr to, unsigned char value, size_t bytes, ws_CUstream stream))                \
    X(cuMemsetD32Async, (ws_CUdeviceptr to, unsigned value, size_t count, ws_CUstream stream))                    \
    X(cuStreamCreate, (ws_CUstream * stream, unsigned flags))                                                     \
    X(cuStreamDestroy_v2, (ws_CUstream stream))                                                                   \
    X(cuCtxFromGreenCtx, (ws_CUcontext * context, ws_CUgreenCtx green))                                           \
    X(cuDeviceGetDevResource, (ws_CUdevice device, void *resource, int type))                                     \
    X(cuDevResourceGenerateDesc, (ws_CUdevResourceDesc * description, void *resources, unsigned count))           \
    X(cuGreenCtxCreate,                                                                                           \
      (ws_CUgreenCtx * green, ws_CUdevResourceDesc description, ws_CUdevice device, unsigned flags))              \
    X(cuGreenCtxDestroy, (ws_CUgreenCtx green))                                                                   \
    X(cuGreenCtxStreamCreate, (ws_CUstream * stream, ws_CUgreenCtx green, unsigned flags, int priority))          \
    X(cuLibraryLoadData, (ws_CUlibrary * library, const void *image, void *options, void *values, unsigned count, \
                          void *library_options, void *library_values, unsigned library_count))                   \
    X(cuLibraryEnumerateKernels, (ws_CUkernel * kernels, unsigned count, ws_CUlibrary library))                   \
    X(cuStreamQuery, (ws_CUstream stream))                                                                        \
    X(cuStreamSynchronize, (ws_CUstream stream))                                                                  \
    X(cuStreamWaitEvent, (ws_CUstream stream, ws_CUevent event, unsigned flags))                                  \
    X(cuStreamBeginCapture_v2, (ws_CUstream stream, int mode))                                                    \
    X(cuStreamEndCapture, (ws_CUstream stream, ws_CUgraph * graph))                                               \
    X(cuStreamIsCapturing, (ws_CUstream stream, int *status))                                                     \
    X(cuThreadExchangeStreamCaptureMode, (int *mode))                                                             \
    X(cuEventCreate, (ws_CUevent * event, unsigned flags))                                                        \
    X(cuEventDestroy_v2, (ws_CUevent event))                                                                      \
    X(cuEventRecord, (ws_CUevent event, ws_CUstream stream))                                                      \
    X(cuEventQuery, (ws_CUevent event))                                                                           \
    X(cuEventSynchronize, (ws_CUevent event))                                                                     \
    X(cuGraphInstantiateWithFlags, (ws_CUgraphExec * executable, ws_CUgraph graph, unsigned long long flags))     \
    X(cuGraphLaunch, (ws_CUgraphExec executable, ws_CUstream stream))                                             \
    X(cuGraphDestroy, (ws_CUgraph graph))                                                                         \
    X(cuGraphExecDestroy, (ws_CUgraphExec executable))                                                            \
    X(cuLaunchKernel,                                                                                             \
      (ws_CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,               \
       unsigned block_y, unsigned block_z, unsigned shared, ws_CUstream stream, void **parameters, void **extra)) \
    X(cuGetProcAddress, (const char *name, void **function, int version, uint64_t flags))                         \
    X(cuGetProcAddress_v2, (const char *name, void **function, int version, uint64_t flags, int *status))         \
    X(cuProfilerStart, (void))                                                                                    \
    X(cuProfilerStop, (void))

#define DECLARE(name, parameters) ws_CUresult name parameters;
DRIVER_CALLS(DECLARE)
#undef DECLARE

/* The PTX of a kernel whose parameter is its duration on the simulated GPU, in ns. SPIN_ENTRY gives it any name. */
#define SPIN_ENTRY(name) ".visible .entry " name "(\n.param .u64 " name "_param_0\n)\n{\nret;\n}\n"
#define SPIN_IMAGE ".version 6.0\n.target sm_52\n.address_size 64\n" SPIN_ENTRY("spin")

/* Prints "CALL: RESULT" and returns the result. */
#define TRY(call) tried(#call, (call))
static inline ws_CUresult tried(const char *call, ws_CUresult result)
{
    dprintf(STDOUT_FILENO, "%s: %d\n", call, result);
    return result;
}

/* Like TRY, but prints nothing on success, and ends the program on failure. */
#define MUST(call)                        \
    do {                                  \
        ws_CUresult must_result = (call); \
        if (must_result) {                \
            tried(#call, must_result);    \
            _exit(90);                    \
        }                                 \
    } while (0)

struct gpu {
    ws_CUdevice device;
    ws_CUcontext context;
    ws_CUmodule module;
    ws_CUfunction spin;
    ws_CUstream stream;
};

static inline void gpu_open(struct gpu *gpu, int ordinal)
{
    MUST(cuInit(0));
    MUST(cuDeviceGet(&gpu->device, ordinal));
    MUST(cuDevicePrimaryCtxRetain(&gpu->context, gpu->device));
    MUST(cuCtxSetCurrent(gpu->context));
    MUST(cuModuleLoadData(&gpu->module, SPIN_IMAGE));
    MUST(cuModuleGetFunction(&gpu->spin, gpu->module, "spin"));
    MUST(cuStreamCreate(&gpu->stream, WS_CU_STREAM_NON_BLOCKING));
}

static inline ws_CUresult spin(ws_CUfunction function, ws_CUstream stream, uint64_t ns)
{
    void *parameters[] = { &ns };
    return cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL);
}

/* Launches the kernel `times` times on the stream of `gpu`. Returns how many launches the driver refused. */
static inline int spin_times(const struct gpu *gpu, int times, uint64_t ns)
{
    int refused = 0;
    for (int i = 0; i < times; i++)
        refused += spin(gpu->spin, gpu->stream, ns) != WS_CUDA_SUCCESS;
    return refused;
}

/* Returns the mode in which the program is to run, which is its first argument. */
static inline const char *mode_of(int argc, char **argv)
{
    return argc > 1 ? argv[1] : "";
}

static inline int unknown_mode(const char *mode)
{
    dprintf(STDERR_FILENO, "no such mode: %s\n", mode);
    return 2;
}

#endif
