/* Driver functions that the shim calls for itself: X(name, exported symbol, parameters). The functions are looked up
 * in the driver's own symbol table, so these calls do not go through our wrappers. If the driver is too old to have a
 * function, the function's pointer is NULL. Callers must check for NULL. */
#ifndef WALLSHIM_SHIM_HOOK_DRIVER_CALLS_H
#define WALLSHIM_SHIM_HOOK_DRIVER_CALLS_H

#include <stddef.h>

#include "abi/cuda.h"
#include "shim/state/lock.h"

#define DRIVER_CALLS(X)                                                                                             \
    X(event_create, "cuEventCreate", (ws_CUevent * event, unsigned flags))                                          \
    X(event_record, "cuEventRecord", (ws_CUevent event, ws_CUstream stream))                                        \
    X(event_elapsed, "cuEventElapsedTime", (float *ms, ws_CUevent start, ws_CUevent end))                           \
    X(event_destroy, "cuEventDestroy_v2", (ws_CUevent event))                                                       \
    X(stream_destroy, "cuStreamDestroy_v2", (ws_CUstream stream))                                                   \
    X(event_query, "cuEventQuery", (ws_CUevent event))                                                              \
    X(stream_create, "cuStreamCreate", (ws_CUstream * stream, unsigned flags))                                      \
    X(stream_context, "cuStreamGetCtx", (ws_CUstream stream, ws_CUcontext * context))                               \
    X(stream_whole_context, "cuStreamGetCtx_v2",                                                                    \
      (ws_CUstream stream, ws_CUcontext * context, ws_CUgreenCtx * green))                                          \
    X(stream_green, "cuStreamGetGreenCtx", (ws_CUstream stream, ws_CUgreenCtx * green))                             \
    X(stream_flags, "cuStreamGetFlags", (ws_CUstream stream, unsigned *flags))                                      \
    X(stream_priority, "cuStreamGetPriority", (ws_CUstream stream, int *priority))                                  \
    X(stream_is_capturing, "cuStreamIsCapturing", (ws_CUstream stream, ws_CUenum * status))                         \
    X(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", (ws_CUenum * mode))                               \
    X(context_current, "cuCtxGetCurrent", (ws_CUcontext * context))                                                 \
    X(context_set, "cuCtxSetCurrent", (ws_CUcontext context))                                                       \
    X(context_device, "cuCtxGetDevice", (ws_CUdevice * device))                                                     \
    X(context_synchronize, "cuCtxSynchronize", (void))                                                              \
    X(stream_wait_value, "cuStreamWaitValue32_v2",                                                                  \
      (ws_CUstream stream, ws_CUdeviceptr address, uint32_t value, unsigned flags))                                 \
    X(host_register, "cuMemHostRegister_v2", (void *memory, size_t bytes, unsigned flags))                          \
    X(host_address, "cuMemHostGetDevicePointer_v2", (ws_CUdeviceptr * address, void *memory, unsigned flags))       \
    X(stream_query, "cuStreamQuery", (ws_CUstream stream))                                                          \
    X(context_flags, "cuCtxGetFlags", (unsigned *flags))                                                            \
    X(device_count, "cuDeviceGetCount", (int *count))                                                               \
    X(primary_retain, "cuDevicePrimaryCtxRetain", (ws_CUcontext * context, ws_CUdevice device))                     \
    X(primary_release, "cuDevicePrimaryCtxRelease_v2", (ws_CUdevice device))                                        \
    X(primary_state, "cuDevicePrimaryCtxGetState", (ws_CUdevice device, unsigned *flags, int *active))              \
    X(function_name, "cuFuncGetName", (const char **name, ws_CUfunction function))                                  \
    X(function_param, "cuFuncGetParamInfo", (ws_CUfunction function, size_t index, size_t * offset, size_t * size)) \
    X(function_attribute, "cuFuncGetAttribute", (int *value, ws_CUenum attribute, ws_CUfunction function))          \
    X(kernel_name, "cuKernelGetName", (const char **name, ws_CUkernel kernel))                                      \
    X(kernel_param, "cuKernelGetParamInfo", (ws_CUkernel kernel, size_t index, size_t * offset, size_t * size))     \
    X(kernel_function, "cuKernelGetFunction", (ws_CUfunction * function, ws_CUkernel kernel))                       \
    X(library_kernels, "cuLibraryGetKernelCount", (unsigned *count, ws_CUlibrary library))                          \
    X(driver_version, "cuDriverGetVersion", (int *version))                                                         \
    X(device_name, "cuDeviceGetName", (char *name, int capacity, ws_CUdevice device))                               \
    X(device_uuid, "cuDeviceGetUuid_v2", (ws_CUuuid * uuid, ws_CUdevice device))                                    \
    X(device_uuid_v1, "cuDeviceGetUuid", (ws_CUuuid * uuid, ws_CUdevice device))                                    \
    X(device_memory, "cuDeviceTotalMem_v2", (size_t * bytes, ws_CUdevice device))                                   \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, ws_CUenum attribute, ws_CUdevice device))              \
    X(device_pci, "cuDeviceGetPCIBusId", (char *text, int capacity, ws_CUdevice device))                            \
    X(graph_nodes, "cuGraphGetNodes", (ws_CUgraph graph, ws_CUgraphNode * nodes, size_t * count))                   \
    X(node_type, "cuGraphNodeGetType", (ws_CUgraphNode node, ws_CUenum * type))                                     \
    X(node_kernel, "cuGraphKernelNodeGetParams_v2", (ws_CUgraphNode node, ws_CUDA_KERNEL_NODE_PARAMS * params))     \
    X(node_kernel_v1, "cuGraphKernelNodeGetParams", (ws_CUgraphNode node, ws_CUDA_KERNEL_NODE_PARAMS_v1 * params))  \
    X(node_copy, "cuGraphMemcpyNodeGetParams", (ws_CUgraphNode node, ws_CUDA_MEMCPY3D * params))                    \
    X(node_memset, "cuGraphMemsetNodeGetParams", (ws_CUgraphNode node, ws_CUDA_MEMSET_NODE_PARAMS * params))        \
    X(node_child, "cuGraphChildGraphNodeGetGraph", (ws_CUgraphNode node, ws_CUgraph * graph))                       \
    X(pointer_attribute, "cuPointerGetAttribute", (void *value, ws_CUenum attribute, ws_CUdeviceptr pointer))

struct driver_calls {
#define CALL(name, symbol, parameters) ws_CUresult(*name) parameters;
    DRIVER_CALLS(CALL)
#undef CALL
};

/* The functions' addresses. driver_calls_find fills them in when the recording starts. */
extern struct driver_calls driver;

void driver_calls_find(void);

/* driver_ask_begin and driver_ask_end are called before and after driver calls that the shim makes for itself in a
 * thread of the program. To save time, they are not called around the driver calls that the shim makes at every
 * launch. Between driver_ask_begin and driver_ask_end, the thread's capture mode is relaxed, so that the shim's
 * driver calls break no stream capture. (NVIDIA's documentation does not say which calls break captures in other
 * modes.) Signals are blocked, too: if a signal handler left the shim's code by longjmp, the thread would stay in
 * relaxed mode. */
struct driver_ask {
    ws_CUenum mode;
    struct shim_quiet quiet;
};
void driver_ask_begin(struct driver_ask *ask);
void driver_ask_end(const struct driver_ask *ask);

#endif
