#include "api/api.h"

static ws_CUresult create(ws_CUcontext *made, unsigned flags, ws_CUdevice ordinal, int api_version)
{
    NEED(made);
    struct sim_device *device = sim_device_at(ordinal);
    if (!device)
        return WS_CUDA_ERROR_INVALID_DEVICE;
    struct sim_context *context;
    TRY(sim_context_create(&context, flags, device, api_version));
    *made = (ws_CUcontext)context;
    return WS_CUDA_SUCCESS;
}

API(cuCtxCreate_v2, (ws_CUcontext * made, unsigned flags, ws_CUdevice device), (made, flags, device))
{
    return create(made, flags, device, 3020);
}

API_SAME(cuCtxCreate, cuCtxCreate_v2, (ws_CUcontext * made, unsigned flags, ws_CUdevice device),
         (made, flags, device))

API(cuCtxCreate_v3, (ws_CUcontext * made, const void *affinity, int count, unsigned flags, ws_CUdevice device),
    (made, affinity, count, flags, device))
{
    if (affinity || count)
        return WS_CUDA_ERROR_NOT_SUPPORTED;
    return create(made, flags, device, 3021);
}

API(cuCtxCreate_v4, (ws_CUcontext * made, const ws_CUctxCreateParams *parameters, unsigned flags, ws_CUdevice device),
    (made, parameters, flags, device))
{
    if (parameters && (parameters->numExecAffinityParams || parameters->cigParams))
        return WS_CUDA_ERROR_NOT_SUPPORTED;
    return create(made, flags, device, 3021);
}

API(cuCtxDestroy_v2, (struct sim_context * context), (context))
{
    return sim_context_destroy(context);
}

API_SAME(cuCtxDestroy, cuCtxDestroy_v2, (struct sim_context * context), (context))

API(cuCtxPushCurrent_v2, (struct sim_context * context), (context))
{
    return sim_context_push(context);
}

API_SAME(cuCtxPushCurrent, cuCtxPushCurrent_v2, (struct sim_context * context), (context))

API(cuCtxPopCurrent_v2, (struct sim_context * *context), (context))
{
    return sim_context_pop(context);
}

API_SAME(cuCtxPopCurrent, cuCtxPopCurrent_v2, (struct sim_context * *context), (context))

API(cuCtxSetCurrent, (struct sim_context * context), (context))
{
    if (context && context->magic != SIM_CONTEXT)
        return WS_CUDA_ERROR_INVALID_CONTEXT;
    sim_context_set(context);
    return WS_CUDA_SUCCESS;
}

API(cuCtxGetCurrent, (struct sim_context * *context), (context))
{
    NEED(context);
    *context = sim_current_or_null();
    return WS_CUDA_SUCCESS;
}

API(cuCtxGetDevice, (ws_CUdevice * device), (device))
{
    struct sim_context *context;
    NEED(device);
    context = sim_current_or_null();
    if (!context)
        return WS_CUDA_ERROR_INVALID_CONTEXT;
    *device = context->device->ordinal;
    return WS_CUDA_SUCCESS;
}

/* cuCtxGetDevice_v2 and cuCtxSynchronize_v2 take a context, unlike their older forms. numba, HAMi and other programs
 * look up the name with _v2 first, but call the function without the context. If the driver has the name with _v2,
 * the function takes whatever the argument's register holds for the context. The real driver then crashes
 * (github.com/dpeerlab/segger, issue 30). Here a pointer that is not a context means the current context, so that
 * these programs run. */
static struct sim_context *named_context(struct sim_context *context, int version)
{
    if (context && sim_config.driver_version >= version) {
        if (sim_context_known(context))
            return context;
        sim_misused("a context that never was");
    }
    return sim_current_or_null();
}

EXPORT ws_CUresult cuCtxGetDevice_v2(ws_CUdevice *device, struct sim_context *context);
EXPORT ws_CUresult cuCtxSynchronize_v2(struct sim_context *context);

