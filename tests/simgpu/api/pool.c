/* Stream-ordered allocation, and memory pools. An allocation has its address when the call returns. It is freed when
 * the stream reaches the operation that frees it. */
#include "api/api.h"

#include <string.h>

static ws_CUresult pool_check(const struct sim_pool *pool)
{
    return pool && pool->magic == SIM_POOL ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_VALUE;
}

static struct sim_pool *pool_new(struct sim_device *device)
{
    struct sim_pool *pool = sim_keep(sizeof(*pool));
    if (pool) {
        pool->magic = SIM_POOL;
        pool->device = device;
        for (int attribute = 1; attribute < SIM_POOL_THRESHOLD; attribute++)
            pool->attributes[attribute] = 1;
    }
    return pool;
}

static struct sim_pool *default_pool(struct sim_device *device)
{
    pthread_mutex_lock(&sim_lock);
    if (!device->default_pool)
        device->default_pool = device->current_pool = pool_new(device);
    pthread_mutex_unlock(&sim_lock);
    return device->default_pool;
}

static ws_CUresult allocate(ws_CUdeviceptr *address, size_t bytes, struct sim_pool *pool, ws_CUstream handle)
{
    struct sim_stream *stream;
    NEED(address);
    TRY(sim_stream_get(handle, &stream));
    if (!pool)
        pool = default_pool(stream->context->device) ? stream->context->device->current_pool : NULL;
    TRY(pool_check(pool));
    struct sim_range range = { .pool = pool };
    TRY(sim_memory_allocate(stream->context, pool->device, SIM_MEMORY_DEVICE, bytes, &range));
    *address = range.start;
    struct sim_work work = {
        .kind = SIM_WORK_ALLOC, .unit = SIM_ENGINE_NONE, .bytes = bytes, .memory = { range.start, bytes }
    };
    return sim_submit(stream, &work, sim_config.event_plain_ns, NULL);
}

API_TWIN(cuMemAllocAsync, _ptsz, (ws_CUdeviceptr * address, size_t bytes, ws_CUstream stream),
         (address, bytes, stream))
{
    return allocate(address, bytes, NULL, stream);
}

API_TWIN(cuMemAllocFromPoolAsync, _ptsz,
         (ws_CUdeviceptr * address, size_t bytes, struct sim_pool *pool, ws_CUstream stream),
         (address, bytes, pool, stream))
{
    NEED(pool);
    return allocate(address, bytes, pool, stream);
}

API_TWIN(cuMemFreeAsync, _ptsz, (ws_CUdeviceptr address, ws_CUstream handle), (address, handle))
{
    struct sim_stream *stream;
    struct sim_range range;
    TRY(sim_stream_get(handle, &stream));
    NEED(sim_memory_find(address, &range) && range.start == address && range.kind == SIM_MEMORY_DEVICE);
    struct sim_work work = {
        .kind = SIM_WORK_FREE, .unit = SIM_ENGINE_NONE, .bytes = range.bytes, .memory = { address, range.bytes }
    };
    return sim_submit(stream, &work, sim_config.event_plain_ns, NULL);
}

API(cuMemPoolCreate, (struct sim_pool * *pool, const ws_CUmemPoolProps *properties), (pool, properties))
{
    NEED(pool && properties);
    struct sim_device *device = sim_device_at(properties->location.id);
    NEED(device && properties->allocType == WS_CU_MEM_ALLOCATION_TYPE_PINNED);
    *pool = pool_new(device);
    return *pool ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_OUT_OF_MEMORY;
}

API(cuMemPoolDestroy, (struct sim_pool * pool), (pool))
{
    TRY(pool_check(pool));
    NEED(pool != pool->device->default_pool);
    if (pool->device->current_pool == pool)
        pool->device->current_pool = pool->device->default_pool;
    pool->magic = 0;
    return WS_CUDA_SUCCESS;
}

static size_t attribute_bytes(ws_CUenum attribute)
{
    return attribute < SIM_POOL_THRESHOLD ? sizeof(int) : sizeof(uint64_t);
}

