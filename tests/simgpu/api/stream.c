#include "api/api.h"

static ws_CUresult create(ws_CUstream *made, unsigned flags, int priority)
{
    NEED(made && flags <= 1);
    struct sim_context *context;
    TRY(sim_current(&context));
    priority = priority < -5 ? -5 : priority > 0 ? 0 : priority;
    pthread_mutex_lock(&sim_lock);
    struct sim_stream *stream;
    ws_CUresult result = sim_stream_create(context, flags, priority, &stream);
    pthread_mutex_unlock(&sim_lock);
    if (stream)
        *made = (ws_CUstream)stream;
    return result;
}

API(cuStreamCreate, (ws_CUstream * made, unsigned flags), (made, flags))
{
    return create(made, flags, 0);
}

API(cuStreamCreateWithPriority, (ws_CUstream * made, unsigned flags, int priority), (made, flags, priority))
{
    return create(made, flags, priority);
}

/* Work already queued in the stream still runs to its end, but the handle becomes invalid at once. */
API(cuStreamDestroy_v2, (ws_CUstream handle), (handle))
{
    struct sim_stream *stream;
    if ((uintptr_t)handle <= 2)
        return WS_CUDA_ERROR_INVALID_HANDLE;
    TRY(sim_stream_get(handle, &stream));
    pthread_mutex_lock(&sim_lock);
    ws_CUresult result = sim_alive(stream);
    if (result == WS_CUDA_SUCCESS) {
        sim_capture_abandon(stream);
        stream->destroyed = true;
        if (!stream->count)
            sim_stream_forget(stream);
    }
    pthread_mutex_unlock(&sim_lock);
    return result;
}

API_SAME(cuStreamDestroy, cuStreamDestroy_v2, (ws_CUstream handle), (handle))

API_TWIN(cuStreamSynchronize, _ptsz, (ws_CUstream handle), (handle))
{
    struct sim_stream *stream;
    TRY(sim_stream_get(handle, &stream));
    TRY(sim_capture_forbids_stream(stream));
    ws_CUresult result = sim_stream_wait(stream);
    if (sim_config.truth_sync)
        sim_truth_flush();
    return result;
}

API_TWIN(cuStreamQuery, _ptsz, (ws_CUstream handle), (handle))
{
    struct sim_stream *stream;
    TRY(sim_stream_get(handle, &stream));
    TRY(sim_capture_forbids_stream(stream));
    sim_values_look();
    if (!sim_stream_idle(stream, sim_now()))
        return WS_CUDA_ERROR_NOT_READY;
    sim_drain();
    return stream->context->sticky;
}

API_TWIN(cuStreamGetFlags, _ptsz, (ws_CUstream handle, unsigned *flags), (handle, flags))
{
    struct sim_stream *stream;
    NEED(flags);
    TRY(sim_stream_get(handle, &stream));
    sim_capture_minds(stream);
    *flags = stream->flags;
    return WS_CUDA_SUCCESS;
}

API_TWIN(cuStreamGetPriority, _ptsz, (ws_CUstream handle, int *priority), (handle, priority))
{
    struct sim_stream *stream;
    NEED(priority);
    TRY(sim_stream_get(handle, &stream));
    sim_capture_minds(stream);
    *priority = stream->priority;
    return WS_CUDA_SUCCESS;
}

API_TWIN(cuStreamGetId, _ptsz, (ws_CUstream handle, unsigned long long *id), (handle, id))
{
    struct sim_stream *stream;
    NEED(id);
    TRY(sim_stream_get(handle, &stream));
    *id = stream->id;
    return WS_CUDA_SUCCESS;
}

API_TWIN(cuStreamGetCtx, _ptsz, (ws_CUstream handle, struct sim_context **context), (handle, context))
{
    struct sim_stream *stream;
    NEED(context);
    TRY(sim_stream_get(handle, &stream));
    sim_capture_minds(stream);
    *context = stream->context;
    return WS_CUDA_SUCCESS;
}

API_TWIN(cuStreamGetCtx_v2, _ptsz, (ws_CUstream handle, struct sim_context **context, void **green),
         (handle, context, green))
{
    struct sim_stream *stream;
    NEED(context && green);
    TRY(sim_stream_get(handle, &stream));
    sim_capture_minds(stream);
    *context = sim_whole(stream->context);
    *green = stream->context->green;
    return WS_CUDA_SUCCESS;
}

