/* The rows of the wrapper table (see driver_table.h) for copies. */
/* clang-format off */
DRIVER_PTDS(cuMemcpy, cuMemcpy, 4000, COPY,
    (ws_CUdeviceptr dst, ws_CUdeviceptr src, size_t ByteCount), (dst, src, ByteCount),
    copy(&call, FIND, FIND, AT(src), AT(dst), ByteCount, NULL, WS_OP_BLOCKING), NOTHING)
DRIVER_PTDS(cuMemcpyPeer, cuMemcpyPeer, 4000, COPY,
    (ws_CUdeviceptr dstDevice, ws_CUcontext dstContext, ws_CUdeviceptr srcDevice, ws_CUcontext srcContext, size_t
     ByteCount),
    (dstDevice, dstContext, srcDevice, srcContext, ByteCount),
    copy(&call, PEER, PEER, AT(srcDevice), AT(dstDevice), ByteCount, NULL, WS_OP_BLOCKING), NOTHING)
DRIVER_PTDS(cuMemcpy3DPeer, cuMemcpy3DPeer, 4000, COPY,
    (const ws_CUDA_MEMCPY3D_PEER *pCopy), (pCopy), copy_3d(&call, pCopy, NULL, WS_OP_BLOCKING), NOTHING)
DRIVER_PTSZ(cuMemcpyAsync, cuMemcpyAsync, 4000, COPY,
    (ws_CUdeviceptr dst, ws_CUdeviceptr src, size_t ByteCount, ws_CUstream hStream), (dst, src, ByteCount, hStream),
    copy(&call, FIND, FIND, AT(src), AT(dst), ByteCount, hStream, 0), NOTHING)
DRIVER_PTSZ(cuMemcpyPeerAsync, cuMemcpyPeerAsync, 4000, COPY,
    (ws_CUdeviceptr dstDevice, ws_CUcontext dstContext, ws_CUdeviceptr srcDevice, ws_CUcontext srcContext, size_t
     ByteCount, ws_CUstream hStream),
    (dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream),
    copy(&call, PEER, PEER, AT(srcDevice), AT(dstDevice), ByteCount, hStream, 0), NOTHING)
DRIVER_PTSZ(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync, 4000, COPY,
    (const ws_CUDA_MEMCPY3D_PEER *pCopy, ws_CUstream hStream), (pCopy, hStream), copy_3d(&call, pCopy, hStream, 0),
    NOTHING)
DRIVER_PTDS(cuMemcpyHtoD_v2, cuMemcpyHtoD, 3020, COPY,
    (ws_CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount), (dstDevice, srcHost, ByteCount),
    copy(&call, FIND, DEVICE, AT(srcHost), AT(dstDevice), ByteCount, NULL, WS_OP_BLOCKING), NOTHING)
DRIVER_PTDS(cuMemcpyDtoH_v2, cuMemcpyDtoH, 3020, COPY,
    (void *dstHost, ws_CUdeviceptr srcDevice, size_t ByteCount), (dstHost, srcDevice, ByteCount),
    copy(&call, DEVICE, FIND, AT(srcDevice), AT(dstHost), ByteCount, NULL, WS_OP_BLOCKING), NOTHING)
DRIVER_PTDS(cuMemcpyDtoD_v2, cuMemcpyDtoD, 3020, COPY,
    (ws_CUdeviceptr dstDevice, ws_CUdeviceptr srcDevice, size_t ByteCount), (dstDevice, srcDevice, ByteCount),
    copy(&call, DEVICE, DEVICE, AT(srcDevice), AT(dstDevice), ByteCount, NULL, 0), NOTHING)
DRIVER_PTDS(cuMemcpyAtoD_v2, cuMemcpyAtoD, 3020, COPY,
    (ws_CUdeviceptr dstDevice, ws_CUarray srcArray, size_t srcOffset, size_t ByteCount),
    (dstDevice, srcArray, srcOffset, ByteCount), copy(&call, ARRAY, DEVICE, 0, AT(dstDevice), ByteCount, NULL, 0),
    NOTHING)
DRIVER_PTDS(cuMemcpyDtoA_v2, cuMemcpyDtoA, 3020, COPY,
    (ws_CUarray dstArray, size_t dstOffset, ws_CUdeviceptr srcDevice, size_t ByteCount),
    (dstArray, dstOffset, srcDevice, ByteCount), copy(&call, DEVICE, ARRAY, AT(srcDevice), 0, ByteCount, NULL, 0),
    NOTHING)
DRIVER_PTDS(cuMemcpyAtoA_v2, cuMemcpyAtoA, 3020, COPY,
    (ws_CUarray dstArray, size_t dstOffset, ws_CUarray srcArray, size_t srcOffset, size_t ByteCount),
    (dstArray, dstOffset, srcArray, srcOffset, ByteCount), copy(&call, ARRAY, ARRAY, 0, 0, ByteCount, NULL, 0),
    NOTHING)
DRIVER_PTDS(cuMemcpyHtoA_v2, cuMemcpyHtoA, 3020, COPY,
    (ws_CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount),
    (dstArray, dstOffset, srcHost, ByteCount),
    copy(&call, FIND, ARRAY, AT(srcHost), 0, ByteCount, NULL, WS_OP_BLOCKING), NOTHING)
