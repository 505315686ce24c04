/* Helpers for the tests of the simulated GPU: a fixture, and declarations of the driver's functions, against which
 * the tests are linked. */
#ifndef WALLSHIM_TESTS_SIMGPU_H
#define WALLSHIM_TESTS_SIMGPU_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "abi/cuda.h"

typedef struct ws_CUlinkState_st *ws_CUlinkState;

#define CALL(name, ...) ws_CUresult name(__VA_ARGS__);
CALL(cuInit, unsigned)
CALL(cuDriverGetVersion, int *)
CALL(cuGetProcAddress, const char *, void **, int, uint64_t)
CALL(cuGetProcAddress_v2, const char *, void **, int, uint64_t, int *)
CALL(cuDeviceGetCount, int *)
CALL(cuDeviceGetAttribute, int *, int, int)
CALL(cuDeviceTotalMem_v2, size_t *, int)
CALL(cuDevicePrimaryCtxRetain, ws_CUcontext *, int)
CALL(cuDevicePrimaryCtxRelease_v2, int)
CALL(cuDevicePrimaryCtxReset_v2, int)
CALL(cuCtxCreate_v2, ws_CUcontext *, unsigned, int)
CALL(cuCtxDestroy_v2, ws_CUcontext)
CALL(cuCtxSetCurrent, ws_CUcontext)
CALL(cuCtxGetCurrent, ws_CUcontext *)
CALL(cuCtxPushCurrent_v2, ws_CUcontext)
CALL(cuCtxPopCurrent_v2, ws_CUcontext *)
CALL(cuCtxSynchronize, void)
CALL(cuStreamCreate, ws_CUstream *, unsigned)
CALL(cuStreamDestroy_v2, ws_CUstream)
CALL(cuStreamSynchronize, ws_CUstream)
CALL(cuStreamSynchronize_ptsz, ws_CUstream)
CALL(cuStreamQuery, ws_CUstream)
CALL(cuStreamWaitEvent, ws_CUstream, ws_CUevent, unsigned)
CALL(cuStreamGetCtx, ws_CUstream, ws_CUcontext *)
CALL(cuStreamGetId, ws_CUstream, unsigned long long *)
CALL(cuStreamGetId_ptsz, ws_CUstream, unsigned long long *)
CALL(cuLaunchHostFunc, ws_CUstream, ws_CUhostFn, void *)
CALL(cuStreamAddCallback, ws_CUstream, ws_CUstreamCallback, void *, unsigned)
CALL(cuStreamWaitValue32_v2, ws_CUstream, ws_CUdeviceptr, uint32_t, unsigned)
CALL(cuStreamWaitValue32, ws_CUstream, ws_CUdeviceptr, uint32_t, unsigned)
CALL(cuStreamWriteValue32_v2, ws_CUstream, ws_CUdeviceptr, uint32_t, unsigned)
CALL(cuEventCreate, ws_CUevent *, unsigned)
CALL(cuEventDestroy_v2, ws_CUevent)
CALL(cuEventRecord, ws_CUevent, ws_CUstream)
CALL(cuEventQuery, ws_CUevent)
CALL(cuEventSynchronize, ws_CUevent)
CALL(cuEventElapsedTime, float *, ws_CUevent, ws_CUevent)
CALL(cuMemAlloc_v2, ws_CUdeviceptr *, size_t)
CALL(cuMemAllocManaged, ws_CUdeviceptr *, size_t, unsigned)
CALL(cuMemFree_v2, ws_CUdeviceptr)
CALL(cuMemAllocAsync, ws_CUdeviceptr *, size_t, ws_CUstream)
CALL(cuMemFreeAsync, ws_CUdeviceptr, ws_CUstream)
CALL(cuMemAllocHost_v2, void **, size_t)
CALL(cuMemFreeHost, void *)
CALL(cuMemGetInfo_v2, size_t *, size_t *)
CALL(cuMemHostRegister_v2, void *, size_t, unsigned)
CALL(cuMemHostUnregister, void *)
CALL(cuPointerGetAttribute, void *, int, ws_CUdeviceptr)
CALL(cuMemcpyHtoD_v2, ws_CUdeviceptr, const void *, size_t)
CALL(cuMemcpyDtoH_v2, void *, ws_CUdeviceptr, size_t)
CALL(cuMemcpyHtoDAsync_v2, ws_CUdeviceptr, const void *, size_t, ws_CUstream)
CALL(cuMemcpyDtoHAsync_v2, void *, ws_CUdeviceptr, size_t, ws_CUstream)
CALL(cuMemcpyDtoDAsync_v2, ws_CUdeviceptr, ws_CUdeviceptr, size_t, ws_CUstream)
CALL(cuMemcpy2D_v2, const ws_CUDA_MEMCPY2D *)
CALL(cuMemsetD32_v2, ws_CUdeviceptr, unsigned, size_t)
CALL(cuMemsetD32Async, ws_CUdeviceptr, unsigned, size_t, ws_CUstream)
CALL(cuMemAddressReserve, ws_CUdeviceptr *, size_t, size_t, ws_CUdeviceptr, unsigned long long)
CALL(cuMemAddressFree, ws_CUdeviceptr, size_t)
CALL(cuMemCreate, ws_CUmemGenericAllocationHandle *, size_t, const ws_CUmemAllocationProp *, unsigned long long)
CALL(cuMemMap, ws_CUdeviceptr, size_t, size_t, ws_CUmemGenericAllocationHandle, unsigned long long)
CALL(cuMemSetAccess, ws_CUdeviceptr, size_t, const ws_CUmemAccessDesc *, size_t)
CALL(cuMemUnmap, ws_CUdeviceptr, size_t)
CALL(cuMemRelease, ws_CUmemGenericAllocationHandle)
CALL(cuModuleLoadData, ws_CUmodule *, const void *)
CALL(cuModuleUnload, ws_CUmodule)
CALL(cuLinkCreate, unsigned, int *, void **, ws_CUlinkState *)
CALL(cuLinkCreate_v2, unsigned, int *, void **, ws_CUlinkState *)
CALL(cuLinkAddData, ws_CUlinkState, int, void *, size_t, const char *, unsigned, int *, void **)
CALL(cuLinkAddData_v2, ws_CUlinkState, int, void *, size_t, const char *, unsigned, int *, void **)
CALL(cuLinkAddFile_v2, ws_CUlinkState, int, const char *, unsigned, int *, void **)
CALL(cuLinkComplete, ws_CUlinkState, void **, size_t *)
CALL(cuLinkDestroy, ws_CUlinkState)
CALL(cuModuleGetFunction, ws_CUfunction *, ws_CUmodule, const char *)
CALL(cuModuleGetGlobal_v2, ws_CUdeviceptr *, size_t *, ws_CUmodule, const char *)
CALL(cuFuncGetName, const char **, ws_CUfunction)
CALL(cuFuncGetParamInfo, ws_CUfunction, size_t, size_t *, size_t *)
CALL(cuLibraryLoadData, ws_CUlibrary *, const void *, int *, void **, unsigned, int *, void **, unsigned)
CALL(cuLibraryUnload, ws_CUlibrary)
CALL(cuLibraryGetGlobal, ws_CUdeviceptr *, size_t *, ws_CUlibrary, const char *)
CALL(cuLibraryGetKernel, ws_CUkernel *, ws_CUlibrary, const char *)
CALL(cuKernelGetName, const char **, ws_CUkernel)
CALL(cuKernelGetFunction, ws_CUfunction *, ws_CUkernel)
CALL(cuLaunchKernel, ws_CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, ws_CUstream,
     void **, void **)
