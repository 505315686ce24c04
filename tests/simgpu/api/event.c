#include "api/api.h"

API(cuEventCreate, (struct sim_event * *made, unsigned flags), (made, flags))
{
    struct sim_context *context;
    NEED(made && flags <= 7);
    NEED(!(flags & WS_CU_EVENT_INTERPROCESS) || flags & WS_CU_EVENT_DISABLE_TIMING);
    TRY(sim_current(&context));
    int64_t began = sim_now();
    pthread_mutex_lock(&sim_lock);
    ws_CUresult result = sim_event_create(context, flags, made);
    pthread_mutex_unlock(&sim_lock);
    sim_spin_until(began + sim_config.event_create_ns);
    return result;
}

API(cuEventDestroy_v2, (struct sim_event * event), (event))
{
    TRY(event_check(event));
    pthread_mutex_lock(&sim_lock);
    bool there = event->magic == SIM_EVENT;
    if (there)
        sim_event_forget(event);
    pthread_mutex_unlock(&sim_lock);
    return there ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_HANDLE;
}

API_SAME(cuEventDestroy, cuEventDestroy_v2, (struct sim_event * event), (event))

API_TWIN(cuEventRecordWithFlags, _ptsz, (struct sim_event * event, ws_CUstream handle, unsigned flags),
         (event, handle, flags))
{
    struct sim_stream *stream;
    NEED(flags <= 1);
    TRY(event_check(event));
    TRY(sim_stream_get(handle, &stream));
    if (sim_whole(event->context) != sim_whole(stream->context))
        return WS_CUDA_ERROR_INVALID_HANDLE;
    struct sim_work work = { .kind = SIM_WORK_EVENT, .unit = SIM_ENGINE_NONE, .event.event = event };
    bool captured;
    ws_CUresult result = sim_capture_record(stream, event, flags, &captured);
    if (captured || result != WS_CUDA_SUCCESS)
        return result;
    int64_t cost = event->flags & WS_CU_EVENT_DISABLE_TIMING ? sim_config.event_plain_ns : sim_config.event_record_ns;
    return sim_submit(stream, &work, cost, NULL);
}

API_TWIN(cuEventRecord, _ptsz, (struct sim_event * event, ws_CUstream handle), (event, handle))
{
    return body_cuEventRecordWithFlags(event, handle, 0);
}

API(cuEventQuery, (struct sim_event * event), (event))
{
    TRY(event_check(event));
    TRY(sim_context_check(event->context));
    TRY(sim_capture_forbids_event(event));
    sim_values_look();
    int64_t now = sim_now();
    pthread_mutex_lock(&sim_lock);
    struct sim_stream *stream = event->stream;
    bool pending = event->recorded && !(event->timed && event->end <= now);
    bool behind = event->recorded && !pending && stream->done < event->number;
    pthread_mutex_unlock(&sim_lock);
    if (behind)
        sim_drain();
    if (sim_config.event_query_ns)
        sim_spin_until(now + sim_config.event_query_ns);
    return pending ? WS_CUDA_ERROR_NOT_READY : event->context->sticky;
}

API(cuEventSynchronize, (struct sim_event * event), (event))
{
    TRY(event_check(event));
    TRY(sim_context_check(event->context));
    TRY(sim_capture_forbids_event(event));
    pthread_mutex_lock(&sim_lock);
    struct sim_stream *stream = event->recorded ? event->stream : NULL;
    uint64_t number = event->number;
    pthread_mutex_unlock(&sim_lock);
    return stream ? sim_finish_through(stream, number) : WS_CUDA_SUCCESS;
}

API(cuEventElapsedTime, (float *milliseconds, struct sim_event *begin, struct sim_event *end),
    (milliseconds, begin, end))
{
    NEED(milliseconds);
    TRY(event_check(begin));
    TRY(event_check(end));
    TRY(sim_context_check(begin->context));
    ws_CUresult result = WS_CUDA_SUCCESS;
    sim_values_look();
    int64_t now = sim_now();
    pthread_mutex_lock(&sim_lock);
    if (sim_whole(begin->context) != sim_whole(end->context) ||
        (begin->flags | end->flags) & WS_CU_EVENT_DISABLE_TIMING || !begin->recorded || !end->recorded ||
        begin->capture || end->capture)
        result = WS_CUDA_ERROR_INVALID_HANDLE;
    else if (!begin->timed || begin->end > now || !end->timed || end->end > now)
        result = WS_CUDA_ERROR_NOT_READY;
    else
        *milliseconds = (float)((double)(end->device_time - begin->device_time) / 1e6);
    pthread_mutex_unlock(&sim_lock);
    return result;
}

API_SAME(cuEventElapsedTime_v2, cuEventElapsedTime,
         (float *milliseconds, struct sim_event *begin, struct sim_event *end), (milliseconds, begin, end))
