#include "api/api.h"

#include <string.h>

static ws_CUresult allocate(ws_CUdeviceptr *pointer, size_t bytes, enum sim_memory_kind kind, unsigned flags)
{
    struct sim_context *context;
    NEED(pointer);
    TRY(sim_current(&context));
    TRY(sim_capture_unsafe());
    struct sim_range range = { .flags = flags };
    TRY(sim_memory_allocate(context, context->device, kind, bytes, &range));
    sim_pay(sim_config.allocate_ns);
    *pointer = range.start;
    return WS_CUDA_SUCCESS;
}

API(cuMemAlloc_v2, (ws_CUdeviceptr * pointer, size_t bytes), (pointer, bytes))
{
    return allocate(pointer, bytes, SIM_MEMORY_DEVICE, 0);
}

API(cuMemAllocPitch_v2, (ws_CUdeviceptr * pointer, size_t *pitch, size_t width, size_t height, unsigned element),
    (pointer, pitch, width, height, element))
{
    NEED(pitch && width && height && (element == 4 || element == 8 || element == 16));
    *pitch = (width + 511) / 512 * 512;
    return allocate(pointer, *pitch * height, SIM_MEMORY_DEVICE, 0);
}

API(cuMemAllocManaged, (ws_CUdeviceptr * pointer, size_t bytes, unsigned flags), (pointer, bytes, flags))
{
    NEED(flags == 1 || flags == 2);
    return allocate(pointer, bytes, SIM_MEMORY_MANAGED, flags);
}

/* As in the real driver, cuMemFree waits for work on the device: for all work of the memory's context. */
API(cuMemFree_v2, (ws_CUdeviceptr pointer), (pointer))
{
    struct sim_context *context;
    struct sim_range range;
    TRY(sim_current(&context));
    if (!pointer)
        return WS_CUDA_SUCCESS;
    TRY(sim_capture_unsafe());
    NEED(sim_memory_find(pointer, &range) && range.start == pointer);
    TRY(sim_context_wait(range.context ? range.context : context));
    sim_pay(sim_config.allocate_ns);
    return sim_memory_free_found(&range, SIM_MEMORY_DEVICE);
}

API(cuMemHostAlloc, (void **pointer, size_t bytes, unsigned flags), (pointer, bytes, flags))
{
    ws_CUdeviceptr address;
    NEED(pointer && flags <= 7);
    TRY(allocate(&address, bytes, SIM_MEMORY_PINNED, flags));
    *pointer = (void *)address;
    return WS_CUDA_SUCCESS;
}

API(cuMemAllocHost_v2, (void **pointer, size_t bytes), (pointer, bytes))
{
    return body_cuMemHostAlloc(pointer, bytes, 0);
}

API_SAME(cuMemAllocHost, cuMemAllocHost_v2, (void **pointer, size_t bytes), (pointer, bytes))

API(cuMemFreeHost, (void *pointer), (pointer))
{
    struct sim_context *context;
    struct sim_range range;
    TRY(sim_current(&context));
    if (!pointer)
        return WS_CUDA_SUCCESS;
    TRY(sim_capture_unsafe());
    NEED(sim_memory_find((uint64_t)pointer, &range) && range.kind == SIM_MEMORY_PINNED);
    TRY(sim_context_wait(range.context ? range.context : context));
    sim_pay(sim_config.allocate_ns);
    return sim_memory_free_found(&range, SIM_MEMORY_PINNED);
}

API(cuMemHostRegister_v2, (void *pointer, size_t bytes, unsigned flags), (pointer, bytes, flags))
{
    struct sim_context *context;
    NEED(pointer && bytes);
    TRY(sim_current(&context));
    TRY(sim_capture_unsafe());
    struct sim_range range = { .start = (uint64_t)pointer,
                               .bytes = bytes,
                               .kind = SIM_MEMORY_REGISTERED,
                               .flags = flags,
                               .context = context,
                               .device = context->device };
    return sim_memory_add(&range);
}

API_SAME(cuMemHostRegister, cuMemHostRegister_v2, (void *pointer, size_t bytes, unsigned flags),
         (pointer, bytes, flags))

API(cuMemHostUnregister, (void *pointer), (pointer))
{
    struct sim_context *context;
    struct sim_range range;
    NEED(pointer);
    TRY(sim_current(&context));
    if (!sim_memory_find((uint64_t)pointer, &range) || range.start != (uint64_t)pointer ||
        range.kind != SIM_MEMORY_REGISTERED)
        return WS_CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    TRY(sim_context_wait(context));
    sim_memory_remove((uint64_t)pointer, &range);
    return WS_CUDA_SUCCESS;
}

API(cuMemHostGetDevicePointer_v2, (ws_CUdeviceptr * device, void *host, unsigned flags), (device, host, flags))
{
    struct sim_range range;
    NEED(device && host && !flags);
    NEED(sim_memory_find((uint64_t)host, &range));
    *device = (ws_CUdeviceptr)host;
    return WS_CUDA_SUCCESS;
}