DRIVER_PTDS(cuMemcpyAtoH_v2, cuMemcpyAtoH, 3020, COPY,
    (void *dstHost, ws_CUarray srcArray, size_t srcOffset, size_t ByteCount),
    (dstHost, srcArray, srcOffset, ByteCount),
    copy(&call, ARRAY, FIND, 0, AT(dstHost), ByteCount, NULL, WS_OP_BLOCKING), NOTHING)
DRIVER_PTDS(cuMemcpy2D_v2, cuMemcpy2D, 3020, COPY,
    (const ws_CUDA_MEMCPY2D *pCopy), (pCopy), copy_2d(&call, pCopy, NULL, WS_OP_BLOCKING), NOTHING)
DRIVER_PTDS(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned, 3020, COPY,
    (const ws_CUDA_MEMCPY2D *pCopy), (pCopy), copy_2d(&call, pCopy, NULL, WS_OP_BLOCKING), NOTHING)
DRIVER_PTDS(cuMemcpy3D_v2, cuMemcpy3D, 3020, COPY,
    (const ws_CUDA_MEMCPY3D *pCopy), (pCopy), copy_3d(&call, pCopy, NULL, WS_OP_BLOCKING), NOTHING)
DRIVER_PTSZ(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync, 3020, COPY,
    (ws_CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, ws_CUstream hStream),
    (dstDevice, srcHost, ByteCount, hStream),
    copy(&call, FIND, DEVICE, AT(srcHost), AT(dstDevice), ByteCount, hStream, 0), NOTHING)
DRIVER_PTSZ(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync, 3020, COPY,
    (void *dstHost, ws_CUdeviceptr srcDevice, size_t ByteCount, ws_CUstream hStream),
    (dstHost, srcDevice, ByteCount, hStream),
    copy(&call, DEVICE, FIND, AT(srcDevice), AT(dstHost), ByteCount, hStream, 0), NOTHING)
DRIVER_PTSZ(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync, 3020, COPY,
    (ws_CUdeviceptr dstDevice, ws_CUdeviceptr srcDevice, size_t ByteCount, ws_CUstream hStream),
    (dstDevice, srcDevice, ByteCount, hStream),
    copy(&call, DEVICE, DEVICE, AT(srcDevice), AT(dstDevice), ByteCount, hStream, 0), NOTHING)
DRIVER_PTSZ(cuMemcpyHtoAAsync_v2, cuMemcpyHtoAAsync, 3020, COPY,
    (ws_CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount, ws_CUstream hStream),
    (dstArray, dstOffset, srcHost, ByteCount, hStream),
    copy(&call, FIND, ARRAY, AT(srcHost), 0, ByteCount, hStream, 0), NOTHING)
DRIVER_PTSZ(cuMemcpyAtoHAsync_v2, cuMemcpyAtoHAsync, 3020, COPY,
    (void *dstHost, ws_CUarray srcArray, size_t srcOffset, size_t ByteCount, ws_CUstream hStream),
    (dstHost, srcArray, srcOffset, ByteCount, hStream),
    copy(&call, ARRAY, FIND, 0, AT(dstHost), ByteCount, hStream, 0), NOTHING)
DRIVER_PTSZ(cuMemcpy2DAsync_v2, cuMemcpy2DAsync, 3020, COPY,
    (const ws_CUDA_MEMCPY2D *pCopy, ws_CUstream hStream), (pCopy, hStream), copy_2d(&call, pCopy, hStream, 0),
    NOTHING)
DRIVER_PTSZ(cuMemcpy3DAsync_v2, cuMemcpy3DAsync, 3020, COPY,
    (const ws_CUDA_MEMCPY3D *pCopy, ws_CUstream hStream), (pCopy, hStream), copy_3d(&call, pCopy, hStream, 0),
    NOTHING)
DRIVER_PTSZ(cuMemcpyBatchAsync, cuMemcpyBatchAsync, 12080, COPY,
    (ws_CUdeviceptr *dsts, ws_CUdeviceptr *srcs, size_t *sizes, size_t count, ws_CUmemcpyAttributes *attrs, size_t
     *attrIdxs, size_t numAttrs, size_t *failIdx, ws_CUstream hStream),
    (dsts, srcs, sizes, count, attrs, attrIdxs, numAttrs, failIdx, hStream),
    copy_batch(&call, dsts, srcs, sizes, count, hStream), NOTHING)
DRIVER_PTSZ(cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync, 13000, COPY,
    (ws_CUdeviceptr *dsts, ws_CUdeviceptr *srcs, size_t *sizes, size_t count, ws_CUmemcpyAttributes *attrs, size_t
     *attrIdxs, size_t numAttrs, ws_CUstream hStream),
    (dsts, srcs, sizes, count, attrs, attrIdxs, numAttrs, hStream),
    copy_batch(&call, dsts, srcs, sizes, count, hStream), NOTHING)
DRIVER_PTSZ(cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync, 12080, COPY,
    (size_t numParams, ws_CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx, unsigned long long flags, ws_CUstream
     hStream),
    (numParams, opList, failIdx, flags, hStream), copy_batch_3d(&call, hStream), NOTHING)
DRIVER_PTSZ(cuMemcpy3DBatchAsync_v2, cuMemcpy3DBatchAsync, 13000, COPY,
    (size_t numParams, ws_CUDA_MEMCPY3D_BATCH_OP *opList, unsigned long long flags, ws_CUstream hStream),
    (numParams, opList, flags, hStream), copy_batch_3d(&call, hStream), NOTHING)
/* clang-format on */