ws_CUresult cuCtxGetDevice_v2(ws_CUdevice *device, struct sim_context *context)
{
    TRY(sim_gate());
    NEED(device);
    context = named_context(context, SIM_VERSION_cuCtxGetDevice_v2);
    if (!context)
        return WS_CUDA_ERROR_INVALID_CONTEXT;
    *device = context->device->ordinal;
    return WS_CUDA_SUCCESS;
}

API(cuCtxGetFlags, (unsigned *flags), (flags))
{
    struct sim_context *context;
    NEED(flags);
    TRY(sim_current(&context));
    *flags = context->flags;
    return WS_CUDA_SUCCESS;
}

API(cuCtxSetFlags, (unsigned flags), (flags))
{
    struct sim_context *context;
    TRY(sim_current(&context));
    context->flags = flags;
    return WS_CUDA_SUCCESS;
}

API(cuCtxGetId, (struct sim_context * context, unsigned long long *id), (context, id))
{
    NEED(id);
    if (!context)
        context = sim_current_or_null();
    TRY(sim_context_check(context));
    *id = context->id;
    return WS_CUDA_SUCCESS;
}

API(cuCtxGetApiVersion, (struct sim_context * context, unsigned *version), (context, version))
{
    NEED(version);
    if (!context)
        context = sim_current_or_null();
    TRY(sim_context_check(context));
    *version = (unsigned)context->api_version;
    return WS_CUDA_SUCCESS;
}

static ws_CUresult synchronize(struct sim_context *context)
{
    TRY(sim_context_check(context));
    TRY(sim_capture_forbids(context));
    ws_CUresult result = sim_context_wait(context);
    if (sim_config.truth_sync)
        sim_truth_flush();
    return result;
}

API(cuCtxSynchronize, (void), ())
{
    struct sim_context *context;
    TRY(sim_current(&context));
    return synchronize(context);
}

ws_CUresult cuCtxSynchronize_v2(struct sim_context *context)
{
    TRY(sim_gate());
    context = named_context(context, SIM_VERSION_cuCtxSynchronize_v2);
    return context == sim_current_or_null() ? cuCtxSynchronize() : synchronize(context);
}

API(cuCtxGetLimit, (size_t * value, ws_CUenum limit), (value, limit))
{
    struct sim_context *context;
    NEED(value);
    TRY(sim_current(&context));
    if (limit < 0 || limit > 6)
        return WS_CUDA_ERROR_UNSUPPORTED_LIMIT;
    pthread_mutex_lock(&sim_lock);
    *value = context->limits[limit];
    pthread_mutex_unlock(&sim_lock);
    return WS_CUDA_SUCCESS;
}

API(cuCtxSetLimit, (ws_CUenum limit, size_t value), (limit, value))
{
    struct sim_context *context;
    TRY(sim_current(&context));
    if (limit < 0 || limit > 6)
        return WS_CUDA_ERROR_UNSUPPORTED_LIMIT;
    pthread_mutex_lock(&sim_lock);
    context->limits[limit] = value;
    pthread_mutex_unlock(&sim_lock);
    return WS_CUDA_SUCCESS;
}

/* Settings of a context that have no effect here; only their values are kept. */
#define REMEMBERED(get, set, field)        \
    API(get, (ws_CUenum * value), (value)) \
    {                                      \
        struct sim_context *context;       \
        NEED(value);                       \
        TRY(sim_current(&context));        \
        *value = context->field;           \
        return WS_CUDA_SUCCESS;            \
    }                                      \
    API(set, (ws_CUenum value), (value))   \
    {                                      \
        struct sim_context *context;       \
        TRY(sim_current(&context));        \
        context->field = value;            \
        return WS_CUDA_SUCCESS;            \
    }

REMEMBERED(cuCtxGetCacheConfig, cuCtxSetCacheConfig, cache_config)
REMEMBERED(cuCtxGetSharedMemConfig, cuCtxSetSharedMemConfig, shared_config)

API(cuCtxGetStreamPriorityRange, (int *least, int *greatest), (least, greatest))
{
    struct sim_context *context;
    TRY(sim_current(&context));
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return WS_CUDA_SUCCESS;
}

