/* Graph nodes: adding them, and reading and changing their parameters. */
#include "api/graph.h"

ws_CUresult sim_kernel_work(struct sim_work *work, const ws_CUDA_KERNEL_NODE_PARAMS_v1 *from, ws_CUkernel kernel,
                            struct sim_context *context)
{
    NEED(from);
    const unsigned shape[7] = { from->gridDimX,  from->gridDimY,  from->gridDimZ,      from->blockDimX,
                                from->blockDimY, from->blockDimZ, from->sharedMemBytes };
    struct sim_function *function = (struct sim_function *)(from->func ? from->func : (ws_CUfunction)kernel);
    if (function && function->magic == SIM_FUNCTION && function->module)
        context = function->module->context;
    if (!context)
        TRY(sim_current(&context));
    *work = (struct sim_work){ .overlaps = false };
    return sim_launch_describe(work, function, context, shape, from->kernelParams, from->extra, true);
}

ws_CUresult sim_copy_work(struct sim_work *work, const ws_CUDA_MEMCPY3D *from, struct sim_context *context)
{
    struct sim_copy copy;
    enum sim_side from_side, to_side;
    enum sim_hold hold;
    NEED(from && from->WidthInBytes && from->Height && from->Depth);
    if (!context)
        TRY(sim_current(&context));
    TRY(sim_copy_describe(from, &copy, &from_side, &to_side));
    return sim_transfer_describe(work, context->device, &copy, from_side, to_side, &hold);
}

ws_CUresult sim_memset_work(struct sim_work *work, const ws_CUDA_MEMSET_NODE_PARAMS *from,
                            struct sim_context *context)
{
    bool pinned;
    NEED(from && (from->elementSize == 1 || from->elementSize == 2 || from->elementSize == 4));
    NEED(from->width && from->height);
    if (!context)
        TRY(sim_current(&context));
    struct sim_memset what = { (char *)from->dst, from->pitch, from->width,
                               from->height,      from->value, from->elementSize };
    return sim_memset_describe(work, context->device, &what, &pinned);
}

static ws_CUresult add(struct sim_node **made, struct sim_graph *graph, struct sim_node *const *dependencies,
                       size_t count, ws_CUenum type, const struct sim_work *work, struct sim_context *context)
{
    NEED(made && (dependencies || !count));
    TRY(graph_check(graph));
    for (size_t i = 0; i < count; i++) {
        TRY(node_check(dependencies[i]));
        NEED(dependencies[i]->graph == graph);
    }
    pthread_mutex_lock(&sim_lock);
    struct sim_node *node = sim_node_add(graph, type, work, context);
    for (size_t i = 0; node && i < count; i++)
        sim_node_depend(node, dependencies[i]);
    pthread_mutex_unlock(&sim_lock);
    *made = node;
    return node ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_OUT_OF_MEMORY;
}

#define NODE_PARAMETERS \
    struct sim_node **made, struct sim_graph *graph, struct sim_node *const *dependencies, size_t count
#define NODE_ARGUMENTS made, graph, dependencies, count

API(cuGraphAddKernelNode, (NODE_PARAMETERS, const ws_CUDA_KERNEL_NODE_PARAMS_v1 *parameters),
    (NODE_ARGUMENTS, parameters))
{
    struct sim_work work;
    TRY(sim_kernel_work(&work, parameters, NULL, NULL));
    return add(NODE_ARGUMENTS, WS_CU_GRAPH_NODE_TYPE_KERNEL, &work, sim_current_or_null());
}

API(cuGraphAddKernelNode_v2, (NODE_PARAMETERS, const ws_CUDA_KERNEL_NODE_PARAMS *parameters),
    (NODE_ARGUMENTS, parameters))
{
    struct sim_work work;
    NEED(parameters);
    struct sim_context *context = (struct sim_context *)parameters->ctx;
    TRY(sim_kernel_work(&work, (const ws_CUDA_KERNEL_NODE_PARAMS_v1 *)parameters, parameters->kern, context));
    return add(NODE_ARGUMENTS, WS_CU_GRAPH_NODE_TYPE_KERNEL, &work, context ? context : sim_current_or_null());
}

API(cuGraphAddMemcpyNode, (NODE_PARAMETERS, const ws_CUDA_MEMCPY3D *parameters, struct sim_context *context),
    (NODE_ARGUMENTS, parameters, context))
{
    struct sim_work work;
    TRY(sim_copy_work(&work, parameters, context));
    TRY(add(NODE_ARGUMENTS, WS_CU_GRAPH_NODE_TYPE_MEMCPY, &work, context));
    (*made)->copy = *parameters;
    return WS_CUDA_SUCCESS;
}

