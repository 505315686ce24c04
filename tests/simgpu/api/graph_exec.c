/* Executable graphs: instantiating, updating and launching them. */
#include "api/graph.h"

static ws_CUresult instantiate(struct sim_exec **exec, struct sim_graph *graph, uint64_t flags)
{
    struct sim_context *context;
    NEED(exec);
    TRY(graph_check(graph));
    TRY(sim_current(&context));
    pthread_mutex_lock(&sim_lock);
    ws_CUresult result = sim_exec_create(exec, graph, context);
    if (result == WS_CUDA_SUCCESS)
        (*exec)->flags = flags;
    pthread_mutex_unlock(&sim_lock);
    return result;
}

API(cuGraphInstantiate_v2,
    (struct sim_exec * *exec, struct sim_graph *graph, struct sim_node **error_node, char *log, size_t log_bytes),
    (exec, graph, error_node, log, log_bytes))
{
    if (error_node)
        *error_node = NULL;
    if (log && log_bytes)
        *log = '\0';
    return instantiate(exec, graph, 0);
}

API_SAME(cuGraphInstantiate, cuGraphInstantiate_v2,
         (struct sim_exec * *exec, struct sim_graph *graph, struct sim_node **error_node, char *log,
          size_t log_bytes),
         (exec, graph, error_node, log, log_bytes))

API(cuGraphInstantiateWithFlags, (struct sim_exec * *exec, struct sim_graph *graph, unsigned long long flags),
    (exec, graph, flags))
{
    return instantiate(exec, graph, flags);
}

API_TWIN(cuGraphInstantiateWithParams, _ptsz,
         (struct sim_exec * *exec, struct sim_graph *graph, ws_CUDA_GRAPH_INSTANTIATE_PARAMS *parameters),
         (exec, graph, parameters))
{
    NEED(parameters);
    ws_CUresult result = instantiate(exec, graph, parameters->flags);
    parameters->hErrNode_out = NULL;
    parameters->result_out = result == WS_CUDA_SUCCESS ? 0 : 1;
    return result;
}

API(cuGraphExecDestroy, (struct sim_exec * exec), (exec))
{
    TRY(exec_check(exec));
    pthread_mutex_lock(&sim_lock);
    sim_exec_destroy(exec);
    pthread_mutex_unlock(&sim_lock);
    return WS_CUDA_SUCCESS;
}

API(cuGraphExecGetFlags, (struct sim_exec * exec, uint64_t *flags), (exec, flags))
{
    NEED(flags);
    TRY(exec_check(exec));
    *flags = exec->flags;
    return WS_CUDA_SUCCESS;
}

API_TWIN(cuGraphUpload, _ptsz, (struct sim_exec * exec, ws_CUstream handle), (exec, handle))
{
    struct sim_stream *stream;
    TRY(exec_check(exec));
    return sim_stream_get(handle, &stream);
}

/* A launch of an executable graph on a capturing stream becomes a child graph with the same steps. */
static ws_CUresult capture_launch(struct sim_exec *exec, struct sim_stream *stream)
{
    struct sim_work work = { .kind = SIM_WORK_EMPTY, .unit = SIM_ENGINE_NONE };
    bool captured;
    ws_CUresult result = sim_capture_work(stream, &work, &captured);
    if (!captured || result != WS_CUDA_SUCCESS)
        return result;
    struct sim_graph *child = sim_graph_create();
    if (!child)
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    child->owned = true;
    for (unsigned i = 0; i < exec->count; i++) {
        struct sim_step *step = &exec->steps[i];
        ws_CUenum type = step->source ? step->source->type : WS_CU_GRAPH_NODE_TYPE_EMPTY;
        struct sim_node *node = sim_node_add(child, type, step->enabled ? &step->work : &work, exec->context);
        if (!node)
            continue;
        sim_work_share(&node->work);
        for (unsigned j = 0; j < step->dependency_count; j++)
            sim_node_depend(node, child->nodes[step->dependencies[j]]);
    }
    pthread_mutex_lock(&sim_lock);
    struct sim_node *node = stream->capture_tips[0];
    node->type = WS_CU_GRAPH_NODE_TYPE_GRAPH;
    node->child = child;
    pthread_mutex_unlock(&sim_lock);
    return WS_CUDA_SUCCESS;
}

