/* A driver whose calls cost nothing, so that only the shim's own work is measured. The driver has one context, and
 * returns success to all calls of a launching program and of the shim. No kernel ever runs. */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/cuda.h"

#define DRIVER_FUNCTION(name, parameters)                               \
    __attribute__((visibility("default"))) ws_CUresult name parameters; \
    ws_CUresult name parameters

/* The functions whose calls by the program's first thread are counted. With NULL_DRIVER_COUNTS set, the counts are
 * printed at the end. */
#define COUNTED(X)         \
    X(cuCtxGetCurrent)     \
    X(cuStreamIsCapturing) \
    X(cuEventRecord)       \
    X(cuEventCreate)       \
    X(cuEventQuery)        \
    X(cuEventElapsedTime)  \
    X(cuStreamGetCtx)      \
    X(cuFuncGetName)       \
    X(cuFuncGetParamInfo)  \
    X(cuLaunchKernel)

enum counted {
#define X(name) COUNT_##name,
    COUNTED(X)
#undef X
        COUNTS
};

static unsigned long counts[COUNTS];
static bool counting;

static void count(enum counted which)
{
    if (__builtin_expect(counting, 0) && syscall(SYS_gettid) == getpid())
        counts[which]++;
}

__attribute__((constructor)) static void begin(void)
{
    counting = getenv("NULL_DRIVER_COUNTS");
}

__attribute__((destructor)) static void end(void)
{
    static const char *const names[] = {
#define X(name) #name,
        COUNTED(X)
#undef X
    };
    for (int i = 0; counting && i < COUNTS; i++)
        printf("%s %lu\n", names[i], counts[i]);
}

static int one_context, one_stream, one_event;

DRIVER_FUNCTION(cuInit, (unsigned flags))
{
    (void)flags;
    return WS_CUDA_SUCCESS;
}

DRIVER_FUNCTION(cuDevicePrimaryCtxRetain, (ws_CUcontext * context, ws_CUdevice device))
{
    (void)device;
    *context = (ws_CUcontext)&one_context;
    return WS_CUDA_SUCCESS;
}

DRIVER_FUNCTION(cuCtxSetCurrent, (ws_CUcontext context))
{
    (void)context;
    return WS_CUDA_SUCCESS;
}

DRIVER_FUNCTION(cuCtxGetCurrent, (ws_CUcontext * context))
{
    count(COUNT_cuCtxGetCurrent);
    *context = (ws_CUcontext)&one_context;
    return WS_CUDA_SUCCESS;
}

DRIVER_FUNCTION(cuStreamCreate, (ws_CUstream * stream, unsigned flags))
{
    (void)flags;
    *stream = (ws_CUstream)&one_stream;
    return WS_CUDA_SUCCESS;
}

DRIVER_FUNCTION(cuStreamGetCtx, (ws_CUstream stream, ws_CUcontext *context))
{
    count(COUNT_cuStreamGetCtx);
    (void)stream;
    *context = (ws_CUcontext)&one_context;
    return WS_CUDA_SUCCESS;
}

DRIVER_FUNCTION(cuStreamIsCapturing, (ws_CUstream stream, ws_CUenum *status))
{
    count(COUNT_cuStreamIsCapturing);
    (void)stream;
    *status = WS_CU_STREAM_CAPTURE_STATUS_NONE;
    return WS_CUDA_SUCCESS;
}

DRIVER_FUNCTION(cuEventCreate, (ws_CUevent * event, unsigned flags))
{
    count(COUNT_cuEventCreate);
    (void)flags;
    *event = (ws_CUevent)&one_event;
    return WS_CUDA_SUCCESS;
}

DRIVER_FUNCTION(cuEventRecord, (ws_CUevent event, ws_CUstream stream))
{
    count(COUNT_cuEventRecord);
    (void)event;
    (void)stream;
    return WS_CUDA_SUCCESS;
}

DRIVER_FUNCTION(cuEventQuery, (ws_CUevent event))
{
    count(COUNT_cuEventQuery);
    (void)event;
    return WS_CUDA_SUCCESS;
}

DRIVER_FUNCTION(cuEventElapsedTime, (float *ms, ws_CUevent start, ws_CUevent end))
{
    count(COUNT_cuEventElapsedTime);
    (void)start;
    (void)end;
    *ms = 0;
    return WS_CUDA_SUCCESS;
}

DRIVER_FUNCTION(cuFuncGetName, (const char **name, ws_CUfunction function))
{
    static _Thread_local char own[32];
    count(COUNT_cuFuncGetName);
    *name = "nothing";
    if (getenv("NULL_DRIVER_NAMES")) { /* each kernel has its own name */
        snprintf(own, sizeof(own), "k%p", (void *)function);
        *name = own;
    }
    return WS_CUDA_SUCCESS;
}

/* Every kernel has the parameters of a typical one: four pointers and two numbers. */
DRIVER_FUNCTION(cuFuncGetParamInfo, (ws_CUfunction function, size_t index, size_t *offset, size_t *size))
{
    count(COUNT_cuFuncGetParamInfo);
    (void)function;
    *offset = index * 8;
    *size = index < 4 ? 8 : 4;
    return index < 6 ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_VALUE;
}

DRIVER_FUNCTION(cuCtxSynchronize, (void))
{
    return WS_CUDA_SUCCESS;
}

DRIVER_FUNCTION(cuLaunchKernel, (ws_CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                 ws_CUstream stream, void **params, void **extra))
{
    count(COUNT_cuLaunchKernel);
    (void)function;
    (void)grid_x;
    (void)grid_y;
    (void)grid_z;
    (void)block_x;
    (void)block_y;
    (void)block_z;
    (void)shared;
    (void)stream;
    (void)params;
    (void)extra;
    return WS_CUDA_SUCCESS;
}