API(cuGraphAddMemsetNode,
    (NODE_PARAMETERS, const ws_CUDA_MEMSET_NODE_PARAMS *parameters, struct sim_context *context),
    (NODE_ARGUMENTS, parameters, context))
{
    struct sim_work work;
    TRY(sim_memset_work(&work, parameters, context));
    TRY(add(NODE_ARGUMENTS, WS_CU_GRAPH_NODE_TYPE_MEMSET, &work, context));
    (*made)->memset = *parameters;
    return WS_CUDA_SUCCESS;
}

API(cuGraphAddHostNode, (NODE_PARAMETERS, const ws_CUDA_HOST_NODE_PARAMS *parameters), (NODE_ARGUMENTS, parameters))
{
    NEED(parameters && parameters->fn);
    struct sim_work work = { .kind = SIM_WORK_HOST,
                             .unit = SIM_ENGINE_NONE,
                             .host = { .function = parameters->fn, .argument = parameters->userData } };
    return add(NODE_ARGUMENTS, WS_CU_GRAPH_NODE_TYPE_HOST, &work, NULL);
}

API(cuGraphAddEmptyNode, (NODE_PARAMETERS), (NODE_ARGUMENTS))
{
    struct sim_work work = { .kind = SIM_WORK_EMPTY, .unit = SIM_ENGINE_NONE };
    return add(NODE_ARGUMENTS, WS_CU_GRAPH_NODE_TYPE_EMPTY, &work, NULL);
}

API(cuGraphAddChildGraphNode, (NODE_PARAMETERS, struct sim_graph *child), (NODE_ARGUMENTS, child))
{
    struct sim_work work = { .kind = SIM_WORK_EMPTY, .unit = SIM_ENGINE_NONE };
    TRY(graph_check(child));
    TRY(add(NODE_ARGUMENTS, WS_CU_GRAPH_NODE_TYPE_GRAPH, &work, NULL));
    struct sim_graph *clone = sim_graph_clone(child);
    if (!clone)
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    clone->owned = true;
    (*made)->child = clone;
    return WS_CUDA_SUCCESS;
}

static ws_CUresult add_event(NODE_PARAMETERS, struct sim_event *event, bool record)
{
    TRY(event_check(event));
    struct sim_work work = { .kind = record ? SIM_WORK_EVENT : SIM_WORK_WAIT,
                             .unit = SIM_ENGINE_NONE,
                             .event.event = event };
    return add(NODE_ARGUMENTS, record ? WS_CU_GRAPH_NODE_TYPE_EVENT_RECORD : WS_CU_GRAPH_NODE_TYPE_WAIT_EVENT, &work,
               event->context);
}

API(cuGraphAddEventRecordNode, (NODE_PARAMETERS, struct sim_event *event), (NODE_ARGUMENTS, event))
{
    return add_event(NODE_ARGUMENTS, event, true);
}

API(cuGraphAddEventWaitNode, (NODE_PARAMETERS, struct sim_event *event), (NODE_ARGUMENTS, event))
{
    return add_event(NODE_ARGUMENTS, event, false);
}

struct alloc_parameters {
    ws_CUmemPoolProps pool;
    const ws_CUmemAccessDesc *access;
    size_t access_count, bytes;
    ws_CUdeviceptr address;
};

/* The memory is allocated in this call and freed with the node. Launches of the graph allocate nothing. */
API(cuGraphAddMemAllocNode, (NODE_PARAMETERS, struct alloc_parameters *parameters), (NODE_ARGUMENTS, parameters))
{
    struct sim_context *context;
    NEED(parameters);
    struct sim_device *device = sim_device_at(parameters->pool.location.id);
    NEED(device);
    TRY(sim_current(&context));
    struct sim_range range = { .flags = 0 };
    TRY(sim_memory_allocate(NULL, device, SIM_MEMORY_DEVICE, parameters->bytes, &range));
    parameters->address = range.start;
    struct sim_work work = { .kind = SIM_WORK_ALLOC,
                             .unit = SIM_ENGINE_NONE,
                             .memory = { range.start, parameters->bytes } };
    return add(NODE_ARGUMENTS, WS_CU_GRAPH_NODE_TYPE_MEM_ALLOC, &work, context);
}

