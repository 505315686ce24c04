/* The rows of the wrapper table (see driver_table.h) for functions that make, change, instantiate or destroy graphs.
 */
/* clang-format off */
DRIVER(cuGraphInstantiate, cuGraphInstantiate, 10000, GRAPH,
    (ws_CUgraphExec *phGraphExec, ws_CUgraph hGraph, ws_CUgraphNode *phErrorNode, char *logBuffer, size_t
     bufferSize),
    (phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize), NOTHING,
    graph_instantiated(&call, phGraphExec, hGraph))
DRIVER(cuGraphInstantiate_v2, cuGraphInstantiate, 11000, GRAPH,
    (ws_CUgraphExec *phGraphExec, ws_CUgraph hGraph, ws_CUgraphNode *phErrorNode, char *logBuffer, size_t
     bufferSize),
    (phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize), NOTHING,
    graph_instantiated(&call, phGraphExec, hGraph))
DRIVER(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040, GRAPH,
    (ws_CUgraphExec *phGraphExec, ws_CUgraph hGraph, unsigned long long flags), (phGraphExec, hGraph, flags),
    NOTHING, graph_instantiated(&call, phGraphExec, hGraph))
DRIVER_PTSZ(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams, 12000, GRAPH,
    (ws_CUgraphExec *phGraphExec, ws_CUgraph hGraph, ws_CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams),
    (phGraphExec, hGraph, instantiateParams), NOTHING, graph_instantiated(&call, phGraphExec, hGraph))
DRIVER(cuGraphExecUpdate, cuGraphExecUpdate, 10020, GRAPH,
    (ws_CUgraphExec hGraphExec, ws_CUgraph hGraph, ws_CUgraphNode *hErrorNode_out, ws_CUenum *updateResult_out),
    (hGraphExec, hGraph, hErrorNode_out, updateResult_out), NOTHING, graph_updated(&call, hGraphExec))
DRIVER(cuGraphExecUpdate_v2, cuGraphExecUpdate, 12000, GRAPH,
    (ws_CUgraphExec hGraphExec, ws_CUgraph hGraph, void *resultInfo), (hGraphExec, hGraph, resultInfo), NOTHING,
    graph_updated(&call, hGraphExec))
DRIVER(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams, 10010, GRAPH,
    (ws_CUgraphExec hGraphExec, ws_CUgraphNode hNode, const ws_CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams),
    (hGraphExec, hNode, nodeParams), NOTHING, host_call(&call, NO_STREAM, hGraphExec, AT(hNode), 0))
DRIVER(cuGraphExecKernelNodeSetParams_v2, cuGraphExecKernelNodeSetParams, 12000, GRAPH,
    (ws_CUgraphExec hGraphExec, ws_CUgraphNode hNode, const ws_CUDA_KERNEL_NODE_PARAMS *nodeParams),
    (hGraphExec, hNode, nodeParams), NOTHING,
    host_call(&call, NO_STREAM, hGraphExec, AT(hNode), 0))
DRIVER(cuGraphNodeSetEnabled, cuGraphNodeSetEnabled, 11060, GRAPH,
    (ws_CUgraphExec hGraphExec, ws_CUgraphNode hNode, unsigned isEnabled), (hGraphExec, hNode, isEnabled), NOTHING,
    host_call(&call, NO_STREAM, hGraphExec, AT(hNode), 0))
DRIVER(cuGraphExecDestroy, cuGraphExecDestroy, 10000, GRAPH,
    (ws_CUgraphExec hGraphExec), (hGraphExec), graph_exec_ending(&call, hGraphExec), host_call(&call, NO_STREAM, hGraphExec, 0, 0))
DRIVER(cuGraphDestroy, cuGraphDestroy, 10000, GRAPH,
    (ws_CUgraph hGraph), (hGraph), NOTHING, host_call(&call, NO_STREAM, hGraph, 0, 0))
DRIVER(cuGraphClone, cuGraphClone, 10000, GRAPH,
    (ws_CUgraph *phGraphClone, ws_CUgraph originalGraph), (phGraphClone, originalGraph), NOTHING,
    host_call(&call, NO_STREAM, originalGraph, 0, 0))
