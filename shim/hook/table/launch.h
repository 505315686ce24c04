/* The rows of the wrapper table (see driver_table.h) for functions that put kernels, graphs, host functions or other
 * work into a stream. */
/* clang-format off */
DRIVER_PTSZ(cuLaunchKernel, cuLaunchKernel, 4000, LAUNCH,
    (ws_CUfunction f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ, unsigned blockDimX, unsigned
     blockDimY, unsigned blockDimZ, unsigned sharedMemBytes, ws_CUstream hStream, void **kernelParams, void
     **extra),
    (f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream, kernelParams,
     extra),
    kernel(&call, LAUNCH(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream),
     kernelParams, extra, 0),
    NOTHING)
DRIVER_PTSZ(cuLaunchKernelEx, cuLaunchKernelEx, 11060, LAUNCH,
    (const ws_CUlaunchConfig *config, ws_CUfunction f, void **kernelParams, void **extra),
    (config, f, kernelParams, extra), kernel_ex(&call, config, f, kernelParams, extra), NOTHING)
DRIVER_PTSZ(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel, 9000, LAUNCH,
    (ws_CUfunction f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ, unsigned blockDimX, unsigned
     blockDimY, unsigned blockDimZ, unsigned sharedMemBytes, ws_CUstream hStream, void **kernelParams),
    (f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream, kernelParams),
    kernel(&call, LAUNCH(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream),
     kernelParams, NULL, WS_OP_COOPERATIVE),
    NOTHING)
DRIVER(cuLaunchCooperativeKernelMultiDevice, cuLaunchCooperativeKernelMultiDevice, 9000, LAUNCH,
    (ws_CUDA_LAUNCH_PARAMS *launchParamsList, unsigned numDevices, unsigned flags),
    (launchParamsList, numDevices, flags), kernel_multi_coming(&call),
    kernel_multi(&call, launchParamsList, numDevices))
DRIVER_PTSZ(cuGraphLaunch, cuGraphLaunch, 10000, LAUNCH,
    (ws_CUgraphExec hGraphExec, ws_CUstream hStream), (hGraphExec, hStream), graph(&call, hGraphExec, hStream),
    NOTHING)
DRIVER_PTSZ(cuGraphUpload, cuGraphUpload, 11010, GRAPH,
    (ws_CUgraphExec hGraphExec, ws_CUstream hStream), (hGraphExec, hStream), NOTHING,
    host_call(&call, hStream, hGraphExec, 0, 0))
DRIVER_PTSZ(cuLaunchHostFunc, cuLaunchHostFunc, 10000, WORK,
    (ws_CUstream hStream, ws_CUhostFn fn, void *userData), (hStream, fn, userData),
    work(&call, WS_OP_HOST_FUNCTION, 0, hStream), NOTHING)
DRIVER_PTSZ(cuStreamAddCallback, cuStreamAddCallback, 5000, WORK,
    (ws_CUstream hStream, ws_CUstreamCallback callback, void *userData, unsigned flags),
    (hStream, callback, userData, flags), work(&call, WS_OP_HOST_FUNCTION, 0, hStream), NOTHING)
DRIVER(cuLaunch, cuLaunch, 2000, LAUNCH,
    (ws_CUfunction f), (f), kernel(&call, LAUNCH(f, 1, 1, 1, 0, 0, 0, 0, NULL), NULL, NULL, 0), NOTHING)
DRIVER(cuLaunchGrid, cuLaunchGrid, 2000, LAUNCH,
    (ws_CUfunction f, int grid_width, int grid_height), (f, grid_width, grid_height),
    kernel(&call, LAUNCH(f, grid_width, grid_height, 1, 0, 0, 0, 0, NULL), NULL, NULL, 0), NOTHING)
DRIVER(cuLaunchGridAsync, cuLaunchGridAsync, 2000, LAUNCH,
    (ws_CUfunction f, int grid_width, int grid_height, ws_CUstream hStream), (f, grid_width, grid_height, hStream),
    kernel(&call, LAUNCH(f, grid_width, grid_height, 1, 0, 0, 0, 0, hStream), NULL, NULL, 0), NOTHING)
DRIVER_PTSZ(cuMemPrefetchAsync, cuMemPrefetchAsync, 8000, WORK,
    (ws_CUdeviceptr devPtr, size_t count, ws_CUdevice dstDevice, ws_CUstream hStream),
    (devPtr, count, dstDevice, hStream), work(&call, WS_OP_PREFETCH, count, hStream), NOTHING)
DRIVER_PTSZ(cuMemPrefetchAsync_v2, cuMemPrefetchAsync, 12020, WORK,
    (ws_CUdeviceptr devPtr, size_t count, ws_CUmemLocation location, unsigned flags, ws_CUstream hStream),
    (devPtr, count, location, flags, hStream), work(&call, WS_OP_PREFETCH, count, hStream), NOTHING)
DRIVER_PTSZ(cuMemPrefetchBatchAsync, cuMemPrefetchBatchAsync, 13000, WORK,
    (ws_CUdeviceptr *dptrs, size_t *sizes, size_t count, ws_CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
     size_t numPrefetchLocs, unsigned long long flags, ws_CUstream hStream),
    (dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, hStream),
    work(&call, WS_OP_PREFETCH, total(sizes, count), hStream), NOTHING)
DRIVER_PTSZ(cuMemDiscardBatchAsync, cuMemDiscardBatchAsync, 13000, WORK,
    (ws_CUdeviceptr *dptrs, size_t *sizes, size_t count, unsigned long long flags, ws_CUstream hStream),
    (dptrs, sizes, count, flags, hStream), work(&call, WS_OP_PREFETCH, total(sizes, count), hStream), NOTHING)
