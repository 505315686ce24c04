/* The rows of the wrapper table (see driver_table.h) for memsets, and for functions that allocate or free memory. */
/* clang-format off */
DRIVER_PTDS(cuMemsetD8_v2, cuMemsetD8, 3020, MEMSET,
    (ws_CUdeviceptr dstDevice, unsigned char uc, size_t N), (dstDevice, uc, N),
    memset_(&call, AT(dstDevice), N, NULL), NOTHING)
DRIVER_PTDS(cuMemsetD16_v2, cuMemsetD16, 3020, MEMSET,
    (ws_CUdeviceptr dstDevice, unsigned short us, size_t N), (dstDevice, us, N),
    memset_(&call, AT(dstDevice), N * 2, NULL), NOTHING)
DRIVER_PTDS(cuMemsetD32_v2, cuMemsetD32, 3020, MEMSET,
    (ws_CUdeviceptr dstDevice, unsigned ui, size_t N), (dstDevice, ui, N),
    memset_(&call, AT(dstDevice), N * 4, NULL), NOTHING)
DRIVER_PTDS(cuMemsetD2D8_v2, cuMemsetD2D8, 3020, MEMSET,
    (ws_CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height),
    (dstDevice, dstPitch, uc, Width, Height), memset_(&call, AT(dstDevice), Width * Height, NULL), NOTHING)
DRIVER_PTDS(cuMemsetD2D16_v2, cuMemsetD2D16, 3020, MEMSET,
    (ws_CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height),
    (dstDevice, dstPitch, us, Width, Height), memset_(&call, AT(dstDevice), Width * Height * 2, NULL), NOTHING)
DRIVER_PTDS(cuMemsetD2D32_v2, cuMemsetD2D32, 3020, MEMSET,
    (ws_CUdeviceptr dstDevice, size_t dstPitch, unsigned ui, size_t Width, size_t Height),
    (dstDevice, dstPitch, ui, Width, Height), memset_(&call, AT(dstDevice), Width * Height * 4, NULL), NOTHING)
DRIVER_PTSZ(cuMemsetD8Async, cuMemsetD8Async, 3020, MEMSET,
    (ws_CUdeviceptr dstDevice, unsigned char uc, size_t N, ws_CUstream hStream), (dstDevice, uc, N, hStream),
    memset_(&call, AT(dstDevice), N, hStream), NOTHING)
DRIVER_PTSZ(cuMemsetD16Async, cuMemsetD16Async, 3020, MEMSET,
    (ws_CUdeviceptr dstDevice, unsigned short us, size_t N, ws_CUstream hStream), (dstDevice, us, N, hStream),
    memset_(&call, AT(dstDevice), N * 2, hStream), NOTHING)
DRIVER_PTSZ(cuMemsetD32Async, cuMemsetD32Async, 3020, MEMSET,
    (ws_CUdeviceptr dstDevice, unsigned ui, size_t N, ws_CUstream hStream), (dstDevice, ui, N, hStream),
    memset_(&call, AT(dstDevice), N * 4, hStream), NOTHING)
DRIVER_PTSZ(cuMemsetD2D8Async, cuMemsetD2D8Async, 3020, MEMSET,
    (ws_CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height, ws_CUstream hStream),
    (dstDevice, dstPitch, uc, Width, Height, hStream), memset_(&call, AT(dstDevice), Width * Height, hStream),
    NOTHING)
DRIVER_PTSZ(cuMemsetD2D16Async, cuMemsetD2D16Async, 3020, MEMSET,
    (ws_CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height, ws_CUstream
     hStream),
    (dstDevice, dstPitch, us, Width, Height, hStream), memset_(&call, AT(dstDevice), Width * Height * 2, hStream),
    NOTHING)
DRIVER_PTSZ(cuMemsetD2D32Async, cuMemsetD2D32Async, 3020, MEMSET,
    (ws_CUdeviceptr dstDevice, size_t dstPitch, unsigned ui, size_t Width, size_t Height, ws_CUstream hStream),
    (dstDevice, dstPitch, ui, Width, Height, hStream), memset_(&call, AT(dstDevice), Width * Height * 4, hStream),
    NOTHING)
DRIVER(cuMemAlloc_v2, cuMemAlloc, 3020, MEMORY,
    (ws_CUdeviceptr *dptr, size_t bytesize), (dptr, bytesize), NOTHING,
    allocated(&call, dptr, bytesize, DEVICE, NO_STREAM, NULL))
DRIVER(cuMemAllocPitch_v2, cuMemAllocPitch, 3020, MEMORY,
    (ws_CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height, unsigned ElementSizeBytes),
    (dptr, pPitch, WidthInBytes, Height, ElementSizeBytes), NOTHING,
    allocated(&call, dptr, pitched(pPitch, Height), DEVICE, NO_STREAM, NULL))
