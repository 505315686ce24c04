/* Compares our declarations of the driver's binary interface with the toolkit's: values, layouts, and every row of
 * the wrapper table, with the typedef in cudaTypedefs.h for this name, version and flavour. */
#define __CUDA_API_VERSION_INTERNAL /* declares the typedefs of versions that only old programs use */
#include <cuda.h>
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>

#include "calibrate/driver.h"
#include "src/abi/cuda.h"
#include "abi.h"

static void compare_values()
{
#define VALUE(name, value) EXPECT((long long)WS_##name == (long long)name, #name " is %lld", (long long)name);
    WS_CU_VALUES(VALUE)
    EXPECT((void *)WS_CU_STREAM_LEGACY == (void *)CU_STREAM_LEGACY, "CU_STREAM_LEGACY");
    EXPECT((void *)WS_CU_STREAM_PER_THREAD == (void *)CU_STREAM_PER_THREAD, "CU_STREAM_PER_THREAD");
    EXPECT(WS_CU_LAUNCH_PARAM_END == CU_LAUNCH_PARAM_END, "CU_LAUNCH_PARAM_END");
    EXPECT(WS_CU_LAUNCH_PARAM_BUFFER_POINTER == CU_LAUNCH_PARAM_BUFFER_POINTER, "CU_LAUNCH_PARAM_BUFFER_POINTER");
    EXPECT(WS_CU_LAUNCH_PARAM_BUFFER_SIZE == CU_LAUNCH_PARAM_BUFFER_SIZE, "CU_LAUNCH_PARAM_BUFFER_SIZE");
}

#define SCALARS(X)                                                                             \
    X(CUresult) X(CUdevice) X(CUdeviceptr) X(CUmemGenericAllocationHandle) X(CUcontext) X(CUmodule) X(CUfunction) \
    X(CUlibrary) X(CUkernel) X(CUarray) X(CUevent) X(CUstream) X(CUgraph) X(CUgraphNode) X(CUgraphExec) \
    X(CUmemoryPool) X(CUgreenCtx) X(CUdevResourceDesc) X(CUhostFn) X(CUstreamCallback) X(CUoccupancyB2DSize)

/* Each line below has our structure, the toolkit's structure, and then each field. F2 is for fields whose names
 * differ. */
