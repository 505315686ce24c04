/* Stream capture: calls on a capturing stream become nodes of a graph; calls that a capture forbids fail. */
#include "engine/graph.h"

#include <stdlib.h>
#include <string.h>

__thread ws_CUenum sim_capture_mode __attribute__((tls_model("initial-exec"))) = WS_CU_STREAM_CAPTURE_MODE_GLOBAL;

/* list of all captures; ended captures stay in the list, because an event may still point to one of them */
static struct sim_capture *captures;
static atomic_uint active_count;
static uint64_t capture_ids;

static bool none_active(void)
{
    return atomic_load_explicit(&active_count, memory_order_relaxed) == 0;
}

static void set_tips(struct sim_node ***tips, unsigned *count, struct sim_node **nodes, size_t wanted)
{
    struct sim_node **fresh = wanted ? malloc(wanted * sizeof(struct sim_node *)) : NULL;
    if (fresh)
        memcpy(fresh, nodes, wanted * sizeof(struct sim_node *));
    free(*tips);
    *tips = fresh;
    *count = fresh ? (unsigned)wanted : 0;
}

void sim_capture_tips(struct sim_stream *stream, struct sim_node **nodes, size_t count, bool add)
{
    if (!add) {
        set_tips(&stream->capture_tips, &stream->capture_tip_count, nodes, count);
        return;
    }
    struct sim_node **larger =
        realloc(stream->capture_tips, (stream->capture_tip_count + count + 1) * sizeof(struct sim_node *));
    if (!larger)
        return;
    stream->capture_tips = larger;
    for (size_t i = 0; i < count; i++) {
        bool there = false;
        for (unsigned j = 0; j < stream->capture_tip_count; j++)
            there |= larger[j] == nodes[i];
        if (!there)
            larger[stream->capture_tip_count++] = nodes[i];
    }
}

/* Returns a capture of one of the context's blocking streams, or NULL. During such a capture, work in the legacy
 * stream is an error, since that work would have to wait for the capturing stream. */
static struct sim_capture *blocking_capture(const struct sim_context *context)
{
    for (struct sim_stream *stream = context->streams; stream; stream = stream->next_in_context)
        if (stream->capture && !(stream->flags & WS_CU_STREAM_NON_BLOCKING))
            return stream->capture;
    return NULL;
}

