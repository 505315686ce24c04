/* Copies in two and three dimensions, from and to arrays, and in batches; creating arrays. */
#include "api/api.h"

static ws_CUresult copy_3d(const ws_CUDA_MEMCPY3D *what, ws_CUstream handle, bool async)
{
    struct sim_stream *stream;
    struct sim_copy copy;
    enum sim_side from_side, to_side;
    NEED(what);
    TRY(sim_stream_get(handle, &stream));
    if (!async)
        TRY(sim_capture_forbids_sync(stream));
    TRY(sim_copy_describe(what, &copy, &from_side, &to_side));
    return sim_transfer(stream, &copy, from_side, to_side, async);
}

static ws_CUresult copy_2d(const ws_CUDA_MEMCPY2D *what, ws_CUstream handle, bool async)
{
    NEED(what);
    ws_CUDA_MEMCPY3D full = { .srcXInBytes = what->srcXInBytes,
                              .srcY = what->srcY,
                              .srcMemoryType = what->srcMemoryType,
                              .srcHost = what->srcHost,
                              .srcDevice = what->srcDevice,
                              .srcArray = what->srcArray,
                              .srcPitch = what->srcPitch,
                              .dstXInBytes = what->dstXInBytes,
                              .dstY = what->dstY,
                              .dstMemoryType = what->dstMemoryType,
                              .dstHost = what->dstHost,
                              .dstDevice = what->dstDevice,
                              .dstArray = what->dstArray,
                              .dstPitch = what->dstPitch,
                              .WidthInBytes = what->WidthInBytes,
                              .Height = what->Height,
                              .Depth = 1 };
    return copy_3d(&full, handle, async);
}

API_TWIN(cuMemcpy2D_v2, _ptds, (const ws_CUDA_MEMCPY2D *what), (what))
{
    return copy_2d(what, NULL, false);
}

API_SAME_TWIN(cuMemcpy2DUnaligned_v2, _ptds, cuMemcpy2D_v2, (const ws_CUDA_MEMCPY2D *what), (what))

API_TWIN(cuMemcpy2DAsync_v2, _ptsz, (const ws_CUDA_MEMCPY2D *what, ws_CUstream stream), (what, stream))
{
    return copy_2d(what, stream, true);
}

API_TWIN(cuMemcpy3D_v2, _ptds, (const ws_CUDA_MEMCPY3D *what), (what))
{
    return copy_3d(what, NULL, false);
}

API_SAME_TWIN(cuMemcpy3DPeer, _ptds, cuMemcpy3D_v2, (const ws_CUDA_MEMCPY3D *what), (what))

API_TWIN(cuMemcpy3DAsync_v2, _ptsz, (const ws_CUDA_MEMCPY3D *what, ws_CUstream stream), (what, stream))
{
    return copy_3d(what, stream, true);
}

API_SAME_TWIN(cuMemcpy3DPeerAsync, _ptsz, cuMemcpy3DAsync_v2, (const ws_CUDA_MEMCPY3D *what, ws_CUstream stream),
              (what, stream))

/* Source or destination of a copy of bytes: an address in host or device memory, or an array and an offset in it. */
struct side {
    ws_CUenum type;
    const void *host;
    ws_CUdeviceptr device;
    ws_CUarray array;
    size_t offset;
};

static ws_CUresult copy_bytes(struct side to, struct side from, size_t bytes, ws_CUstream stream, bool async)
{
    ws_CUDA_MEMCPY3D full = { .srcXInBytes = from.offset,
                              .srcMemoryType = from.type,
                              .srcHost = from.host,
                              .srcDevice = from.device,
                              .srcArray = from.array,
                              .dstXInBytes = to.offset,
                              .dstMemoryType = to.type,
                              .dstHost = (void *)to.host,
                              .dstDevice = to.device,
                              .dstArray = to.array,
                              .WidthInBytes = bytes,
                              .Height = 1,
                              .Depth = 1 };
    return copy_3d(&full, stream, async);
}

#define ON_HOST(address) ((struct side){ .type = WS_CU_MEMORYTYPE_HOST, .host = (address) })
#define ON_DEVICE(address) ((struct side){ .type = WS_CU_MEMORYTYPE_DEVICE, .device = (address) })
#define IN_ARRAY(which, at) ((struct side){ .type = WS_CU_MEMORYTYPE_ARRAY, .array = (which), .offset = (at) })

API_TWIN(cuMemcpyAtoD_v2, _ptds, (ws_CUdeviceptr to, ws_CUarray from, size_t at, size_t bytes), (to, from, at, bytes))
{
    return copy_bytes(ON_DEVICE(to), IN_ARRAY(from, at), bytes, NULL, false);
}

API_TWIN(cuMemcpyDtoA_v2, _ptds, (ws_CUarray to, size_t at, ws_CUdeviceptr from, size_t bytes), (to, at, from, bytes))
{
    return copy_bytes(IN_ARRAY(to, at), ON_DEVICE(from), bytes, NULL, false);
}

