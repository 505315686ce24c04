#include "api/graph.h"

#include <string.h>

/* The documentation does not say whether a capture allows these calls. Some of them load code, as a launch would; the
 * others create or query objects. */
ws_CUresult sim_capture_doubts(const char *name)
{
    static const char *const doubtful[] = {
        "cuCtxGetFlags",        "cuCtxGetDevice",      "cuEventCreate",       "cuFuncGetAttribute",
        "cuFuncGetName",        "cuFuncGetParamInfo",  "cuKernelGetName",     "cuKernelGetFunction",
        "cuKernelGetParamInfo", "cuStreamCreate",      "cuStreamGetCtx",      "cuStreamGetCtx_v2",
        "cuStreamGetFlags",     "cuStreamGetGreenCtx", "cuStreamGetPriority", "cuGraphGetNodes",
    };
    for (unsigned i = 0; i < sizeof(doubtful) / sizeof(doubtful[0]); i++)
        if (!strcmp(name, doubtful[i]))
            return sim_capture_unsafe();
    return WS_CUDA_SUCCESS;
}

static ws_CUresult begin(ws_CUstream handle, ws_CUenum mode, struct sim_graph *graph, struct sim_node **dependencies,
                         size_t count)
{
    struct sim_stream *stream;
    NEED(mode >= WS_CU_STREAM_CAPTURE_MODE_GLOBAL && mode <= WS_CU_STREAM_CAPTURE_MODE_RELAXED);
    TRY(sim_stream_get(handle, &stream));
    return sim_capture_begin(stream, mode, graph, dependencies, count);
}

API_TWIN(cuStreamBeginCapture_v2, _ptsz, (ws_CUstream handle, ws_CUenum mode), (handle, mode))
{
    return begin(handle, mode, NULL, NULL, 0);
}

API_TWIN(cuStreamBeginCapture, _ptsz, (ws_CUstream handle), (handle))
{
    return begin(handle, WS_CU_STREAM_CAPTURE_MODE_GLOBAL, NULL, NULL, 0);
}

API_TWIN(cuStreamBeginCaptureToGraph, _ptsz,
         (ws_CUstream handle, struct sim_graph *graph, struct sim_node **dependencies,
          const ws_CUgraphEdgeData *edges, size_t count, ws_CUenum mode),
         (handle, graph, dependencies, edges, count, mode))
{
    (void)edges;
    TRY(graph_check(graph));
    NEED(dependencies || !count);
    return begin(handle, mode, graph, dependencies, count);
}

API_TWIN(cuStreamEndCapture, _ptsz, (ws_CUstream handle, struct sim_graph **graph), (handle, graph))
{
    struct sim_stream *stream;
    NEED(graph);
    TRY(sim_stream_get(handle, &stream));
    return sim_capture_end(stream, graph);
}

static ws_CUenum status_of(const struct sim_capture *capture)
{
    return !capture               ? WS_CU_STREAM_CAPTURE_STATUS_NONE
           : capture->invalidated ? WS_CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                  : WS_CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

API_TWIN(cuStreamIsCapturing, _ptsz, (ws_CUstream handle, ws_CUenum *status), (handle, status))
{
    struct sim_stream *stream;
    NEED(status);
    TRY(sim_stream_get(handle, &stream));
    TRY(sim_capture_implicit(stream));
    *status = status_of(stream->capture);
    return WS_CUDA_SUCCESS;
}

API_TWIN(cuStreamGetCaptureInfo_v2, _ptsz,
         (ws_CUstream handle, ws_CUenum *status, uint64_t *id, struct sim_graph **graph, struct sim_node ***nodes,
          size_t *count),
         (handle, status, id, graph, nodes, count))
{
    struct sim_stream *stream;
    NEED(status);
    TRY(sim_stream_get(handle, &stream));
    TRY(sim_capture_implicit(stream));
    const struct sim_capture *capture = stream->capture;
    *status = status_of(capture);
    if (*status != WS_CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return WS_CUDA_SUCCESS;
    if (id)
        *id = capture->id;
    if (graph)
        *graph = capture->graph;
    if (nodes)
        *nodes = stream->capture_tips;
    if (count)
        *count = stream->capture_tip_count;
    return WS_CUDA_SUCCESS;
}

API_TWIN(cuStreamGetCaptureInfo_v3, _ptsz,
         (ws_CUstream handle, ws_CUenum *status, uint64_t *id, struct sim_graph **graph, struct sim_node ***nodes,
          const ws_CUgraphEdgeData **edges, size_t *count),
         (handle, status, id, graph, nodes, edges, count))
{
    if (edges)
        *edges = NULL;
    return body_cuStreamGetCaptureInfo_v2(handle, status, id, graph, nodes, count);
}

API_TWIN(cuStreamGetCaptureInfo, _ptsz, (ws_CUstream handle, ws_CUenum *status, uint64_t *id), (handle, status, id))
{
    return body_cuStreamGetCaptureInfo_v2(handle, status, id, NULL, NULL, NULL);
}

API_TWIN(cuStreamUpdateCaptureDependencies, _ptsz,
         (ws_CUstream handle, struct sim_node **nodes, size_t count, unsigned flags), (handle, nodes, count, flags))
{
    struct sim_stream *stream;
    NEED(flags <= 1 && (nodes || !count));
    TRY(sim_stream_get(handle, &stream));
    if (!stream->capture)
        return WS_CUDA_ERROR_ILLEGAL_STATE;
    pthread_mutex_lock(&sim_lock);
    sim_capture_tips(stream, nodes, count, flags == 0);
    pthread_mutex_unlock(&sim_lock);
    return WS_CUDA_SUCCESS;
}

API_TWIN(cuStreamUpdateCaptureDependencies_v2, _ptsz,
         (ws_CUstream handle, struct sim_node **nodes, const ws_CUgraphEdgeData *edges, size_t count, unsigned flags),
         (handle, nodes, edges, count, flags))
{
    (void)edges;
    return body_cuStreamUpdateCaptureDependencies(handle, nodes, count, flags);
}

API(cuThreadExchangeStreamCaptureMode, (ws_CUenum * mode), (mode))
{
    NEED(mode && *mode >= WS_CU_STREAM_CAPTURE_MODE_GLOBAL && *mode <= WS_CU_STREAM_CAPTURE_MODE_RELAXED);
    ws_CUenum before = sim_capture_mode;
    sim_capture_mode = *mode;
    *mode = before;
    return WS_CUDA_SUCCESS;
}