API(cuCtxResetPersistingL2Cache, (void), ())
{
    struct sim_context *context;
    return sim_current(&context);
}

API(cuCtxAttach, (struct sim_context * *context, unsigned flags), (context, flags))
{
    NEED(context && !flags);
    TRY(sim_current(context));
    (*context)->references++;
    return WS_CUDA_SUCCESS;
}

API(cuCtxDetach, (struct sim_context * context), (context))
{
    TRY(sim_context_check(context));
    if (!context->references)
        return sim_context_destroy(context);
    context->references--;
    return WS_CUDA_SUCCESS;
}

API(cuCtxEnablePeerAccess, (struct sim_context * peer, unsigned flags), (peer, flags))
{
    struct sim_context *context;
    NEED(!flags);
    TRY(sim_current(&context));
    TRY(sim_context_check(peer));
    if (peer->device == context->device)
        return WS_CUDA_ERROR_INVALID_DEVICE;
    uint64_t bit = (uint64_t)1 << peer->device->ordinal;
    if (context->peers & bit)
        return WS_CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    context->peers |= bit;
    return WS_CUDA_SUCCESS;
}

API(cuCtxDisablePeerAccess, (struct sim_context * peer), (peer))
{
    struct sim_context *context;
    TRY(sim_current(&context));
    TRY(sim_context_check(peer));
    uint64_t bit = (uint64_t)1 << peer->device->ordinal;
    if (!(context->peers & bit))
        return WS_CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    context->peers &= ~bit;
    return WS_CUDA_SUCCESS;
}

API(cuDevicePrimaryCtxRetain, (struct sim_context * *context, ws_CUdevice ordinal), (context, ordinal))
{
    struct sim_device *device = sim_device_at(ordinal);
    NEED(context);
    return device ? sim_primary_retain(device, context) : WS_CUDA_ERROR_INVALID_DEVICE;
}

EXPORT void *simgpuRetainPrimary(int ordinal)
{
    struct sim_device *device = sim_device_at(ordinal);
    struct sim_context *context;
    return device && sim_primary_retain(device, &context) == WS_CUDA_SUCCESS ? context : NULL;
}

API(cuDevicePrimaryCtxRelease_v2, (ws_CUdevice ordinal), (ordinal))
{
    struct sim_device *device = sim_device_at(ordinal);
    return device ? sim_primary_release(device, false) : WS_CUDA_ERROR_INVALID_DEVICE;
}

API_SAME(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (ws_CUdevice ordinal), (ordinal))

API(cuDevicePrimaryCtxReset_v2, (ws_CUdevice ordinal), (ordinal))
{
    struct sim_device *device = sim_device_at(ordinal);
    return device ? sim_primary_release(device, true) : WS_CUDA_ERROR_INVALID_DEVICE;
}

API_SAME(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, (ws_CUdevice ordinal), (ordinal))

API(cuDevicePrimaryCtxSetFlags_v2, (ws_CUdevice ordinal, unsigned flags), (ordinal, flags))
{
    struct sim_device *device = sim_device_at(ordinal);
    if (!device)
        return WS_CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&sim_lock);
    device->primary_flags = flags;
    if (device->primary && !device->primary->destroyed)
        device->primary->flags = flags;
    pthread_mutex_unlock(&sim_lock);
    return WS_CUDA_SUCCESS;
}

API_SAME(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2, (ws_CUdevice ordinal, unsigned flags),
         (ordinal, flags))

API(cuDevicePrimaryCtxGetState, (ws_CUdevice ordinal, unsigned *flags, int *active), (ordinal, flags, active))
{
    struct sim_device *device = sim_device_at(ordinal);
    if (!device)
        return WS_CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&sim_lock);
    if (flags)
        *flags = device->primary_flags;
    if (active)
        *active = device->primary && !device->primary->destroyed;
    pthread_mutex_unlock(&sim_lock);
    return WS_CUDA_SUCCESS;
}