DRIVER_PTSZ(cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardAndPrefetchBatchAsync, 13000, WORK,
    (ws_CUdeviceptr *dptrs, size_t *sizes, size_t count, ws_CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
     size_t numPrefetchLocs, unsigned long long flags, ws_CUstream hStream),
    (dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, hStream),
    work(&call, WS_OP_PREFETCH, total(sizes, count), hStream), NOTHING)
DRIVER_PTSZ(cuMemBatchDecompressAsync, cuMemBatchDecompressAsync, 12060, WORK,
    (void *paramsArray, size_t count, unsigned flags, size_t *errorIndex, ws_CUstream stream),
    (paramsArray, count, flags, errorIndex, stream), work(&call, WS_OP_DECOMPRESS, 0, stream), NOTHING)
DRIVER_PTSZ(cuStreamWaitValue32, cuStreamWaitValue32, 8000, WORK,
    (ws_CUstream stream, ws_CUdeviceptr addr, uint32_t value, unsigned flags), (stream, addr, value, flags),
    work(&call, WS_OP_MEMORY_OP, 4, stream), NOTHING)
DRIVER_PTSZ(cuStreamWaitValue64, cuStreamWaitValue64, 9000, WORK,
    (ws_CUstream stream, ws_CUdeviceptr addr, uint64_t value, unsigned flags), (stream, addr, value, flags),
    work(&call, WS_OP_MEMORY_OP, 8, stream), NOTHING)
DRIVER_PTSZ(cuStreamWriteValue32, cuStreamWriteValue32, 8000, WORK,
    (ws_CUstream stream, ws_CUdeviceptr addr, uint32_t value, unsigned flags), (stream, addr, value, flags),
    work(&call, WS_OP_MEMORY_OP, 4, stream), NOTHING)
DRIVER_PTSZ(cuStreamWriteValue64, cuStreamWriteValue64, 9000, WORK,
    (ws_CUstream stream, ws_CUdeviceptr addr, uint64_t value, unsigned flags), (stream, addr, value, flags),
    work(&call, WS_OP_MEMORY_OP, 8, stream), NOTHING)
DRIVER_PTSZ(cuStreamWaitValue32_v2, cuStreamWaitValue32, 11070, WORK,
    (ws_CUstream stream, ws_CUdeviceptr addr, uint32_t value, unsigned flags), (stream, addr, value, flags),
    work(&call, WS_OP_MEMORY_OP, 4, stream), NOTHING)
DRIVER_PTSZ(cuStreamWaitValue64_v2, cuStreamWaitValue64, 11070, WORK,
    (ws_CUstream stream, ws_CUdeviceptr addr, uint64_t value, unsigned flags), (stream, addr, value, flags),
    work(&call, WS_OP_MEMORY_OP, 8, stream), NOTHING)
DRIVER_PTSZ(cuStreamWriteValue32_v2, cuStreamWriteValue32, 11070, WORK,
    (ws_CUstream stream, ws_CUdeviceptr addr, uint32_t value, unsigned flags), (stream, addr, value, flags),
    work(&call, WS_OP_MEMORY_OP, 4, stream), NOTHING)
DRIVER_PTSZ(cuStreamWriteValue64_v2, cuStreamWriteValue64, 11070, WORK,
    (ws_CUstream stream, ws_CUdeviceptr addr, uint64_t value, unsigned flags), (stream, addr, value, flags),
    work(&call, WS_OP_MEMORY_OP, 8, stream), NOTHING)
DRIVER_PTSZ(cuStreamBatchMemOp, cuStreamBatchMemOp, 8000, WORK,
    (ws_CUstream stream, unsigned count, void *paramArray, unsigned flags), (stream, count, paramArray, flags),
    work(&call, WS_OP_MEMORY_OP, 0, stream), NOTHING)
DRIVER_PTSZ(cuStreamBatchMemOp_v2, cuStreamBatchMemOp, 11070, WORK,
    (ws_CUstream stream, unsigned count, void *paramArray, unsigned flags), (stream, count, paramArray, flags),
    work(&call, WS_OP_MEMORY_OP, 0, stream), NOTHING)
DRIVER_PTSZ(cuSignalExternalSemaphoresAsync, cuSignalExternalSemaphoresAsync, 10000, WORK,
    (const void *extSemArray, const void *paramsArray, unsigned numExtSems, ws_CUstream stream),
    (extSemArray, paramsArray, numExtSems, stream), work(&call, WS_OP_INTEROP, 0, stream), NOTHING)
DRIVER_PTSZ(cuWaitExternalSemaphoresAsync, cuWaitExternalSemaphoresAsync, 10000, WORK,
    (const void *extSemArray, const void *paramsArray, unsigned numExtSems, ws_CUstream stream),
    (extSemArray, paramsArray, numExtSems, stream), work(&call, WS_OP_INTEROP, 0, stream), NOTHING)
DRIVER_PTSZ(cuGraphicsMapResources, cuGraphicsMapResources, 3000, WORK,
    (unsigned count, void *resources, ws_CUstream hStream), (count, resources, hStream),
    work(&call, WS_OP_INTEROP, 0, hStream), NOTHING)
DRIVER_PTSZ(cuGraphicsUnmapResources, cuGraphicsUnmapResources, 3000, WORK,
    (unsigned count, void *resources, ws_CUstream hStream), (count, resources, hStream),
    work(&call, WS_OP_INTEROP, 0, hStream), NOTHING)
/* clang-format on */