API_TWIN(cuMemcpyHtoA_v2, _ptds, (ws_CUarray to, size_t at, const void *from, size_t bytes), (to, at, from, bytes))
{
    return copy_bytes(IN_ARRAY(to, at), ON_HOST(from), bytes, NULL, false);
}

API_TWIN(cuMemcpyAtoH_v2, _ptds, (void *to, ws_CUarray from, size_t at, size_t bytes), (to, from, at, bytes))
{
    return copy_bytes(ON_HOST(to), IN_ARRAY(from, at), bytes, NULL, false);
}

API_TWIN(cuMemcpyAtoA_v2, _ptds, (ws_CUarray to, size_t to_at, ws_CUarray from, size_t from_at, size_t bytes),
         (to, to_at, from, from_at, bytes))
{
    return copy_bytes(IN_ARRAY(to, to_at), IN_ARRAY(from, from_at), bytes, NULL, false);
}

API_TWIN(cuMemcpyHtoAAsync_v2, _ptsz, (ws_CUarray to, size_t at, const void *from, size_t bytes, ws_CUstream stream),
         (to, at, from, bytes, stream))
{
    return copy_bytes(IN_ARRAY(to, at), ON_HOST(from), bytes, stream, true);
}

API_TWIN(cuMemcpyAtoHAsync_v2, _ptsz, (void *to, ws_CUarray from, size_t at, size_t bytes, ws_CUstream stream),
         (to, from, at, bytes, stream))
{
    return copy_bytes(ON_HOST(to), IN_ARRAY(from, at), bytes, stream, true);
}

static ws_CUresult batch(const ws_CUdeviceptr *to, const ws_CUdeviceptr *from, const size_t *bytes, size_t count,
                         ws_CUstream stream)
{
    NEED(to && from && bytes && count);
    for (size_t i = 0; i < count; i++) {
        struct side target = { .type = WS_CU_MEMORYTYPE_UNIFIED, .device = to[i] };
        struct side source = { .type = WS_CU_MEMORYTYPE_UNIFIED, .device = from[i] };
        TRY(copy_bytes(target, source, bytes[i], stream, true));
    }
    return WS_CUDA_SUCCESS;
}

API_TWIN(cuMemcpyBatchAsync, _ptsz,
         (ws_CUdeviceptr * to, ws_CUdeviceptr *from, size_t *bytes, size_t count, ws_CUmemcpyAttributes *attributes,
          size_t *indices, size_t attribute_count, size_t *failed, ws_CUstream stream),
         (to, from, bytes, count, attributes, indices, attribute_count, failed, stream))
{
    NEED(attributes && indices && attribute_count);
    if (failed)
        *failed = (size_t)-1;
    return batch(to, from, bytes, count, stream);
}

API_TWIN(cuMemcpyBatchAsync_v2, _ptsz,
         (const ws_CUdeviceptr *to, const ws_CUdeviceptr *from, const size_t *bytes, size_t count,
          ws_CUmemcpyAttributes *attributes, size_t *indices, size_t attribute_count, ws_CUstream stream),
         (to, from, bytes, count, attributes, indices, attribute_count, stream))
{
    NEED(attributes && indices && attribute_count);
    return batch(to, from, bytes, count, stream);
}

static ws_CUresult batch_3d(size_t count, const ws_CUDA_MEMCPY3D_BATCH_OP *list, ws_CUstream stream)
{
    NEED(count && list);
    for (size_t i = 0; i < count; i++) {
        const ws_CUmemcpy3DOperand *ends[2] = { &list[i].src, &list[i].dst };
        ws_CUDA_MEMCPY3D full = { .WidthInBytes = list[i].extent.width,
                                  .Height = list[i].extent.height,
                                  .Depth = list[i].extent.depth };
        /* A batch supports no arrays: their extent is in elements, and the size of an element is not known here. */
        for (int end = 0; end < 2; end++)
            if (ends[end]->type != WS_CU_MEMCPY_OPERAND_TYPE_POINTER)
                return WS_CUDA_ERROR_NOT_SUPPORTED;
        full.srcMemoryType = full.dstMemoryType = WS_CU_MEMORYTYPE_UNIFIED;
        full.srcDevice = ends[0]->op.ptr.ptr;
        full.srcPitch = ends[0]->op.ptr.rowLength;
        full.srcHeight = ends[0]->op.ptr.layerHeight;
        full.dstDevice = ends[1]->op.ptr.ptr;
        full.dstPitch = ends[1]->op.ptr.rowLength;
        full.dstHeight = ends[1]->op.ptr.layerHeight;
        TRY(copy_3d(&full, stream, true));
    }
    return WS_CUDA_SUCCESS;
}

API_TWIN(cuMemcpy3DBatchAsync, _ptsz,
         (size_t count, ws_CUDA_MEMCPY3D_BATCH_OP *list, size_t *failed, unsigned long long flags,
          ws_CUstream stream),
         (count, list, failed, flags, stream))
{
    NEED(!flags);
    if (failed)
        *failed = (size_t)-1;
    return batch_3d(count, list, stream);
}

