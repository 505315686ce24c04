/* A driver whose calls cost nothing, so that what remains is the shim's own work. It knows one context
 * and answers success to what a launching program and the shim ask of it; nothing ever runs. */
#include <stddef.h>
#include <string.h>

#include "../../../shim/abi/cuda.h"

#define DRIVER_FUNCTION(name, parameters)                               \
    __attribute__((visibility("default"))) ws_CUresult name parameters; \
    ws_CUresult name parameters

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
    (void)stream;
    *context = (ws_CUcontext)&one_context;
    return WS_CUDA_SUCCESS;
}

DRIVER_FUNCTION(cuEventCreate, (ws_CUevent * event, unsigned flags))
{
    (void)flags;
    *event = (ws_CUevent)&one_event;
    return WS_CUDA_SUCCESS;
}

DRIVER_FUNCTION(cuEventRecord, (ws_CUevent event, ws_CUstream stream))
{
    (void)event;
    (void)stream;
    return WS_CUDA_SUCCESS;
}

DRIVER_FUNCTION(cuEventQuery, (ws_CUevent event))
{
    (void)event;
    return WS_CUDA_SUCCESS;
}

DRIVER_FUNCTION(cuEventElapsedTime, (float *ms, ws_CUevent start, ws_CUevent end))
{
    (void)start;
    (void)end;
    *ms = 0;
    return WS_CUDA_SUCCESS;
}

DRIVER_FUNCTION(cuFuncGetName, (const char **name, ws_CUfunction function))
{
    (void)function;
    *name = "nothing";
    return WS_CUDA_SUCCESS;
}

/* Four pointers and two numbers, as a typical kernel has. */
DRIVER_FUNCTION(cuFuncGetParamInfo, (ws_CUfunction function, size_t index, size_t *offset, size_t *size))
{
    (void)function;
    *offset = index * 8;
    *size = index < 4 ? 8 : 4;
    return index < 6 ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_VALUE;
}

DRIVER_FUNCTION(cuLaunchKernel, (ws_CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                 ws_CUstream stream, void **params, void **extra))
{
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
