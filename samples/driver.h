/* Declares the functions of the driver and of NCCL that the C samples use. Includes the headers of the CUDA toolkit
 * if they exist. Without a toolkit, declares the functions here with the types of src/abi/. */
#ifndef WALLSHIM_SAMPLES_DRIVER_H
#define WALLSHIM_SAMPLES_DRIVER_H

#if __has_include(<cuda.h>)
#include <cuda.h>
#else
#include "abi/cuda.h"

typedef ws_CUresult CUresult;
typedef ws_CUdevice CUdevice;
typedef ws_CUdeviceptr CUdeviceptr;
typedef ws_CUcontext CUcontext;
typedef ws_CUmodule CUmodule;
typedef ws_CUfunction CUfunction;
typedef ws_CUstream CUstream;
typedef ws_CUevent CUevent;
typedef ws_CUgraph CUgraph;
typedef ws_CUgraphExec CUgraphExec;

#define CUDA_SUCCESS WS_CUDA_SUCCESS
#define CU_STREAM_NON_BLOCKING WS_CU_STREAM_NON_BLOCKING
#define CU_STREAM_CAPTURE_MODE_GLOBAL WS_CU_STREAM_CAPTURE_MODE_GLOBAL
#define CU_STREAM_CAPTURE_MODE_THREAD_LOCAL WS_CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
#define CU_STREAM_CAPTURE_MODE_RELAXED WS_CU_STREAM_CAPTURE_MODE_RELAXED
#define CU_EVENT_DEFAULT WS_CU_EVENT_DEFAULT
#define CU_EVENT_DISABLE_TIMING WS_CU_EVENT_DISABLE_TIMING
#define CU_STREAM_WAIT_VALUE_GEQ WS_CU_STREAM_WAIT_VALUE_GEQ

#define cuMemAlloc cuMemAlloc_v2
#define cuMemAllocHost cuMemAllocHost_v2
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2
#define cuMemsetD32 cuMemsetD32_v2
#define cuEventDestroy cuEventDestroy_v2
#define cuStreamBeginCapture cuStreamBeginCapture_v2
#define cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2
#define cuStreamWaitValue32 cuStreamWaitValue32_v2

CUresult cuInit(unsigned int flags);
CUresult cuGetErrorName(CUresult error, const char **name);
CUresult cuDeviceGetCount(int *count);
CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuDeviceGetName(char *name, int length, CUdevice device);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuDevicePrimaryCtxRelease(CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxSynchronize(void);
CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuModuleUnload(CUmodule module);
CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes);
CUresult cuMemAllocHost(void **memory, size_t bytes);
CUresult cuMemFreeHost(void *memory);
CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes);
CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream);
CUresult cuMemsetD32(CUdeviceptr to, unsigned int value, size_t count);
CUresult cuStreamCreate(CUstream *stream, unsigned int flags);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags);
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags);
CUresult cuStreamBeginCapture(CUstream stream, ws_CUenum mode);
CUresult cuStreamIsCapturing(CUstream stream, ws_CUenum *status);
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph, unsigned long long flags);
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream);
CUresult cuGraphDestroy(CUgraph graph);
CUresult cuGraphExecDestroy(CUgraphExec executable);
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);
CUresult cuEventCreate(CUevent *event, unsigned int flags);
CUresult cuEventDestroy(CUevent event);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuEventQuery(CUevent event);
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventElapsedTime(float *ms, CUevent begin, CUevent end);
CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,
                        CUstream stream, void **parameters, void **extra);
#endif

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#include <nccl.h>
#else
#include "abi/nccl.h"

typedef ws_ncclResult ncclResult_t;
typedef ws_ncclComm ncclComm_t;
typedef ws_ncclUniqueId ncclUniqueId;

#define ncclSuccess WS_ncclSuccess
#define ncclFloat WS_ncclFloat32
#define ncclAvg WS_ncclAvg

ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int size, ncclUniqueId id, int rank);
ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ws_ncclEnum type, ws_ncclEnum operation,
                           ncclComm_t comm, CUstream stream);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
const char *ncclGetErrorString(ncclResult_t result);
#endif

#endif