API_TWIN(cuMemcpy3DBatchAsync_v2, _ptsz,
         (size_t count, ws_CUDA_MEMCPY3D_BATCH_OP *list, unsigned long long flags, ws_CUstream stream),
         (count, list, flags, stream))
{
    NEED(!flags);
    return batch_3d(count, list, stream);
}

struct array_shape {
    size_t width, height, depth;
    ws_CUenum format;
    unsigned channels, flags;
};

struct array_shape_2d {
    size_t width, height;
    ws_CUenum format;
    unsigned channels;
};

static unsigned format_bytes(ws_CUenum format)
{
    switch (format) {
    case 0x01: /* formats of signed and unsigned bytes */
    case 0x08:
        return 1;
    case 0x02: /* formats of 16-bit integers and half-precision floats */
    case 0x09:
    case 0x10:
        return 2;
    case 0x03: /* formats of 32-bit integers and floats */
    case 0x0a:
    case 0x20:
        return 4;
    default:
        return 0;
    }
}

static ws_CUresult array_create(struct sim_array **made, const struct array_shape *shape)
{
    struct sim_context *context;
    NEED(made && shape && shape->width);
    NEED(format_bytes(shape->format) && (shape->channels == 1 || shape->channels == 2 || shape->channels == 4));
    TRY(sim_current(&context));
    struct sim_array *array = sim_keep(sizeof(*array));
    if (!array)
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    size_t rows = (shape->height ? shape->height : 1) * (shape->depth ? shape->depth : 1);
    *array = (struct sim_array){ .magic = SIM_ARRAY,
                                 .context = context,
                                 .width = shape->width,
                                 .height = shape->height,
                                 .depth = shape->depth,
                                 .width_bytes = shape->width * format_bytes(shape->format) * shape->channels,
                                 .format = (unsigned)shape->format,
                                 .channels = shape->channels,
                                 .flags = shape->flags };
    array->pitch = (array->width_bytes + 511) / 512 * 512;
    struct sim_range range = { .flags = 0 };
    ws_CUresult result =
        sim_memory_allocate(context, context->device, SIM_MEMORY_DEVICE, array->pitch * rows, &range);
    if (result != WS_CUDA_SUCCESS)
        return result;
    array->address = range.start;
    *made = array;
    return WS_CUDA_SUCCESS;
}

API(cuArrayCreate_v2, (struct sim_array * *array, const struct array_shape_2d *shape), (array, shape))
{
    NEED(shape);
    struct array_shape full = { shape->width, shape->height, 0, shape->format, shape->channels, 0 };
    return array_create(array, &full);
}

API(cuArray3DCreate_v2, (struct sim_array * *array, const struct array_shape *shape), (array, shape))
{
    return array_create(array, shape);
}

static ws_CUresult array_check(const struct sim_array *array)
{
    return array && array->magic == SIM_ARRAY ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_HANDLE;
}

API(cuArray3DGetDescriptor_v2, (struct array_shape * shape, struct sim_array *array), (shape, array))
{
    NEED(shape);
    TRY(array_check(array));
    *shape = (struct array_shape){ array->width,       array->height,   array->depth,
                                   (int)array->format, array->channels, array->flags };
    return WS_CUDA_SUCCESS;
}

API(cuArrayGetDescriptor_v2, (struct array_shape_2d * shape, struct sim_array *array), (shape, array))
{
    NEED(shape);
    TRY(array_check(array));
    *shape = (struct array_shape_2d){ array->width, array->height, (int)array->format, array->channels };
    return WS_CUDA_SUCCESS;
}

API(cuArrayDestroy, (struct sim_array * array), (array))
{
    TRY(array_check(array));
    TRY(sim_context_wait(array->context));
    sim_memory_free(array->address, SIM_MEMORY_DEVICE);
    array->magic = 0;
    return WS_CUDA_SUCCESS;
}

/* A texture or surface object is only a number, because no simulated kernel reads through one. */
static _Atomic unsigned long long object_ids;

API(cuTexObjectCreate, (unsigned long long *object, const void *resource, const void *texture, const void *view),
    (object, resource, texture, view))
{
    struct sim_context *context;
    (void)view;
    NEED(object && resource && texture);
    TRY(sim_current(&context));
    *object = ++object_ids;
    return WS_CUDA_SUCCESS;
}

API(cuSurfObjectCreate, (unsigned long long *object, const void *resource), (object, resource))
{
    return body_cuTexObjectCreate(object, resource, resource, NULL);
}

API(cuTexObjectDestroy, (unsigned long long object), (object))
{
    NEED(object && object <= object_ids);
    return WS_CUDA_SUCCESS;
}

API_SAME(cuSurfObjectDestroy, cuTexObjectDestroy, (unsigned long long object), (object))