DRIVER(cuGraphCreate, cuGraphCreate, 10000, GRAPH,
    (ws_CUgraph *phGraph, unsigned flags), (phGraph, flags), NOTHING,
    host_call(&call, NO_STREAM, OUT(phGraph), 0, 0))
DRIVER(cuGraphAddBatchMemOpNode, cuGraphAddBatchMemOpNode, 11070, GRAPH,
    (ws_CUgraphNode *phGraphNode, ws_CUgraph hGraph, const ws_CUgraphNode *dependencies, size_t numDependencies,
     const void *nodeParams),
    (phGraphNode, hGraph, dependencies, numDependencies, nodeParams), NOTHING,
    host_call(&call, NO_STREAM, hGraph, 0, 0))
DRIVER(cuGraphAddChildGraphNode, cuGraphAddChildGraphNode, 10000, GRAPH,
    (ws_CUgraphNode *phGraphNode, ws_CUgraph hGraph, const ws_CUgraphNode *dependencies, size_t numDependencies,
     ws_CUgraph childGraph),
    (phGraphNode, hGraph, dependencies, numDependencies, childGraph), NOTHING,
    host_call(&call, NO_STREAM, hGraph, 0, 0))
DRIVER(cuGraphAddEmptyNode, cuGraphAddEmptyNode, 10000, GRAPH,
    (ws_CUgraphNode *phGraphNode, ws_CUgraph hGraph, const ws_CUgraphNode *dependencies, size_t numDependencies),
    (phGraphNode, hGraph, dependencies, numDependencies), NOTHING,
    host_call(&call, NO_STREAM, hGraph, 0, 0))
DRIVER(cuGraphAddEventRecordNode, cuGraphAddEventRecordNode, 11010, GRAPH,
    (ws_CUgraphNode *phGraphNode, ws_CUgraph hGraph, const ws_CUgraphNode *dependencies, size_t numDependencies,
     ws_CUevent event),
    (phGraphNode, hGraph, dependencies, numDependencies, event), NOTHING,
    host_call(&call, NO_STREAM, hGraph, 0, 0))
DRIVER(cuGraphAddEventWaitNode, cuGraphAddEventWaitNode, 11010, GRAPH,
    (ws_CUgraphNode *phGraphNode, ws_CUgraph hGraph, const ws_CUgraphNode *dependencies, size_t numDependencies,
     ws_CUevent event),
    (phGraphNode, hGraph, dependencies, numDependencies, event), NOTHING,
    host_call(&call, NO_STREAM, hGraph, 0, 0))
DRIVER(cuGraphAddExternalSemaphoresSignalNode, cuGraphAddExternalSemaphoresSignalNode, 11020, GRAPH,
    (ws_CUgraphNode *phGraphNode, ws_CUgraph hGraph, const ws_CUgraphNode *dependencies, size_t numDependencies,
     const void *nodeParams),
    (phGraphNode, hGraph, dependencies, numDependencies, nodeParams), NOTHING,
    host_call(&call, NO_STREAM, hGraph, 0, 0))
DRIVER(cuGraphAddExternalSemaphoresWaitNode, cuGraphAddExternalSemaphoresWaitNode, 11020, GRAPH,
    (ws_CUgraphNode *phGraphNode, ws_CUgraph hGraph, const ws_CUgraphNode *dependencies, size_t numDependencies,
     const void *nodeParams),
    (phGraphNode, hGraph, dependencies, numDependencies, nodeParams), NOTHING,
    host_call(&call, NO_STREAM, hGraph, 0, 0))
DRIVER(cuGraphAddHostNode, cuGraphAddHostNode, 10000, GRAPH,
    (ws_CUgraphNode *phGraphNode, ws_CUgraph hGraph, const ws_CUgraphNode *dependencies, size_t numDependencies,
     const ws_CUDA_HOST_NODE_PARAMS *nodeParams),
    (phGraphNode, hGraph, dependencies, numDependencies, nodeParams), NOTHING,
    host_call(&call, NO_STREAM, hGraph, 0, 0))