#define F2(our, their)                                                                                             \
    EXPECT(offsetof(ours, our) == offsetof(theirs, their), "%s.%s at %zu, should be at %zu", name, #our,             \
           offsetof(ours, our), offsetof(theirs, their));                                                           \
    EXPECT(sizeof(((ours *)0)->our) == sizeof(((theirs *)0)->their), "%s.%s has %zu bytes, should have %zu", name,   \
           #our, sizeof(((ours *)0)->our), sizeof(((theirs *)0)->their));
#define F(field) F2(field, field)
#define STRUCTURE(our, their, fields)                                                                               \
    {                                                                                                               \
        typedef our ours;                                                                                           \
        typedef their theirs;                                                                                       \
        const char *name = #our;                                                                                    \
        EXPECT(sizeof(ours) == sizeof(theirs), "%s has %zu bytes, should have %zu", name, sizeof(ours), sizeof(theirs)); \
        EXPECT(alignof(ours) == alignof(theirs), "%s: alignment %zu, should be %zu", name, alignof(ours), alignof(theirs)); \
        fields                                                                                                      \
    }

#define FIELDS_MEMCPY2D                                                                                        \
    F(srcXInBytes) F(srcY) F(srcMemoryType) F(srcHost) F(srcDevice) F(srcArray) F(srcPitch) F(dstXInBytes) F(dstY) \
    F(dstMemoryType) F(dstHost) F(dstDevice) F(dstArray) F(dstPitch) F(WidthInBytes) F(Height)
#define FIELDS_MEMCPY3D                                                                                        \
    F(srcXInBytes) F(srcY) F(srcZ) F(srcLOD) F(srcMemoryType) F(srcHost) F(srcDevice) F(srcArray) F(srcPitch)    \
    F(srcHeight) F(dstXInBytes) F(dstY) F(dstZ) F(dstLOD) F(dstMemoryType) F(dstHost) F(dstDevice) F(dstArray)   \
    F(dstPitch) F(dstHeight) F(WidthInBytes) F(Height) F(Depth)
#define FIELDS_GRID F(gridDimX) F(gridDimY) F(gridDimZ) F(blockDimX) F(blockDimY) F(blockDimZ) F(sharedMemBytes)

static void compare_structures()
{
#define SCALAR(type) STRUCTURE(ws_##type, type, )
    SCALARS(SCALAR)
    STRUCTURE(ws_CUuuid, CUuuid, F(bytes))
    STRUCTURE(ws_CUipcMemHandle, CUipcMemHandle, F(reserved))
    STRUCTURE(ws_CUmemPoolPtrExportData, CUmemPoolPtrExportData, F(reserved))
    STRUCTURE(ws_CUmemLocation, CUmemLocation, F(type) F(id))
    STRUCTURE(ws_CUmemAccessDesc, CUmemAccessDesc, F(location) F(flags))
    STRUCTURE(ws_CUmemAllocationProp, CUmemAllocationProp,
              F(type) F(requestedHandleTypes) F(location) F(win32HandleMetaData) F(allocFlags)
              F(allocFlags.compressionType) F(allocFlags.gpuDirectRDMACapable) F(allocFlags.usage) F(allocFlags.reserved))
    STRUCTURE(ws_CUmemPoolProps, CUmemPoolProps,
              F(allocType) F(handleTypes) F(location) F(win32SecurityAttributes) F(maxSize) F(usage) F(reserved))
    STRUCTURE(ws_CUmemcpyAttributes, CUmemcpyAttributes, F(srcAccessOrder) F(srcLocHint) F(dstLocHint) F(flags))
    STRUCTURE(ws_CUDA_MEMCPY2D, CUDA_MEMCPY2D, FIELDS_MEMCPY2D)
    STRUCTURE(ws_CUDA_MEMCPY3D, CUDA_MEMCPY3D, FIELDS_MEMCPY3D F(reserved0) F(reserved1))
    STRUCTURE(ws_CUDA_MEMCPY3D_PEER, CUDA_MEMCPY3D_PEER,
              FIELDS_MEMCPY3D F2(reserved0, srcContext) F2(reserved1, dstContext))
    STRUCTURE(ws_CUmemcpy3DOperand, CUmemcpy3DOperand,
              F(type) F(op.ptr.ptr) F(op.ptr.rowLength) F(op.ptr.layerHeight) F(op.ptr.locHint) F(op.array.array)
              F(op.array.offset) F(op.array.offset.x) F(op.array.offset.y) F(op.array.offset.z))
    STRUCTURE(ws_CUDA_MEMCPY3D_BATCH_OP, CUDA_MEMCPY3D_BATCH_OP,
              F(src) F(dst) F(extent) F(extent.width) F(extent.height) F(extent.depth) F(srcAccessOrder) F(flags))
    STRUCTURE(ws_CUlaunchAttribute, CUlaunchAttribute,
              F(id) F(pad) F(value) F(value.pad) F(value.cooperative) F(value.programmaticStreamSerializationAllowed)
              F(value.programmaticEvent) F(value.programmaticEvent.event) F(value.programmaticEvent.flags)
              F(value.programmaticEvent.triggerAtBlockStart) F(value.launchCompletionEvent)
              F(value.launchCompletionEvent.event) F(value.launchCompletionEvent.flags))
    STRUCTURE(ws_CUlaunchConfig, CUlaunchConfig, FIELDS_GRID F(hStream) F(attrs) F(numAttrs))
    STRUCTURE(ws_CUDA_LAUNCH_PARAMS, CUDA_LAUNCH_PARAMS, F(function) FIELDS_GRID F(hStream) F(kernelParams))
    STRUCTURE(ws_CUDA_KERNEL_NODE_PARAMS_v1, CUDA_KERNEL_NODE_PARAMS_v1, F(func) FIELDS_GRID F(kernelParams) F(extra))
    STRUCTURE(ws_CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v2,
              F(func) FIELDS_GRID F(kernelParams) F(extra) F(kern) F(ctx))
    STRUCTURE(ws_CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v3,
              F(func) FIELDS_GRID F(kernelParams) F(extra) F(kern) F(ctx))
    STRUCTURE(ws_CUDA_MEMSET_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS_v1,
              F(dst) F(pitch) F(value) F(elementSize) F(width) F(height))
    STRUCTURE(ws_CUDA_HOST_NODE_PARAMS, CUDA_HOST_NODE_PARAMS_v1, F(fn) F(userData))
    STRUCTURE(ws_CUDA_MEMCPY_NODE_PARAMS, CUDA_MEMCPY_NODE_PARAMS, F(flags) F(reserved) F(copyCtx) F(copyParams))
    STRUCTURE(ws_CUgraphNodeParams, CUgraphNodeParams,
              F(type) F(reserved0) F(reserved1) F(kernel) F(memcpy) F(reserved2) F2(graph, graph.graph)
              F2(event, eventWait.event) F2(event, eventRecord.event) F2(memset.dst, memset.dst)
              F2(memset.pitch, memset.pitch) F2(memset.value, memset.value) F2(memset.elementSize, memset.elementSize)
              F2(memset.width, memset.width) F2(memset.height, memset.height) F2(host.fn, host.fn)
              F2(host.userData, host.userData))
    STRUCTURE(ws_CUgraphEdgeData, CUgraphEdgeData, F(from_port) F(to_port) F(type) F(reserved))
    STRUCTURE(ws_CUDA_GRAPH_INSTANTIATE_PARAMS, CUDA_GRAPH_INSTANTIATE_PARAMS,
              F(flags) F(hUploadStream) F(hErrNode_out) F(result_out))
    STRUCTURE(ws_CUctxCreateParams, CUctxCreateParams, F(execAffinityParams) F(numExecAffinityParams) F(cigParams))
}

static void compare_functions()
{
#define DRIVER_TYPE(symbol, typedef_name, parameters) \
    comparison<ws_CUresult parameters, std::remove_pointer_t<typedef_name>>::run(symbol);
#define NCCL_TYPE(symbol, parameters)
#define CUBLAS_TYPE(symbol, parameters)
#define CUDNN_TYPE(symbol, parameters)
#include "driver_rows.h"
#define CALIBRATE(member, symbol, parameters) \
    comparison<ws_CUresult parameters, std::remove_reference_t<decltype(symbol)>>::run(#symbol);
    WS_DRIVER_FUNCTIONS(CALIBRATE)
}

int main()
{
    std::printf("cuda.h of CUDA %d.%d\n", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
    compare_values();
    compare_structures();
    compare_functions();
    return summary("cuda.h");
}
