#include "engine/engine.h"

ws_CUresult sim_capture_forbids(struct sim_context *context)
{
    return context->captures ? WS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : WS_CUDA_SUCCESS;
}

ws_CUresult sim_capture_forbids_sync(struct sim_stream *stream)
{
    return sim_capture_forbids(stream->context);
}

ws_CUresult sim_capture_forbids_stream(struct sim_stream *stream)
{
    return stream->capture ? WS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : WS_CUDA_SUCCESS;
}

ws_CUresult sim_capture_forbids_event(struct sim_event *event)
{
    return event->capture ? WS_CUDA_ERROR_CAPTURED_EVENT : WS_CUDA_SUCCESS;
}

ws_CUresult sim_capture_unsafe(void)
{
    return WS_CUDA_SUCCESS;
}

ws_CUresult sim_capture_wait(struct sim_stream *stream, struct sim_event *event, unsigned flags, bool *captured)
{
    (void)event, (void)flags;
    *captured = stream->capture != NULL;
    return WS_CUDA_SUCCESS;
}

ws_CUresult sim_capture_record(struct sim_stream *stream, struct sim_event *event, unsigned flags, bool *captured)
{
    return sim_capture_wait(stream, event, flags, captured);
}

ws_CUresult sim_capture_work(struct sim_stream *stream, const struct sim_work *work, bool *captured)
{
    (void)work;
    *captured = stream->capture != NULL;
    return WS_CUDA_SUCCESS;
}

void sim_capture_abandon(struct sim_stream *stream)
{
    stream->capture = NULL;
}
