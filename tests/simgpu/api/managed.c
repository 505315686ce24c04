/* Managed memory. Here host and device use the same memory. Advice therefore has no effect, and a prefetch is an
 * operation that does nothing. */
#include "api/api.h"

#include <string.h>

API(cuMemAdvise, (ws_CUdeviceptr address, size_t bytes, ws_CUenum advice, ws_CUdevice device),
    (address, bytes, advice, device))
{
    struct sim_range range;
    (void)device;
    NEED(bytes && advice >= 1 && advice <= 6 && sim_memory_find(address, &range));
    return WS_CUDA_SUCCESS;
}

API(cuMemAdvise_v2, (ws_CUdeviceptr address, size_t bytes, ws_CUenum advice, ws_CUmemLocation location),
    (address, bytes, advice, location))
{
    return body_cuMemAdvise(address, bytes, advice, location.id);
}

static ws_CUresult prefetch(ws_CUdeviceptr address, size_t bytes, ws_CUstream handle)
{
    struct sim_stream *stream;
    struct sim_range range;
    TRY(sim_stream_get(handle, &stream));
    NEED(bytes && sim_memory_find(address, &range) && range.kind == SIM_MEMORY_MANAGED);
    struct sim_work work = { .kind = SIM_WORK_EMPTY, .unit = SIM_ENGINE_NONE, .name = "prefetch", .bytes = bytes };
    return sim_submit(stream, &work, sim_config.launch_ns, NULL);
}

API_TWIN(cuMemPrefetchAsync, _ptsz, (ws_CUdeviceptr address, size_t bytes, ws_CUdevice device, ws_CUstream stream),
         (address, bytes, device, stream))
{
    (void)device;
    return prefetch(address, bytes, stream);
}

API_TWIN(cuMemPrefetchAsync_v2, _ptsz,
         (ws_CUdeviceptr address, size_t bytes, ws_CUmemLocation location, unsigned flags, ws_CUstream stream),
         (address, bytes, location, flags, stream))
{
    (void)location;
    NEED(!flags);
    return prefetch(address, bytes, stream);
}

API(cuMemRangeGetAttribute, (void *data, size_t bytes, ws_CUenum attribute, ws_CUdeviceptr address, size_t count),
    (data, bytes, attribute, address, count))
{
    struct sim_range range;
    NEED(data && bytes >= 4 && attribute >= 1 && attribute <= 8 && count && sim_memory_find(address, &range));
    memset(data, 0, bytes);
    if (attribute == 2 || attribute == 4)
        *(int *)data = -2; /* CU_DEVICE_INVALID: the memory has no preferred location and no last prefetch */
    return WS_CUDA_SUCCESS;
}

/* A batch of prefetches or discards becomes one operation for each address. */
static ws_CUresult prefetch_all(const ws_CUdeviceptr *addresses, const size_t *sizes, size_t count,
                                ws_CUstream stream)
{
    NEED(addresses && sizes && count);
    for (size_t i = 0; i < count; i++)
        TRY(prefetch(addresses[i], sizes[i], stream));
    return WS_CUDA_SUCCESS;
}

API_TWIN(cuMemPrefetchBatchAsync, _ptsz,
         (ws_CUdeviceptr * addresses, size_t *sizes, size_t count, ws_CUmemLocation *places, size_t *indices,
          size_t place_count, unsigned long long flags, ws_CUstream stream),
         (addresses, sizes, count, places, indices, place_count, flags, stream))
{
    NEED(places && indices && place_count && !flags);
    return prefetch_all(addresses, sizes, count, stream);
}

API_SAME_TWIN(cuMemDiscardAndPrefetchBatchAsync, _ptsz, cuMemPrefetchBatchAsync,
              (ws_CUdeviceptr * addresses, size_t *sizes, size_t count, ws_CUmemLocation *places, size_t *indices,
               size_t place_count, unsigned long long flags, ws_CUstream stream),
              (addresses, sizes, count, places, indices, place_count, flags, stream))

API_TWIN(cuMemDiscardBatchAsync, _ptsz,
         (ws_CUdeviceptr * addresses, size_t *sizes, size_t count, unsigned long long flags, ws_CUstream stream),
         (addresses, sizes, count, flags, stream))
{
    NEED(!flags);
    return prefetch_all(addresses, sizes, count, stream);
}
