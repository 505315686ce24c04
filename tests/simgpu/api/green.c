/* Green contexts. Each stands for a part of a device's SMs and has its own streams; modules and memory are those of
 * the primary context. Here every green context has all SMs. */
#include "api/api.h"

#include <string.h>

enum { RESOURCE_SM = 1 };

struct resource {
    ws_CUenum type;
    unsigned char padding[92];
    union {
        struct {
            unsigned sm_count;
        } sm;
        unsigned char room[48];
    };
};

struct green {
    uint32_t magic;
    struct sim_device *device;
    struct sim_context *context;
    uint64_t id;
};

enum { GREEN_MAGIC = 0x51c0de60 };

API(cuDeviceGetDevResource, (ws_CUdevice ordinal, struct resource *resource, ws_CUenum type),
    (ordinal, resource, type))
{
    struct sim_device *device = sim_device_at(ordinal);
    if (!device)
        return WS_CUDA_ERROR_INVALID_DEVICE;
    NEED(resource && type == RESOURCE_SM);
    memset(resource, 0, sizeof(*resource));
    resource->type = type;
    resource->sm.sm_count = (unsigned)device->model->sms;
    return WS_CUDA_SUCCESS;
}

API(cuDevResourceGenerateDesc, (ws_CUdevResourceDesc * made, struct resource *resources, unsigned count),
    (made, resources, count))
{
    NEED(made && resources && count);
    struct resource *kept = sim_keep(sizeof(*kept));
    if (!kept)
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    *kept = resources[0];
    *made = (ws_CUdevResourceDesc)kept;
    return WS_CUDA_SUCCESS;
}

API(cuGreenCtxCreate, (struct green * *made, ws_CUdevResourceDesc resource, ws_CUdevice ordinal, unsigned flags),
    (made, resource, ordinal, flags))
{
    static atomic_uint ids;
    struct sim_device *device = sim_device_at(ordinal);
    if (!device)
        return WS_CUDA_ERROR_INVALID_DEVICE;
    NEED(made && resource && flags == 1);
    struct green *green = sim_keep(sizeof(*green));
    if (!green)
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    *green = (struct green){ .magic = GREEN_MAGIC, .device = device, .id = atomic_fetch_add(&ids, 1) + 1 };
    struct sim_context *primary;
    TRY(sim_primary_retain(device, &primary));
    green->context = sim_context_part(primary, green);
    if (!green->context)
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    *made = green;
    return WS_CUDA_SUCCESS;
}

static ws_CUresult green_check(const struct green *green)
{
    if (!green || green->magic != GREEN_MAGIC)
        return WS_CUDA_ERROR_INVALID_CONTEXT;
    return sim_context_check(green->context);
}

API(cuGreenCtxDestroy, (struct green * green), (green))
{
    TRY(green_check(green));
    green->magic = 0;
    sim_context_release_resources(green->context);
    return sim_primary_release(green->device, false);
}

API(cuGreenCtxGetId, (struct green * green, unsigned long long *id), (green, id))
{
    NEED(id);
    TRY(green_check(green));
    *id = green->id;
    return WS_CUDA_SUCCESS;
}

API(cuCtxFromGreenCtx, (struct sim_context * *context, struct green *green), (context, green))
{
    NEED(context);
    TRY(green_check(green));
    *context = green->context;
    return WS_CUDA_SUCCESS;
}

API(cuGreenCtxStreamCreate, (ws_CUstream * made, struct green *green, unsigned flags, int priority),
    (made, green, flags, priority))
{
    NEED(made && flags == WS_CU_STREAM_NON_BLOCKING);
    TRY(green_check(green));
    pthread_mutex_lock(&sim_lock);
    struct sim_stream *stream;
    ws_CUresult result = sim_stream_create(green->context, flags, priority, &stream);
    pthread_mutex_unlock(&sim_lock);
    *made = (ws_CUstream)stream;
    return result;
}