DRIVER(cuMemAllocManaged, cuMemAllocManaged, 6000, MEMORY,
    (ws_CUdeviceptr *dptr, size_t bytesize, unsigned flags), (dptr, bytesize, flags), NOTHING,
    allocated(&call, dptr, bytesize, MANAGED, NO_STREAM, NULL))
DRIVER(cuMemFree_v2, cuMemFree, 3020, MEMORY,
    (ws_CUdeviceptr dptr), (dptr), freeing(&call, AT(dptr)), freed(&call, AT(dptr), NO_STREAM))
DRIVER(cuMemAllocHost_v2, cuMemAllocHost, 3020, MEMORY,
    (void **pp, size_t bytesize), (pp, bytesize), NOTHING, allocated(&call, pp, bytesize, PINNED, NO_STREAM, NULL))
DRIVER(cuMemHostAlloc, cuMemHostAlloc, 2020, MEMORY,
    (void **pp, size_t bytesize, unsigned Flags), (pp, bytesize, Flags), NOTHING,
    allocated(&call, pp, bytesize, PINNED, NO_STREAM, NULL))
DRIVER(cuMemHostRegister_v2, cuMemHostRegister, 6050, MEMORY,
    (void *p, size_t bytesize, unsigned Flags), (p, bytesize, Flags), NOTHING,
    allocated(&call, &p, bytesize, PINNED, NO_STREAM, NULL))
DRIVER(cuMemHostUnregister, cuMemHostUnregister, 4000, MEMORY,
    (void *p), (p), freeing(&call, AT(p)), freed(&call, AT(p), NO_STREAM))
DRIVER(cuMemFreeHost, cuMemFreeHost, 2000, MEMORY,
    (void *p), (p), freeing(&call, AT(p)), freed(&call, AT(p), NO_STREAM))
DRIVER_PTSZ(cuMemAllocAsync, cuMemAllocAsync, 11020, MEMORY,
    (ws_CUdeviceptr *dptr, size_t bytesize, ws_CUstream hStream), (dptr, bytesize, hStream), NOTHING,
    allocated(&call, dptr, bytesize, DEVICE, hStream, NULL))
DRIVER_PTSZ(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020, MEMORY,
    (ws_CUdeviceptr *dptr, size_t bytesize, ws_CUmemoryPool pool, ws_CUstream hStream),
    (dptr, bytesize, pool, hStream), NOTHING, allocated(&call, dptr, bytesize, DEVICE, hStream, pool))
DRIVER_PTSZ(cuMemFreeAsync, cuMemFreeAsync, 11020, MEMORY,
    (ws_CUdeviceptr dptr, ws_CUstream hStream), (dptr, hStream), freeing(&call, AT(dptr)),
    freed(&call, AT(dptr), hStream))
DRIVER(cuMemCreate, cuMemCreate, 10020, MEMORY,
    (ws_CUmemGenericAllocationHandle *handle, size_t size, const ws_CUmemAllocationProp *prop, unsigned long long
     flags),
    (handle, size, prop, flags), NOTHING, host_call(&call, NO_STREAM, OUT(handle), 0, size))
DRIVER(cuMemMap, cuMemMap, 10020, MEMORY,
    (ws_CUdeviceptr ptr, size_t size, size_t offset, ws_CUmemGenericAllocationHandle handle, unsigned long long
     flags),
    (ptr, size, offset, handle, flags), NOTHING, allocated(&call, &ptr, size, DEVICE, NO_STREAM, OBJECT(handle)))
DRIVER(cuMemUnmap, cuMemUnmap, 10020, MEMORY,
    (ws_CUdeviceptr ptr, size_t size), (ptr, size), freeing(&call, AT(ptr)), freed(&call, AT(ptr), NO_STREAM))
DRIVER(cuMemRelease, cuMemRelease, 10020, MEMORY,
    (ws_CUmemGenericAllocationHandle handle), (handle), NOTHING, host_call(&call, NO_STREAM, OBJECT(handle), 0, 0))
DRIVER(cuMemAddressReserve, cuMemAddressReserve, 10020, MEMORY,
    (ws_CUdeviceptr *ptr, size_t size, size_t alignment, ws_CUdeviceptr addr, unsigned long long flags),
    (ptr, size, alignment, addr, flags), NOTHING, host_call(&call, NO_STREAM, NULL, AT(OUT(ptr)), size))
DRIVER(cuMemAddressFree, cuMemAddressFree, 10020, MEMORY,
    (ws_CUdeviceptr ptr, size_t size), (ptr, size), NOTHING, host_call(&call, NO_STREAM, NULL, AT(ptr), size))
DRIVER_PTSZ(cuMemMapArrayAsync, cuMemMapArrayAsync, 11010, MEMORY,
    (void *mapInfoList, unsigned count, ws_CUstream hStream), (mapInfoList, count, hStream), NOTHING,
    host_call(&call, hStream, NULL, 0, count))