CALL(cuLaunchKernel_ptsz, ws_CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
     ws_CUstream, void **, void **)
CALL(cuLaunchKernelEx, const ws_CUlaunchConfig *, ws_CUfunction, void **, void **)
CALL(cuStreamBeginCapture_v2, ws_CUstream, int)
CALL(cuStreamEndCapture, ws_CUstream, ws_CUgraph *)
CALL(cuStreamIsCapturing, ws_CUstream, int *)
CALL(cuThreadExchangeStreamCaptureMode, int *)
CALL(cuGraphCreate, ws_CUgraph *, unsigned)
CALL(cuGraphDestroy, ws_CUgraph)
CALL(cuGraphGetNodes, ws_CUgraph, ws_CUgraphNode *, size_t *)
CALL(cuGraphGetEdges, ws_CUgraph, ws_CUgraphNode *, ws_CUgraphNode *, size_t *)
CALL(cuGraphNodeGetType, ws_CUgraphNode, int *)
CALL(cuGraphAddKernelNode, ws_CUgraphNode *, ws_CUgraph, const ws_CUgraphNode *, size_t,
     const ws_CUDA_KERNEL_NODE_PARAMS_v1 *)
CALL(cuGraphAddHostNode, ws_CUgraphNode *, ws_CUgraph, const ws_CUgraphNode *, size_t,
     const ws_CUDA_HOST_NODE_PARAMS *)
CALL(cuGraphAddChildGraphNode, ws_CUgraphNode *, ws_CUgraph, const ws_CUgraphNode *, size_t, ws_CUgraph)
CALL(cuGraphKernelNodeGetParams, ws_CUgraphNode, ws_CUDA_KERNEL_NODE_PARAMS_v1 *)
CALL(cuGraphInstantiateWithFlags, ws_CUgraphExec *, ws_CUgraph, unsigned long long)
CALL(cuGraphExecKernelNodeSetParams, ws_CUgraphExec, ws_CUgraphNode, const ws_CUDA_KERNEL_NODE_PARAMS_v1 *)
CALL(cuGraphExecUpdate, ws_CUgraphExec, ws_CUgraph, ws_CUgraphNode *, int *)
CALL(cuGraphNodeSetEnabled, ws_CUgraphExec, ws_CUgraphNode, unsigned)
CALL(cuGraphLaunch, ws_CUgraphExec, ws_CUstream)
CALL(cuGraphExecDestroy, ws_CUgraphExec)
#undef CALL

/* PTX of kernels that the simulator has built in (spin, fill_f32, vector_add, saxpy, illegal_address), of a kernel
 * that a test registers (own_kernel), of a kernel that nobody registers (unknown), and of a global variable. */
extern const char simgpu_ptx[];

struct simgpu_fixture {
    ws_CUcontext context;
    ws_CUmodule module;
    ws_CUstream stream, other; /* both are non-blocking */
    uint32_t *gate;            /* in pinned memory; simgpu_hold makes a stream wait for a value in it */
};

/* Makes a context of device 0 in which the module is loaded. Every test gets a context of its own. */
int simgpu_setup(void **state);
int simgpu_teardown(void **state);

ws_CUfunction simgpu_function(const struct simgpu_fixture *fixture, const char *name);
void simgpu_spin(const struct simgpu_fixture *fixture, ws_CUstream stream, uint64_t ns);

/* simgpu_hold makes the stream wait: work that is queued after it begins only at simgpu_release. So device times do
 * not depend on the speed of the test. */
void simgpu_hold(const struct simgpu_fixture *fixture, ws_CUstream stream);
void simgpu_release(const struct simgpu_fixture *fixture);

#define succeeds(call) assert_int_equal(call, WS_CUDA_SUCCESS)
#define fails(call, error) assert_int_equal(call, WS_CUDA_ERROR_##error)

#endif
