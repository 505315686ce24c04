/* Stream memory operations: a stream writes a value to memory, or waits for a value in memory. Also the functions for
 * attributes of streams. */
#include "api/api.h"

static ws_CUresult value_work(ws_CUstream handle, enum sim_kind kind, ws_CUdeviceptr address, uint64_t value,
                              unsigned flags, unsigned bytes)
{
    struct sim_stream *stream;
    if (!sim_config.stream_values)
        return WS_CUDA_ERROR_NOT_SUPPORTED;
    TRY(sim_stream_get(handle, &stream));
    NEED(address && address % bytes == 0);
    struct sim_work work = {
        .kind = kind, .unit = SIM_ENGINE_NONE, .bytes = bytes, .value = { (void *)address, value, flags, bytes }
    };
    return sim_submit(stream, &work, sim_config.event_plain_ns, NULL);
}

/* Only version 2 of these functions (with _v2) is supported. The real driver offers version 1 only if a parameter of
 * NVIDIA's kernel module is set, and by default it is not set. */
#define VALUE_CALL(name, type, kind, bits)                                                               \
    API_TWIN(name##_v2, _ptsz, (ws_CUstream stream, ws_CUdeviceptr address, type value, unsigned flags), \
             (stream, address, value, flags))                                                            \
    {                                                                                                    \
        return value_work(stream, kind, address, value, flags, bits);                                    \
    }                                                                                                    \
    API_TWIN(name, _ptsz, (ws_CUstream stream, ws_CUdeviceptr address, type value, unsigned flags),      \
             (stream, address, value, flags))                                                            \
    {                                                                                                    \
        (void)stream, (void)address, (void)value, (void)flags;                                           \
        return WS_CUDA_ERROR_NOT_SUPPORTED;                                                              \
    }

VALUE_CALL(cuStreamWaitValue32, uint32_t, SIM_WORK_WAIT_VALUE, 4)
VALUE_CALL(cuStreamWaitValue64, uint64_t, SIM_WORK_WAIT_VALUE, 8)
VALUE_CALL(cuStreamWriteValue32, uint32_t, SIM_WORK_WRITE_VALUE, 4)
VALUE_CALL(cuStreamWriteValue64, uint64_t, SIM_WORK_WRITE_VALUE, 8)

/* One operation of a batch, in the driver's layout (CUstreamBatchMemOpParams). */
union batch_operation {
    ws_CUenum operation;
    struct {
        ws_CUenum operation;
        ws_CUdeviceptr address;
        uint64_t value;
        unsigned flags;
        ws_CUdeviceptr alias;
    } memory;
    uint64_t pad[6];
};

enum { WAIT_32 = 1, WRITE_32 = 2, FLUSH = 3, WAIT_64 = 4, WRITE_64 = 5, BARRIER = 6 };

API_TWIN(cuStreamBatchMemOp_v2, _ptsz,
         (ws_CUstream stream, unsigned count, union batch_operation *operations, unsigned flags),
         (stream, count, operations, flags))
{
    if (!sim_config.stream_values)
        return WS_CUDA_ERROR_NOT_SUPPORTED;
    NEED(operations && count && !flags);
    for (unsigned i = 0; i < count; i++) {
        const union batch_operation *one = &operations[i];
        bool waits = one->operation == WAIT_32 || one->operation == WAIT_64;
        bool wide = one->operation == WAIT_64 || one->operation == WRITE_64;
        NEED(one->operation >= WAIT_32 && one->operation <= BARRIER);
        if (one->operation == FLUSH || one->operation == BARRIER)
            continue;
        TRY(value_work(stream, waits ? SIM_WORK_WAIT_VALUE : SIM_WORK_WRITE_VALUE, one->memory.address,
                       wide ? one->memory.value : (uint32_t)one->memory.value, one->memory.flags, wide ? 8 : 4));
    }
    return WS_CUDA_SUCCESS;
}

API_TWIN(cuStreamBatchMemOp, _ptsz,
         (ws_CUstream stream, unsigned count, union batch_operation *operations, unsigned flags),
         (stream, count, operations, flags))
{
    (void)stream, (void)count, (void)operations, (void)flags;
    return WS_CUDA_ERROR_NOT_SUPPORTED;
}

/* Attributes of a stream have no effect: the call accepts any attribute and keeps none. */
API_TWIN(cuStreamSetAttribute, _ptsz, (ws_CUstream handle, ws_CUenum attribute, const void *value),
         (handle, attribute, value))
{
    struct sim_stream *stream;
    NEED(value && attribute > 0);
    return sim_stream_get(handle, &stream);
}

API_TWIN(cuStreamCopyAttributes, _ptsz, (ws_CUstream to, ws_CUstream from), (to, from))
{
    struct sim_stream *stream;
    TRY(sim_stream_get(to, &stream));
    return sim_stream_get(from, &stream);
}