static ws_CUresult implicit(const struct sim_stream *stream)
{
    struct sim_capture *capture = stream == stream->context->legacy ? blocking_capture(stream->context) : NULL;
    if (!capture)
        return WS_CUDA_SUCCESS;
    capture->invalidated = true;
    return WS_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

/* Returns the error that work in the legacy stream would get now. Unlike such work, this check does not invalidate
 * the capture. */
ws_CUresult sim_capture_implicit(const struct sim_stream *stream)
{
    if (none_active() || stream != stream->context->legacy)
        return WS_CUDA_SUCCESS;
    pthread_mutex_lock(&sim_lock);
    bool unusable = blocking_capture(stream->context) != NULL;
    pthread_mutex_unlock(&sim_lock);
    return unusable ? WS_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : WS_CUDA_SUCCESS;
}

/* Returns the error for a call that waits for a whole context, if a capture forbids it. */
ws_CUresult sim_capture_forbids(struct sim_context *context)
{
    if (none_active())
        return WS_CUDA_SUCCESS;
    ws_CUresult result = WS_CUDA_SUCCESS;
    pthread_mutex_lock(&sim_lock);
    for (struct sim_capture *capture = captures; capture; capture = capture->next)
        if (capture->active && capture->context == context) {
            capture->invalidated = true;
            result = WS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    pthread_mutex_unlock(&sim_lock);
    return result;
}

/* For synchronous copies and memsets, and for other calls that wait for the stream: returns an error if the stream
 * captures. */
ws_CUresult sim_capture_forbids_sync(struct sim_stream *stream)
{
    if (none_active())
        return WS_CUDA_SUCCESS;
    pthread_mutex_lock(&sim_lock);
    ws_CUresult result = implicit(stream);
    if (stream->capture) {
        stream->capture->invalidated = true;
        result = WS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    pthread_mutex_unlock(&sim_lock);
    return result != WS_CUDA_SUCCESS ? result : sim_capture_unsafe();
}

ws_CUresult sim_capture_forbids_stream(struct sim_stream *stream)
{
    return sim_capture_forbids_sync(stream);
}

ws_CUresult sim_capture_forbids_event(struct sim_event *event)
{
    pthread_mutex_lock(&sim_lock);
    bool captured = event->capture != NULL;
    if (captured)
        event->capture->invalidated = true;
    pthread_mutex_unlock(&sim_lock);
    return captured ? WS_CUDA_ERROR_CAPTURED_EVENT : sim_capture_unsafe();
}

/* Returns the error for a call that is unsafe while any stream captures. Whether the call fails depends on the modes
 * of the captures and of the calling thread. */
ws_CUresult sim_capture_unsafe(void)
{
    if (none_active() || sim_capture_mode == WS_CU_STREAM_CAPTURE_MODE_RELAXED)
        return WS_CUDA_SUCCESS;
    ws_CUresult result = WS_CUDA_SUCCESS;
    pthread_mutex_lock(&sim_lock);
    for (struct sim_capture *capture = captures; capture; capture = capture->next) {
        bool mine = capture->tid == sim_thread_id();
        bool minds = mine ? capture->mode != WS_CU_STREAM_CAPTURE_MODE_RELAXED
                          : capture->mode == WS_CU_STREAM_CAPTURE_MODE_GLOBAL &&
                                sim_capture_mode == WS_CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (capture->active && minds) {
            capture->invalidated = true;
            result = WS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    pthread_mutex_unlock(&sim_lock);
    return result;
}

/* With SIMGPU_CAPTURE_STRICT, a query of a capturing stream invalidates its capture. */
void sim_capture_minds(struct sim_stream *stream)
{
    if (!sim_config.capture_strict)
        return;
    pthread_mutex_lock(&sim_lock);
    if (stream->capture)
        stream->capture->invalidated = true;
    pthread_mutex_unlock(&sim_lock);
}

static ws_CUenum node_type(enum sim_kind kind)
{
    switch (kind) {
    case SIM_WORK_KERNEL:
        return WS_CU_GRAPH_NODE_TYPE_KERNEL;
    case SIM_WORK_COPY:
        return WS_CU_GRAPH_NODE_TYPE_MEMCPY;
    case SIM_WORK_MEMSET:
        return WS_CU_GRAPH_NODE_TYPE_MEMSET;
    case SIM_WORK_HOST:
        return WS_CU_GRAPH_NODE_TYPE_HOST;
    case SIM_WORK_EVENT:
        return WS_CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    case SIM_WORK_WAIT:
        return WS_CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    case SIM_WORK_ALLOC:
        return WS_CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    case SIM_WORK_FREE:
        return WS_CU_GRAPH_NODE_TYPE_MEM_FREE;
    case SIM_WORK_WAIT_VALUE:
    case SIM_WORK_WRITE_VALUE:
        return WS_CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    default:
        return WS_CU_GRAPH_NODE_TYPE_EMPTY;
    }
}

/* With sim_lock held: returns the error if the stream does not accept work now. Sets *captured to true if the work
 * becomes part of a graph or is refused; then the caller must not queue the work. */
static ws_CUresult entry(struct sim_stream *stream, bool *captured)
{
    ws_CUresult result = implicit(stream);
    *captured = stream->capture || result != WS_CUDA_SUCCESS;
    if (result == WS_CUDA_SUCCESS && stream->capture && stream->capture->invalidated)
        result = WS_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    return result;
}

static ws_CUresult add_node(struct sim_stream *stream, const struct sim_work *work)
{
    struct sim_node *node = sim_node_add(stream->capture->graph, node_type(work->kind), work, stream->context);
    if (!node)
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned i = 0; i < stream->capture_tip_count; i++)
        sim_node_depend(node, stream->capture_tips[i]);
    set_tips(&stream->capture_tips, &stream->capture_tip_count, &node, 1);
    return WS_CUDA_SUCCESS;
}

ws_CUresult sim_capture_work(struct sim_stream *stream, const struct sim_work *work, bool *captured)
{
    *captured = false;
    if (none_active())
        return WS_CUDA_SUCCESS;
    pthread_mutex_lock(&sim_lock);
    ws_CUresult result = entry(stream, captured);
    if (result == WS_CUDA_SUCCESS && *captured)
        result = add_node(stream, work);
    pthread_mutex_unlock(&sim_lock);
    return result;
}

ws_CUresult sim_capture_record(struct sim_stream *stream, struct sim_event *event, unsigned flags, bool *captured)
{
    *captured = false;
    if (none_active())
        return WS_CUDA_SUCCESS;
    struct sim_work work = { .kind = SIM_WORK_EVENT, .unit = SIM_ENGINE_NONE, .event.event = event };
    pthread_mutex_lock(&sim_lock);
    ws_CUresult result = entry(stream, captured);
    if (result == WS_CUDA_SUCCESS && *captured) {
        if (flags & WS_CU_EVENT_RECORD_EXTERNAL) {
            result = add_node(stream, &work);
        } else {
            event->capture = stream->capture;
            event->recorded = false;
            event->generation++;
            set_tips(&event->capture_tips, &event->capture_tip_count, stream->capture_tips,
                     stream->capture_tip_count);
        }
    }
    pthread_mutex_unlock(&sim_lock);
    return result;
}

static ws_CUresult wait_captured(struct sim_stream *stream, struct sim_event *event)
{
    struct sim_capture *capture = event->capture;
    if (!capture->active)
        return WS_CUDA_ERROR_CAPTURED_EVENT;
    if (capture->invalidated)
        return WS_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream == stream->context->legacy) {
        capture->invalidated = true;
        return WS_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if (stream->capture && stream->capture != capture) {
        capture->invalidated = stream->capture->invalidated = true;
        return WS_CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (!stream->capture) {
        stream->capture = capture;
        sim_capture_tips(stream, NULL, 0, false);
    }
    sim_capture_tips(stream, event->capture_tips, event->capture_tip_count, true);
    return WS_CUDA_SUCCESS;
}

ws_CUresult sim_capture_wait(struct sim_stream *stream, struct sim_event *event, unsigned flags, bool *captured)
{
    *captured = false;
    if (none_active() && !event->capture)
        return WS_CUDA_SUCCESS;
    struct sim_work work = { .kind = SIM_WORK_WAIT, .unit = SIM_ENGINE_NONE, .event.event = event };
    pthread_mutex_lock(&sim_lock);
    ws_CUresult result = entry(stream, captured);
    if (result == WS_CUDA_SUCCESS) {
        if (event->capture) {
            *captured = true;
            result = wait_captured(stream, event);
        } else if (*captured && flags & WS_CU_EVENT_WAIT_EXTERNAL) {
            result = add_node(stream, &work);
        } else if (*captured && event->recorded) {
            stream->capture->invalidated = true;
            result = WS_CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
        }
    }
    pthread_mutex_unlock(&sim_lock);
    return result;
}

ws_CUresult sim_capture_begin(struct sim_stream *stream, ws_CUenum mode, struct sim_graph *graph,
                              struct sim_node **dependencies, size_t count)
{
    pthread_mutex_lock(&sim_lock);
    ws_CUresult result = sim_alive(stream);
    if (result != WS_CUDA_SUCCESS) {
        pthread_mutex_unlock(&sim_lock);
        return result;
    }
    if (stream == stream->context->legacy)
        result = WS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    else if (stream->capture)
        result = WS_CUDA_ERROR_ILLEGAL_STATE;
    struct sim_capture *capture = result == WS_CUDA_SUCCESS ? calloc(1, sizeof(*capture)) : NULL;
    if (capture) {
        capture->into_given_graph = graph != NULL;
        capture->graph = graph ? graph : sim_graph_create();
        capture->context = stream->context;
        capture->origin = stream;
        capture->mode = mode;
        capture->tid = sim_thread_id();
        capture->id = ++capture_ids;
        capture->active = true;
        capture->next = captures;
        captures = capture;
        capture->graph->capturing = true;
        stream->capture = capture;
        sim_capture_tips(stream, dependencies, count, false);
        atomic_fetch_add(&active_count, 1);
    }
    pthread_mutex_unlock(&sim_lock);
    return result == WS_CUDA_SUCCESS && !capture ? WS_CUDA_ERROR_OUT_OF_MEMORY : result;
}

/* Whether all forked streams have joined: the last nodes of the origin stream must depend, directly or indirectly, on
 * the last nodes of each forked stream. Nodes are in the order of their creation, so a node's dependencies come
 * before it. */
static bool joined(const struct sim_capture *capture)
{
    struct sim_graph *graph = capture->graph;
    for (unsigned i = 0; i < graph->count; i++)
        graph->nodes[i]->marked = false;
    for (unsigned i = 0; i < capture->origin->capture_tip_count; i++)
        capture->origin->capture_tips[i]->marked = true;
    for (unsigned i = graph->count; i-- > 0;)
        for (unsigned j = 0; graph->nodes[i]->marked && j < graph->nodes[i]->dependency_count; j++)
            graph->nodes[i]->dependencies[j]->marked = true;
    for (struct sim_stream *stream = capture->context->streams; stream; stream = stream->next_in_context)
        for (unsigned i = 0; stream->capture == capture && i < stream->capture_tip_count; i++)
            if (!stream->capture_tips[i]->marked)
                return false;
    return true;
}

static void leave(struct sim_capture *capture)
{
    for (struct sim_context *context = sim_contexts; context; context = context->next)
        for (struct sim_stream *stream = context->streams; stream; stream = stream->next_in_context)
            if (stream->capture == capture) {
                stream->capture = NULL;
                sim_capture_tips(stream, NULL, 0, false);
            }
    capture->graph->capturing = false;
    capture->active = false;
    atomic_fetch_sub(&active_count, 1);
}

static void end_locked(struct sim_capture *capture, bool keep)
{
    leave(capture);
    if (!keep && !capture->into_given_graph)
        sim_graph_destroy(capture->graph);
    capture->graph = NULL;
}

ws_CUresult sim_capture_end(struct sim_stream *stream, struct sim_graph **graph)
{
    ws_CUresult result = WS_CUDA_SUCCESS;
    *graph = NULL;
    pthread_mutex_lock(&sim_lock);
    struct sim_capture *capture = stream->capture;
    if (!capture) {
        result = WS_CUDA_ERROR_ILLEGAL_STATE;
    } else if (capture->origin != stream) {
        capture->invalidated = true;
        result = WS_CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    } else if (capture->mode != WS_CU_STREAM_CAPTURE_MODE_RELAXED && capture->tid != sim_thread_id()) {
        result = WS_CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    } else {
        if (capture->invalidated)
            result = WS_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        else if (!joined(capture))
            result = WS_CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
        if (result == WS_CUDA_SUCCESS)
            *graph = capture->graph;
        end_locked(capture, result == WS_CUDA_SUCCESS);
    }
    pthread_mutex_unlock(&sim_lock);
    return result;
}

/* Called when the stream is destroyed: ends its part in a capture. With sim_lock held. */
void sim_capture_abandon(struct sim_stream *stream)
{
    struct sim_capture *capture = stream->capture;
    if (!capture)
        return;
    if (capture->origin == stream)
        end_locked(capture, false);
    else
        capture->invalidated = true;
    stream->capture = NULL;
    sim_capture_tips(stream, NULL, 0, false);
}