API_TWIN(cuGraphLaunch, _ptsz, (struct sim_exec * exec, ws_CUstream handle), (exec, handle))
{
    struct sim_stream *stream;
    TRY(exec_check(exec));
    TRY(sim_stream_get(handle, &stream));
    TRY(sim_context_check(exec->context));
    if (stream->capture)
        return capture_launch(exec, stream);
    TRY(sim_capture_implicit(stream));
    return sim_exec_launch(exec, stream);
}

static ws_CUresult find_step(struct sim_exec *exec, struct sim_node *node, struct sim_step **step)
{
    TRY(exec_check(exec));
    NEED(node);
    *step = sim_exec_step(exec, node);
    return *step ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_VALUE;
}

static ws_CUresult replace(struct sim_step *step, struct sim_work *work)
{
    NEED(step->work.kind == work->kind);
    pthread_mutex_lock(&sim_lock);
    sim_work_finish(&step->work);
    step->work = *work;
    pthread_mutex_unlock(&sim_lock);
    return WS_CUDA_SUCCESS;
}

API(cuGraphExecKernelNodeSetParams,
    (struct sim_exec * exec, struct sim_node *node, const ws_CUDA_KERNEL_NODE_PARAMS_v1 *parameters),
    (exec, node, parameters))
{
    struct sim_step *step;
    struct sim_work work;
    TRY(find_step(exec, node, &step));
    TRY(sim_kernel_work(&work, parameters, NULL, exec->context));
    return replace(step, &work);
}

API(cuGraphExecKernelNodeSetParams_v2,
    (struct sim_exec * exec, struct sim_node *node, const ws_CUDA_KERNEL_NODE_PARAMS *parameters),
    (exec, node, parameters))
{
    struct sim_step *step;
    struct sim_work work;
    NEED(parameters);
    TRY(find_step(exec, node, &step));
    TRY(sim_kernel_work(&work, (const ws_CUDA_KERNEL_NODE_PARAMS_v1 *)parameters, parameters->kern, exec->context));
    return replace(step, &work);
}

API(cuGraphExecMemcpyNodeSetParams,
    (struct sim_exec * exec, struct sim_node *node, const ws_CUDA_MEMCPY3D *parameters, struct sim_context *context),
    (exec, node, parameters, context))
{
    struct sim_step *step;
    struct sim_work work;
    TRY(find_step(exec, node, &step));
    TRY(sim_copy_work(&work, parameters, context));
    return replace(step, &work);
}

API(cuGraphExecMemsetNodeSetParams,
    (struct sim_exec * exec, struct sim_node *node, const ws_CUDA_MEMSET_NODE_PARAMS *parameters,
     struct sim_context *context),
    (exec, node, parameters, context))
{
    struct sim_step *step;
    struct sim_work work;
    TRY(find_step(exec, node, &step));
    TRY(sim_memset_work(&work, parameters, context));
    return replace(step, &work);
}

API(cuGraphExecHostNodeSetParams,
    (struct sim_exec * exec, struct sim_node *node, const ws_CUDA_HOST_NODE_PARAMS *parameters),
    (exec, node, parameters))
{
    struct sim_step *step;
    NEED(parameters && parameters->fn);
    TRY(find_step(exec, node, &step));
    struct sim_work work = { .kind = SIM_WORK_HOST,
                             .unit = SIM_ENGINE_NONE,
                             .host = { .function = parameters->fn, .argument = parameters->userData } };
    return replace(step, &work);
}

static ws_CUresult set_event(struct sim_exec *exec, struct sim_node *node, struct sim_event *event,
                             enum sim_kind kind)
{
    struct sim_step *step;
    TRY(event_check(event));
    TRY(find_step(exec, node, &step));
    struct sim_work work = { .kind = kind, .unit = SIM_ENGINE_NONE, .event.event = event };
    return replace(step, &work);
}

API(cuGraphExecEventRecordNodeSetEvent, (struct sim_exec * exec, struct sim_node *node, struct sim_event *event),
    (exec, node, event))
{
    return set_event(exec, node, event, SIM_WORK_EVENT);
}

API(cuGraphExecEventWaitNodeSetEvent, (struct sim_exec * exec, struct sim_node *node, struct sim_event *event),
    (exec, node, event))
{
    return set_event(exec, node, event, SIM_WORK_WAIT);
}