API(cuGraphMemAllocNodeGetParams, (struct sim_node * node, struct alloc_parameters *parameters), (node, parameters))
{
    NEED(parameters);
    TRY(node_check(node));
    NEED(node->type == WS_CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    *parameters = (struct alloc_parameters){ .bytes = node->work.memory.bytes, .address = node->work.memory.address };
    return WS_CUDA_SUCCESS;
}

API(cuGraphAddMemFreeNode, (NODE_PARAMETERS, ws_CUdeviceptr address), (NODE_ARGUMENTS, address))
{
    NEED(address);
    struct sim_work work = { .kind = SIM_WORK_EMPTY, .unit = SIM_ENGINE_NONE, .memory = { address, 0 } };
    return add(NODE_ARGUMENTS, WS_CU_GRAPH_NODE_TYPE_MEM_FREE, &work, NULL);
}

API(cuGraphMemFreeNodeGetParams, (struct sim_node * node, ws_CUdeviceptr *address), (node, address))
{
    NEED(address);
    TRY(node_check(node));
    NEED(node->type == WS_CU_GRAPH_NODE_TYPE_MEM_FREE);
    *address = node->work.memory.address;
    return WS_CUDA_SUCCESS;
}

API(cuGraphAddNode, (NODE_PARAMETERS, ws_CUgraphNodeParams *parameters), (NODE_ARGUMENTS, parameters))
{
    NEED(parameters);
    switch (parameters->type) {
    case WS_CU_GRAPH_NODE_TYPE_KERNEL:
        return body_cuGraphAddKernelNode_v2(NODE_ARGUMENTS, &parameters->kernel);
    case WS_CU_GRAPH_NODE_TYPE_MEMCPY:
        return body_cuGraphAddMemcpyNode(NODE_ARGUMENTS, &parameters->memcpy.copyParams,
                                         (struct sim_context *)parameters->memcpy.copyCtx);
    case WS_CU_GRAPH_NODE_TYPE_MEMSET:
        return body_cuGraphAddMemsetNode(NODE_ARGUMENTS, &parameters->memset, NULL);
    case WS_CU_GRAPH_NODE_TYPE_HOST:
        return body_cuGraphAddHostNode(NODE_ARGUMENTS, &parameters->host);
    case WS_CU_GRAPH_NODE_TYPE_GRAPH:
        return body_cuGraphAddChildGraphNode(NODE_ARGUMENTS, (struct sim_graph *)parameters->graph);
    case WS_CU_GRAPH_NODE_TYPE_EMPTY:
        return body_cuGraphAddEmptyNode(NODE_ARGUMENTS);
    case WS_CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return add_event(NODE_ARGUMENTS, (struct sim_event *)parameters->event, false);
    case WS_CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return add_event(NODE_ARGUMENTS, (struct sim_event *)parameters->event, true);
    case WS_CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return body_cuGraphAddMemAllocNode(NODE_ARGUMENTS, (struct alloc_parameters *)parameters->reserved1);
    case WS_CU_GRAPH_NODE_TYPE_MEM_FREE:
        return body_cuGraphAddMemFreeNode(NODE_ARGUMENTS, (ws_CUdeviceptr)parameters->reserved1[0]);
    default:
        return WS_CUDA_ERROR_NOT_SUPPORTED;
    }
}

API(cuGraphAddNode_v2,
    (struct sim_node * *made, struct sim_graph *graph, struct sim_node *const *dependencies,
     const ws_CUgraphEdgeData *edges, size_t count, ws_CUgraphNodeParams *parameters),
    (made, graph, dependencies, edges, count, parameters))
{
    (void)edges;
    return body_cuGraphAddNode(NODE_ARGUMENTS, parameters);
}

API(cuGraphKernelNodeGetParams, (struct sim_node * node, ws_CUDA_KERNEL_NODE_PARAMS_v1 *parameters),
    (node, parameters))
{
    NEED(parameters);
    TRY(node_check(node));
    NEED(node->type == WS_CU_GRAPH_NODE_TYPE_KERNEL);
    const struct sim_launch *launch = &node->work.launch;
    *parameters = (ws_CUDA_KERNEL_NODE_PARAMS_v1){ .func = (ws_CUfunction)launch->function,
                                                   .gridDimX = launch->grid[0],
                                                   .gridDimY = launch->grid[1],
                                                   .gridDimZ = launch->grid[2],
                                                   .blockDimX = launch->block[0],
                                                   .blockDimY = launch->block[1],
                                                   .blockDimZ = launch->block[2],
                                                   .sharedMemBytes = launch->shared_bytes };
    parameters->kernelParams = launch->arguments ? launch->arguments->pointers : NULL;
    return WS_CUDA_SUCCESS;
}

API(cuGraphKernelNodeGetParams_v2, (struct sim_node * node, ws_CUDA_KERNEL_NODE_PARAMS *parameters),
    (node, parameters))
{
    NEED(parameters);
    TRY(body_cuGraphKernelNodeGetParams(node, (ws_CUDA_KERNEL_NODE_PARAMS_v1 *)parameters));
    parameters->kern = NULL;
    parameters->ctx = (ws_CUcontext)node->context;
    if (node->work.launch.function->magic == SIM_KERNEL) {
        parameters->kern = (ws_CUkernel)parameters->func;
        parameters->func = NULL;
    }
    return WS_CUDA_SUCCESS;
}

static ws_CUresult replace(struct sim_node *node, struct sim_work *work)
{
    pthread_mutex_lock(&sim_lock);
    sim_work_finish(&node->work);
    node->work = *work;
    pthread_mutex_unlock(&sim_lock);
    return WS_CUDA_SUCCESS;
}

API(cuGraphKernelNodeSetParams, (struct sim_node * node, const ws_CUDA_KERNEL_NODE_PARAMS_v1 *parameters),
    (node, parameters))
{
    struct sim_work work;
    TRY(node_check(node));
    NEED(node->type == WS_CU_GRAPH_NODE_TYPE_KERNEL);
    TRY(sim_kernel_work(&work, parameters, NULL, node->context));
    return replace(node, &work);
}

API(cuGraphKernelNodeSetParams_v2, (struct sim_node * node, const ws_CUDA_KERNEL_NODE_PARAMS *parameters),
    (node, parameters))
{
    struct sim_work work;
    TRY(node_check(node));
    NEED(parameters && node->type == WS_CU_GRAPH_NODE_TYPE_KERNEL);
    TRY(sim_kernel_work(&work, (const ws_CUDA_KERNEL_NODE_PARAMS_v1 *)parameters, parameters->kern, node->context));
    return replace(node, &work);
}

API(cuGraphMemcpyNodeGetParams, (struct sim_node * node, ws_CUDA_MEMCPY3D *parameters), (node, parameters))
{
    NEED(parameters);
    TRY(node_check(node));
    NEED(node->type == WS_CU_GRAPH_NODE_TYPE_MEMCPY);
    *parameters = node->copy;
    if (!parameters->WidthInBytes) { /* a captured copy: makes the parameters from the node's work */
        const struct sim_copy *copy = &node->work.copy;
        *parameters = (ws_CUDA_MEMCPY3D){ .srcMemoryType = WS_CU_MEMORYTYPE_UNIFIED,
                                          .srcDevice = (ws_CUdeviceptr)copy->from,
                                          .srcPitch = copy->from_pitch,
                                          .srcHeight = copy->from_slice / copy->from_pitch,
                                          .dstMemoryType = WS_CU_MEMORYTYPE_UNIFIED,
                                          .dstDevice = (ws_CUdeviceptr)copy->to,
                                          .dstPitch = copy->to_pitch,
                                          .dstHeight = copy->to_slice / copy->to_pitch,
                                          .WidthInBytes = copy->width,
                                          .Height = copy->height,
                                          .Depth = copy->depth };
    }
    return WS_CUDA_SUCCESS;
}

API(cuGraphMemcpyNodeSetParams, (struct sim_node * node, const ws_CUDA_MEMCPY3D *parameters), (node, parameters))
{
    struct sim_work work;
    TRY(node_check(node));
    NEED(node->type == WS_CU_GRAPH_NODE_TYPE_MEMCPY);
    TRY(sim_copy_work(&work, parameters, node->context));
    node->copy = *parameters;
    return replace(node, &work);
}

API(cuGraphMemsetNodeGetParams, (struct sim_node * node, ws_CUDA_MEMSET_NODE_PARAMS *parameters), (node, parameters))
{
    NEED(parameters);
    TRY(node_check(node));
    NEED(node->type == WS_CU_GRAPH_NODE_TYPE_MEMSET);
    const struct sim_memset *memory = &node->work.memset;
    *parameters = (ws_CUDA_MEMSET_NODE_PARAMS){ .dst = (ws_CUdeviceptr)memory->to,
                                                .pitch = memory->pitch,
                                                .value = memory->value,
                                                .elementSize = memory->element,
                                                .width = memory->width,
                                                .height = memory->height };
    return WS_CUDA_SUCCESS;
}

API(cuGraphMemsetNodeSetParams, (struct sim_node * node, const ws_CUDA_MEMSET_NODE_PARAMS *parameters),
    (node, parameters))
{
    struct sim_work work;
    TRY(node_check(node));
    NEED(node->type == WS_CU_GRAPH_NODE_TYPE_MEMSET);
    TRY(sim_memset_work(&work, parameters, node->context));
    return replace(node, &work);
}

API(cuGraphHostNodeGetParams, (struct sim_node * node, ws_CUDA_HOST_NODE_PARAMS *parameters), (node, parameters))
{
    NEED(parameters);
    TRY(node_check(node));
    NEED(node->type == WS_CU_GRAPH_NODE_TYPE_HOST);
    *parameters = (ws_CUDA_HOST_NODE_PARAMS){ node->work.host.function, node->work.host.argument };
    return WS_CUDA_SUCCESS;
}

API(cuGraphHostNodeSetParams, (struct sim_node * node, const ws_CUDA_HOST_NODE_PARAMS *parameters),
    (node, parameters))
{
    TRY(node_check(node));
    NEED(parameters && parameters->fn && node->type == WS_CU_GRAPH_NODE_TYPE_HOST);
    node->work.host.function = parameters->fn;
    node->work.host.argument = parameters->userData;
    return WS_CUDA_SUCCESS;
}

API(cuGraphChildGraphNodeGetGraph, (struct sim_node * node, struct sim_graph **graph), (node, graph))
{
    NEED(graph);
    TRY(node_check(node));
    NEED(node->child);
    *graph = node->child;
    return WS_CUDA_SUCCESS;
}

static ws_CUresult get_event(struct sim_node *node, struct sim_event **event, enum sim_kind kind)
{
    NEED(event);
    TRY(node_check(node));
    NEED(node->work.kind == kind);
    *event = node->work.event.event;
    return WS_CUDA_SUCCESS;
}

static ws_CUresult set_event(struct sim_node *node, struct sim_event *event, enum sim_kind kind)
{
    TRY(event_check(event));
    TRY(node_check(node));
    NEED(node->work.kind == kind);
    node->work.event.event = event;
    return WS_CUDA_SUCCESS;
}

API(cuGraphEventRecordNodeGetEvent, (struct sim_node * node, struct sim_event **event), (node, event))
{
    return get_event(node, event, SIM_WORK_EVENT);
}

API(cuGraphEventWaitNodeGetEvent, (struct sim_node * node, struct sim_event **event), (node, event))
{
    return get_event(node, event, SIM_WORK_WAIT);
}

API(cuGraphEventRecordNodeSetEvent, (struct sim_node * node, struct sim_event *event), (node, event))
{
    return set_event(node, event, SIM_WORK_EVENT);
}

API(cuGraphEventWaitNodeSetEvent, (struct sim_node * node, struct sim_event *event), (node, event))
{
    return set_event(node, event, SIM_WORK_WAIT);
}

API(cuGraphNodeSetParams, (struct sim_node * node, ws_CUgraphNodeParams *parameters), (node, parameters))
{
    TRY(node_check(node));
    NEED(parameters && parameters->type == node->type);
    switch (parameters->type) {
    case WS_CU_GRAPH_NODE_TYPE_KERNEL:
        return body_cuGraphKernelNodeSetParams_v2(node, &parameters->kernel);
    case WS_CU_GRAPH_NODE_TYPE_MEMCPY:
        return body_cuGraphMemcpyNodeSetParams(node, &parameters->memcpy.copyParams);
    case WS_CU_GRAPH_NODE_TYPE_MEMSET:
        return body_cuGraphMemsetNodeSetParams(node, &parameters->memset);
    case WS_CU_GRAPH_NODE_TYPE_HOST:
        return body_cuGraphHostNodeSetParams(node, &parameters->host);
    case WS_CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return set_event(node, (struct sim_event *)parameters->event, SIM_WORK_WAIT);
    case WS_CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return set_event(node, (struct sim_event *)parameters->event, SIM_WORK_EVENT);
    default:
        return WS_CUDA_ERROR_NOT_SUPPORTED;
    }
}