API(cuMemHostGetFlags, (unsigned *flags, void *host), (flags, host))
{
    struct sim_range range;
    NEED(flags && sim_memory_find((uint64_t)host, &range) && range.kind == SIM_MEMORY_PINNED);
    *flags = range.flags;
    return WS_CUDA_SUCCESS;
}

API(cuMemGetInfo_v2, (size_t * available, size_t *total), (available, total))
{
    struct sim_context *context;
    TRY(sim_current(&context));
    if (available)
        *available = context->device->memory_total - sim_memory_used(context->device);
    if (total)
        *total = context->device->memory_total;
    return WS_CUDA_SUCCESS;
}

API(cuMemGetAddressRange_v2, (ws_CUdeviceptr * base, size_t *bytes, ws_CUdeviceptr pointer), (base, bytes, pointer))
{
    struct sim_range range;
    if (!sim_memory_find(pointer, &range))
        return WS_CUDA_ERROR_NOT_FOUND;
    if (base)
        *base = range.start;
    if (bytes)
        *bytes = range.bytes;
    return WS_CUDA_SUCCESS;
}

/* Writes the value of one attribute of a pointer, by the attribute's number (CUpointer_attribute). */
static ws_CUresult attribute_of(void *data, ws_CUenum attribute, ws_CUdeviceptr pointer)
{
    struct sim_range range;
    bool known = sim_memory_find(pointer, &range);
    bool device_side = known && (range.kind == SIM_MEMORY_DEVICE || range.kind == SIM_MEMORY_MANAGED);
    static const struct {
        unsigned char bytes;
        bool for_unknown;
    } shape[] = { [1] = { 8, false }, [2] = { 4, false }, [3] = { 8, false }, [4] = { 8, false }, [6] = { 4, false },
                  [7] = { 8, false }, [8] = { 4, true },  [9] = { 4, true },  [10] = { 4, true }, [11] = { 8, true },
                  [12] = { 8, true }, [13] = { 4, true }, [14] = { 4, true }, [15] = { 4, true }, [16] = { 4, true },
                  [17] = { 8, true }, [18] = { 8, true }, [19] = { 8, true }, [20] = { 8, true } };
    NEED(data && attribute > 0 && attribute < (int)(sizeof(shape) / sizeof(shape[0])) && shape[attribute].bytes);
    NEED(known || shape[attribute].for_unknown);
    uint64_t value = 0;
    switch (attribute) {
    case WS_CU_POINTER_ATTRIBUTE_CONTEXT:
        value = (uint64_t)range.context;
        break;
    case WS_CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        value = device_side ? WS_CU_MEMORYTYPE_DEVICE : WS_CU_MEMORYTYPE_HOST;
        break;
    case WS_CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        value = pointer;
        break;
    case WS_CU_POINTER_ATTRIBUTE_HOST_POINTER:
        NEED(range.kind != SIM_MEMORY_DEVICE);
        value = pointer;
        break;
    case 7: /* the allocation's unique number */
        value = range.id;
        break;
    case WS_CU_POINTER_ATTRIBUTE_IS_MANAGED:
        value = known && range.kind == SIM_MEMORY_MANAGED;
        break;
    case WS_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        value = known ? (uint64_t)range.device->ordinal : (uint64_t)-2;
        break;
    case WS_CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        value = known ? range.start : 0;
        break;
    case WS_CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        value = known ? range.bytes : 0;
        break;
    case 13: /* whether the address is mapped */
        value = known;
        break;
    case 17: /* the memory pool of the allocation */
        value = known ? (uint64_t)range.pool : 0;
        break;
    default:
        break;
    }
    memcpy(data, &value, shape[attribute].bytes);
    return WS_CUDA_SUCCESS;
}

API(cuPointerGetAttribute, (void *data, ws_CUenum attribute, ws_CUdeviceptr pointer), (data, attribute, pointer))
{
    return attribute_of(data, attribute, pointer);
}

/* Unlike cuPointerGetAttribute, this function returns 0 and no error for an attribute that the address does not
 * have. */
API(cuPointerGetAttributes, (unsigned count, const ws_CUenum *attributes, void **data, ws_CUdeviceptr pointer),
    (count, attributes, data, pointer))
{
    NEED(attributes && data);
    for (unsigned i = 0; i < count; i++) {
        NEED(data[i]);
        if (attribute_of(data[i], attributes[i], pointer) == WS_CUDA_SUCCESS)
            continue;
        bool wide = attributes[i] == 1 || attributes[i] == 3 || attributes[i] == 4 || attributes[i] == 7;
        memset(data[i], 0, wide ? 8 : 4);
    }
    return WS_CUDA_SUCCESS;
}

API(cuPointerSetAttribute, (const void *value, ws_CUenum attribute, ws_CUdeviceptr pointer),
    (value, attribute, pointer))
{
    struct sim_range range;
    NEED(value && attribute == 6 && sim_memory_find(pointer, &range));
    return WS_CUDA_SUCCESS;
}