API(cuGraphExecNodeSetParams, (struct sim_exec * exec, struct sim_node *node, ws_CUgraphNodeParams *parameters),
    (exec, node, parameters))
{
    NEED(parameters);
    switch (parameters->type) {
    case WS_CU_GRAPH_NODE_TYPE_KERNEL:
        return body_cuGraphExecKernelNodeSetParams_v2(exec, node, &parameters->kernel);
    case WS_CU_GRAPH_NODE_TYPE_MEMCPY:
        return body_cuGraphExecMemcpyNodeSetParams(exec, node, &parameters->memcpy.copyParams, NULL);
    case WS_CU_GRAPH_NODE_TYPE_MEMSET:
        return body_cuGraphExecMemsetNodeSetParams(exec, node, &parameters->memset, NULL);
    case WS_CU_GRAPH_NODE_TYPE_HOST:
        return body_cuGraphExecHostNodeSetParams(exec, node, &parameters->host);
    case WS_CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return set_event(exec, node, (struct sim_event *)parameters->event, SIM_WORK_WAIT);
    case WS_CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return set_event(exec, node, (struct sim_event *)parameters->event, SIM_WORK_EVENT);
    default:
        return WS_CUDA_ERROR_NOT_SUPPORTED;
    }
}

API(cuGraphNodeSetEnabled, (struct sim_exec * exec, struct sim_node *node, unsigned enabled), (exec, node, enabled))
{
    struct sim_step *step;
    TRY(find_step(exec, node, &step));
    NEED(step->work.kind == SIM_WORK_KERNEL || step->work.kind == SIM_WORK_COPY ||
         step->work.kind == SIM_WORK_MEMSET);
    step->enabled = enabled != 0;
    return WS_CUDA_SUCCESS;
}

API(cuGraphNodeGetEnabled, (struct sim_exec * exec, struct sim_node *node, unsigned *enabled), (exec, node, enabled))
{
    struct sim_step *step;
    NEED(enabled);
    TRY(find_step(exec, node, &step));
    *enabled = step->enabled;
    return WS_CUDA_SUCCESS;
}

enum update { UPDATE_DONE, UPDATE_ERROR, UPDATE_TOPOLOGY, UPDATE_TYPE };

struct update_info {
    ws_CUenum result;
    struct sim_node *error_node, *error_from;
};

static enum update compare(const struct sim_exec *old, const struct sim_exec *fresh, const struct sim_node **where)
{
    *where = NULL;
    if (old->count != fresh->count)
        return UPDATE_TOPOLOGY;
    for (unsigned i = 0; i < old->count; i++) {
        const struct sim_step *a = &old->steps[i], *b = &fresh->steps[i];
        *where = b->source;
        if (a->work.kind != b->work.kind)
            return UPDATE_TYPE;
        if (a->dependency_count != b->dependency_count)
            return UPDATE_TOPOLOGY;
        for (unsigned j = 0; j < a->dependency_count; j++)
            if (a->dependencies[j] != b->dependencies[j])
                return UPDATE_TOPOLOGY;
    }
    *where = NULL;
    return UPDATE_DONE;
}

API(cuGraphExecUpdate_v2, (struct sim_exec * exec, struct sim_graph *graph, struct update_info *info),
    (exec, graph, info))
{
    NEED(info);
    TRY(exec_check(exec));
    TRY(graph_check(graph));
    *info = (struct update_info){ .result = UPDATE_ERROR };
    struct sim_exec *fresh;
    pthread_mutex_lock(&sim_lock);
    ws_CUresult result = sim_exec_create(&fresh, graph, exec->context);
    if (result == WS_CUDA_SUCCESS) {
        const struct sim_node *where;
        info->result = compare(exec, fresh, &where);
        info->error_node = (struct sim_node *)where;
        for (unsigned i = 0; info->result == UPDATE_DONE && i < exec->count; i++) {
            struct sim_work swap = exec->steps[i].work;
            exec->steps[i].work = fresh->steps[i].work;
            fresh->steps[i].work = swap;
        }
        sim_exec_destroy(fresh);
        if (info->result != UPDATE_DONE)
            result = WS_CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    pthread_mutex_unlock(&sim_lock);
    return result;
}

API(cuGraphExecUpdate,
    (struct sim_exec * exec, struct sim_graph *graph, struct sim_node **error_node, ws_CUenum *update_result),
    (exec, graph, error_node, update_result))
{
    NEED(update_result);
    struct update_info info = { UPDATE_ERROR, NULL, NULL };
    ws_CUresult result = body_cuGraphExecUpdate_v2(exec, graph, &info);
    if (error_node)
        *error_node = info.error_node;
    *update_result = info.result;
    return result;
}