DRIVER(cuMemPoolTrimTo, cuMemPoolTrimTo, 11020, MEMORY,
    (ws_CUmemoryPool pool, size_t minBytesToKeep), (pool, minBytesToKeep), NOTHING,
    host_call(&call, NO_STREAM, pool, 0, minBytesToKeep))
DRIVER(cuMemPoolSetAttribute, cuMemPoolSetAttribute, 11020, MEMORY,
    (ws_CUmemoryPool pool, ws_CUenum attr, void *value), (pool, attr, value), NOTHING,
    host_call(&call, NO_STREAM, pool, 0, 0))
DRIVER(cuMemPoolGetAttribute, cuMemPoolGetAttribute, 11020, MEMORY,
    (ws_CUmemoryPool pool, ws_CUenum attr, void *value), (pool, attr, value), NOTHING,
    host_call(&call, NO_STREAM, pool, 0, 0))
DRIVER(cuMemPoolSetAccess, cuMemPoolSetAccess, 11020, MEMORY,
    (ws_CUmemoryPool pool, const ws_CUmemAccessDesc *map, size_t count), (pool, map, count), NOTHING,
    host_call(&call, NO_STREAM, pool, 0, 0))
DRIVER(cuMemPoolGetAccess, cuMemPoolGetAccess, 11020, MEMORY,
    (ws_CUenum *flags, ws_CUmemoryPool memPool, ws_CUmemLocation *location), (flags, memPool, location), NOTHING,
    host_call(&call, NO_STREAM, memPool, 0, 0))
DRIVER(cuMemPoolCreate, cuMemPoolCreate, 11020, MEMORY,
    (ws_CUmemoryPool *pool, const ws_CUmemPoolProps *poolProps), (pool, poolProps), NOTHING,
    host_call(&call, NO_STREAM, OUT(pool), 0, poolProps ? poolProps->maxSize : 0))
DRIVER(cuMemPoolDestroy, cuMemPoolDestroy, 11020, MEMORY,
    (ws_CUmemoryPool pool), (pool), NOTHING, host_call(&call, NO_STREAM, pool, 0, 0))
DRIVER(cuMemPoolExportToShareableHandle, cuMemPoolExportToShareableHandle, 11020, MEMORY,
    (void *handle_out, ws_CUmemoryPool pool, ws_CUenum handleType, unsigned long long flags),
    (handle_out, pool, handleType, flags), NOTHING, host_call(&call, NO_STREAM, pool, 0, 0))
DRIVER(cuMemPoolImportFromShareableHandle, cuMemPoolImportFromShareableHandle, 11020, MEMORY,
    (ws_CUmemoryPool *pool_out, void *handle, ws_CUenum handleType, unsigned long long flags),
    (pool_out, handle, handleType, flags), NOTHING, host_call(&call, NO_STREAM, OUT(pool_out), 0, 0))
DRIVER(cuMemPoolExportPointer, cuMemPoolExportPointer, 11020, MEMORY,
    (ws_CUmemPoolPtrExportData *shareData_out, ws_CUdeviceptr ptr), (shareData_out, ptr), NOTHING,
    host_call(&call, NO_STREAM, NULL, AT(ptr), 0))
DRIVER(cuMemPoolImportPointer, cuMemPoolImportPointer, 11020, MEMORY,
    (ws_CUdeviceptr *ptr_out, ws_CUmemoryPool pool, ws_CUmemPoolPtrExportData *shareData),
    (ptr_out, pool, shareData), NOTHING, allocated(&call, ptr_out, 1, DEVICE, NO_STREAM, pool))
DRIVER(cuIpcOpenMemHandle, cuIpcOpenMemHandle, 4010, MEMORY,
    (ws_CUdeviceptr *pdptr, ws_CUipcMemHandle handle, unsigned Flags), (pdptr, handle, Flags), NOTHING,
    allocated(&call, pdptr, 1, DEVICE, NO_STREAM, NULL))
DRIVER(cuIpcOpenMemHandle_v2, cuIpcOpenMemHandle, 11000, MEMORY,
    (ws_CUdeviceptr *pdptr, ws_CUipcMemHandle handle, unsigned Flags), (pdptr, handle, Flags), NOTHING,
    allocated(&call, pdptr, 1, DEVICE, NO_STREAM, NULL))
DRIVER(cuIpcCloseMemHandle, cuIpcCloseMemHandle, 4010, MEMORY,
    (ws_CUdeviceptr dptr), (dptr), freeing(&call, AT(dptr)), freed(&call, AT(dptr), NO_STREAM))
DRIVER_PTSZ(cuStreamAttachMemAsync, cuStreamAttachMemAsync, 6000, MEMORY,
    (ws_CUstream hStream, ws_CUdeviceptr dptr, size_t length, unsigned flags), (hStream, dptr, length, flags),
    NOTHING, host_call(&call, hStream, NULL, AT(dptr), length))
/* clang-format on */