API(cuStreamGetGreenCtx, (ws_CUstream handle, void **green), (handle, green))
{
    struct sim_stream *stream;
    NEED(green);
    TRY(sim_stream_get(handle, &stream));
    *green = stream->context->green;
    return WS_CUDA_SUCCESS;
}

API_TWIN(cuStreamGetDevice, _ptsz, (ws_CUstream handle, ws_CUdevice *device), (handle, device))
{
    struct sim_stream *stream;
    NEED(device);
    TRY(sim_stream_get(handle, &stream));
    *device = stream->context->device->ordinal;
    return WS_CUDA_SUCCESS;
}

API_TWIN(cuStreamAttachMemAsync, _ptsz, (ws_CUstream handle, ws_CUdeviceptr pointer, size_t length, unsigned flags),
         (handle, pointer, length, flags))
{
    struct sim_stream *stream;
    struct sim_range range;
    NEED(length == 0 || flags);
    TRY(sim_stream_get(handle, &stream));
    NEED(sim_memory_find(pointer, &range) && range.kind == SIM_MEMORY_MANAGED);
    return WS_CUDA_SUCCESS;
}

API_TWIN(cuStreamWaitEvent, _ptsz, (ws_CUstream handle, struct sim_event *event, unsigned flags),
         (handle, event, flags))
{
    struct sim_stream *stream;
    NEED(flags <= 1);
    TRY(sim_stream_get(handle, &stream));
    TRY(event_check(event));
    struct sim_work work = { .kind = SIM_WORK_WAIT, .unit = SIM_ENGINE_NONE, .event.event = event };
    bool captured;
    ws_CUresult result = sim_capture_wait(stream, event, flags, &captured);
    if (captured || result != WS_CUDA_SUCCESS)
        return result;
    return sim_submit(stream, &work, 0, NULL);
}

enum { MOST_WAITING = 256 };

/* Only streams that exist at the time of the call wait for the event. */
API(cuCtxWaitEvent, (struct sim_context * context, struct sim_event *event), (context, event))
{
    struct sim_stream *streams[MOST_WAITING];
    unsigned count = 0;
    if (!context)
        context = sim_current_or_null();
    TRY(sim_context_check(context));
    TRY(event_check(event));
    TRY(sim_capture_forbids(context));
    pthread_mutex_lock(&sim_lock);
    for (struct sim_stream *stream = context->streams; stream && count < MOST_WAITING;
         stream = stream->next_in_context)
        streams[count++] = stream;
    pthread_mutex_unlock(&sim_lock);
    for (unsigned i = 0; i < count; i++) {
        struct sim_work work = { .kind = SIM_WORK_WAIT, .unit = SIM_ENGINE_NONE, .event.event = event };
        TRY(sim_submit(streams[i], &work, 0, NULL));
    }
    return WS_CUDA_SUCCESS;
}

static ws_CUresult host_work(ws_CUstream handle, struct sim_work *work)
{
    struct sim_stream *stream;
    TRY(sim_stream_get(handle, &stream));
    work->kind = SIM_WORK_HOST;
    work->unit = SIM_ENGINE_NONE;
    work->host.stream = handle;
    return sim_submit(stream, work, sim_config.launch_ns, NULL);
}

API_TWIN(cuLaunchHostFunc, _ptsz, (ws_CUstream handle, ws_CUhostFn function, void *argument),
         (handle, function, argument))
{
    NEED(function);
    struct sim_work work = { .host = { .function = function, .argument = argument } };
    return host_work(handle, &work);
}

API_TWIN(cuStreamAddCallback, _ptsz,
         (ws_CUstream handle, ws_CUstreamCallback callback, void *argument, unsigned flags),
         (handle, callback, argument, flags))
{
    struct sim_stream *stream;
    NEED(callback && !flags);
    TRY(sim_stream_get(handle, &stream));
    TRY(sim_capture_forbids_stream(stream));
    struct sim_work work = { .host = { .callback = callback, .argument = argument } };
    return host_work(handle, &work);
}