DRIVER(cuGraphAddKernelNode, cuGraphAddKernelNode, 10000, GRAPH,
    (ws_CUgraphNode *phGraphNode, ws_CUgraph hGraph, const ws_CUgraphNode *dependencies, size_t numDependencies,
     const ws_CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams),
    (phGraphNode, hGraph, dependencies, numDependencies, nodeParams), NOTHING,
    host_call(&call, NO_STREAM, hGraph, 0, 0))
DRIVER(cuGraphAddKernelNode_v2, cuGraphAddKernelNode, 12000, GRAPH,
    (ws_CUgraphNode *phGraphNode, ws_CUgraph hGraph, const ws_CUgraphNode *dependencies, size_t numDependencies,
     const ws_CUDA_KERNEL_NODE_PARAMS *nodeParams),
    (phGraphNode, hGraph, dependencies, numDependencies, nodeParams), NOTHING,
    host_call(&call, NO_STREAM, hGraph, 0, 0))
DRIVER(cuGraphAddMemAllocNode, cuGraphAddMemAllocNode, 11040, GRAPH,
    (ws_CUgraphNode *phGraphNode, ws_CUgraph hGraph, const ws_CUgraphNode *dependencies, size_t numDependencies,
     void *nodeParams),
    (phGraphNode, hGraph, dependencies, numDependencies, nodeParams), NOTHING,
    host_call(&call, NO_STREAM, hGraph, 0, 0))
DRIVER(cuGraphAddMemFreeNode, cuGraphAddMemFreeNode, 11040, GRAPH,
    (ws_CUgraphNode *phGraphNode, ws_CUgraph hGraph, const ws_CUgraphNode *dependencies, size_t numDependencies,
     ws_CUdeviceptr dptr),
    (phGraphNode, hGraph, dependencies, numDependencies, dptr), NOTHING,
    host_call(&call, NO_STREAM, hGraph, 0, 0))
DRIVER(cuGraphAddMemcpyNode, cuGraphAddMemcpyNode, 10000, GRAPH,
    (ws_CUgraphNode *phGraphNode, ws_CUgraph hGraph, const ws_CUgraphNode *dependencies, size_t numDependencies,
     const ws_CUDA_MEMCPY3D *copyParams, ws_CUcontext ctx),
    (phGraphNode, hGraph, dependencies, numDependencies, copyParams, ctx), NOTHING,
    host_call(&call, NO_STREAM, hGraph, 0, 0))
DRIVER(cuGraphAddMemsetNode, cuGraphAddMemsetNode, 10000, GRAPH,
    (ws_CUgraphNode *phGraphNode, ws_CUgraph hGraph, const ws_CUgraphNode *dependencies, size_t numDependencies,
     const ws_CUDA_MEMSET_NODE_PARAMS *memsetParams, ws_CUcontext ctx),
    (phGraphNode, hGraph, dependencies, numDependencies, memsetParams, ctx), NOTHING,
    host_call(&call, NO_STREAM, hGraph, 0, 0))
DRIVER(cuGraphAddNode, cuGraphAddNode, 12020, GRAPH,
    (ws_CUgraphNode *phGraphNode, ws_CUgraph hGraph, const ws_CUgraphNode *dependencies, size_t numDependencies,
     ws_CUgraphNodeParams *nodeParams),
    (phGraphNode, hGraph, dependencies, numDependencies, nodeParams), NOTHING,
    host_call(&call, NO_STREAM, hGraph, 0, 0))
DRIVER(cuGraphAddNode_v2, cuGraphAddNode, 12030, GRAPH,
    (ws_CUgraphNode *phGraphNode, ws_CUgraph hGraph, const ws_CUgraphNode *dependencies, const ws_CUgraphEdgeData
     *dependencyData, size_t numDependencies, ws_CUgraphNodeParams *nodeParams),
    (phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams), NOTHING,
    host_call(&call, NO_STREAM, hGraph, 0, 0))
/* clang-format on */