API(cuMemPoolGetAttribute, (struct sim_pool * pool, ws_CUenum attribute, void *value), (pool, attribute, value))
{
    TRY(pool_check(pool));
    NEED(value && attribute >= 1 && attribute <= SIM_POOL_USED_HIGH);
    memcpy(value, &pool->attributes[attribute], attribute_bytes(attribute));
    return WS_CUDA_SUCCESS;
}

API(cuMemPoolSetAttribute, (struct sim_pool * pool, ws_CUenum attribute, void *value), (pool, attribute, value))
{
    TRY(pool_check(pool));
    NEED(value && attribute >= 1 && attribute <= SIM_POOL_USED_HIGH);
    pool->attributes[attribute] = 0;
    memcpy(&pool->attributes[attribute], value, attribute_bytes(attribute));
    return WS_CUDA_SUCCESS;
}

API(cuMemPoolSetAccess, (struct sim_pool * pool, const ws_CUmemAccessDesc *access, size_t count),
    (pool, access, count))
{
    NEED(access && count);
    return pool_check(pool);
}

API(cuMemPoolGetAccess, (ws_CUenum * flags, struct sim_pool *pool, ws_CUmemLocation *location),
    (flags, pool, location))
{
    NEED(flags && location);
    TRY(pool_check(pool));
    *flags = 3; /* CU_MEM_ACCESS_FLAGS_PROT_READWRITE */
    return WS_CUDA_SUCCESS;
}

API(cuMemPoolTrimTo, (struct sim_pool * pool, size_t bytes), (pool, bytes))
{
    (void)bytes;
    return pool_check(pool);
}

API(cuDeviceGetDefaultMemPool, (struct sim_pool * *pool, ws_CUdevice ordinal), (pool, ordinal))
{
    struct sim_device *device = sim_device_at(ordinal);
    NEED(pool);
    if (!device)
        return WS_CUDA_ERROR_INVALID_DEVICE;
    *pool = default_pool(device);
    return *pool ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_OUT_OF_MEMORY;
}

API(cuDeviceGetMemPool, (struct sim_pool * *pool, ws_CUdevice ordinal), (pool, ordinal))
{
    TRY(body_cuDeviceGetDefaultMemPool(pool, ordinal));
    *pool = sim_device_at(ordinal)->current_pool;
    return WS_CUDA_SUCCESS;
}

API(cuDeviceSetMemPool, (ws_CUdevice ordinal, struct sim_pool *pool), (ordinal, pool))
{
    struct sim_pool *fallback;
    TRY(body_cuDeviceGetDefaultMemPool(&fallback, ordinal));
    TRY(pool_check(pool));
    sim_device_at(ordinal)->current_pool = pool;
    return WS_CUDA_SUCCESS;
}

API(cuMemGetDefaultMemPool, (struct sim_pool * *pool, ws_CUmemLocation *location, ws_CUenum type),
    (pool, location, type))
{
    NEED(location && location->type == WS_CU_MEM_LOCATION_TYPE_DEVICE && type == WS_CU_MEM_ALLOCATION_TYPE_PINNED);
    return body_cuDeviceGetDefaultMemPool(pool, location->id);
}

API(cuMemGetMemPool, (struct sim_pool * *pool, ws_CUmemLocation *location, ws_CUenum type), (pool, location, type))
{
    NEED(location && location->type == WS_CU_MEM_LOCATION_TYPE_DEVICE && type == WS_CU_MEM_ALLOCATION_TYPE_PINNED);
    return body_cuDeviceGetMemPool(pool, location->id);
}

API(cuMemSetMemPool, (ws_CUmemLocation * location, ws_CUenum type, struct sim_pool *pool), (location, type, pool))
{
    NEED(location && location->type == WS_CU_MEM_LOCATION_TYPE_DEVICE && type == WS_CU_MEM_ALLOCATION_TYPE_PINNED);
    return body_cuDeviceSetMemPool(location->id, pool);
}
