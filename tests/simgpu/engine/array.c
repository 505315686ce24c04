/* CUDA arrays. Each array is pitched memory: the real layout of an array is not documented, and no program may rely
 * on it. */
#include "engine/engine.h"

struct side {
    ws_CUenum type;
    const void *host;
    ws_CUdeviceptr device;
    struct sim_array *array;
    size_t x, y, z, pitch, height;
};

static ws_CUresult locate(const struct side *side, const ws_CUDA_MEMCPY3D *copy, char **address, size_t *pitch,
                          size_t *slice, enum sim_side *kind)
{
    char *base;
    size_t rows;
    switch (side->type) {
    case WS_CU_MEMORYTYPE_HOST:
        base = (char *)side->host;
        *kind = SIM_SIDE_HOST;
        break;
    case WS_CU_MEMORYTYPE_DEVICE:
        base = (char *)side->device;
        *kind = SIM_SIDE_DEVICE;
        break;
    case WS_CU_MEMORYTYPE_UNIFIED:
        base = (char *)side->device;
        *kind = SIM_SIDE_ANY;
        break;
    case WS_CU_MEMORYTYPE_ARRAY:
        if (!side->array || side->array->magic != SIM_ARRAY)
            return WS_CUDA_ERROR_INVALID_HANDLE;
        base = (char *)side->array->address;
        *kind = SIM_SIDE_DEVICE;
        break;
    default:
        return WS_CUDA_ERROR_INVALID_VALUE;
    }
    if (side->type == WS_CU_MEMORYTYPE_ARRAY) {
        *pitch = side->array->pitch;
        rows = side->array->height ? side->array->height : 1;
        if (side->x + copy->WidthInBytes > side->array->width_bytes || side->y + copy->Height > rows)
            return WS_CUDA_ERROR_INVALID_VALUE;
    } else {
        *pitch = side->pitch ? side->pitch : copy->WidthInBytes;
        rows = side->height ? side->height : copy->Height;
        if (copy->Height > 1 && *pitch < copy->WidthInBytes)
            return WS_CUDA_ERROR_INVALID_VALUE;
    }
    if (!base)
        return WS_CUDA_ERROR_INVALID_VALUE;
    *slice = *pitch * rows;
    *address = base + side->z * *slice + side->y * *pitch + side->x;
    return WS_CUDA_SUCCESS;
}

ws_CUresult sim_copy_describe(const ws_CUDA_MEMCPY3D *what, struct sim_copy *copy, enum sim_side *from_side,
                              enum sim_side *to_side)
{
    struct side from = { what->srcMemoryType, what->srcHost, what->srcDevice, (struct sim_array *)what->srcArray,
                         what->srcXInBytes,   what->srcY,    what->srcZ,      what->srcPitch,
                         what->srcHeight };
    struct side to = { what->dstMemoryType, what->dstHost, what->dstDevice, (struct sim_array *)what->dstArray,
                       what->dstXInBytes,   what->dstY,    what->dstZ,      what->dstPitch,
                       what->dstHeight };
    char *source;
    *copy = (struct sim_copy){ .width = what->WidthInBytes, .height = what->Height, .depth = what->Depth };
    ws_CUresult result = locate(&from, what, &source, &copy->from_pitch, &copy->from_slice, from_side);
    copy->from = source;
    return result != WS_CUDA_SUCCESS ? result
                                     : locate(&to, what, &copy->to, &copy->to_pitch, &copy->to_slice, to_side);
}
