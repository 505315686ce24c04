/* Declarations shared by the files of the graph functions. */
#ifndef SIMGPU_API_GRAPH_H
#define SIMGPU_API_GRAPH_H

#include "api/api.h"
#include "engine/graph.h"

static inline ws_CUresult graph_check(const struct sim_graph *graph)
{
    return graph && graph->magic == SIM_GRAPH ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_VALUE;
}

static inline ws_CUresult node_check(const struct sim_node *node)
{
    return node && node->magic == SIM_NODE ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_VALUE;
}

static inline ws_CUresult exec_check(const struct sim_exec *exec)
{
    return exec && exec->magic == SIM_EXEC ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_VALUE;
}

/* Turn a node's parameters into work for this context (NULL: the current context). */
ws_CUresult sim_kernel_work(struct sim_work *work, const ws_CUDA_KERNEL_NODE_PARAMS_v1 *from, ws_CUkernel kernel,
                            struct sim_context *context);
ws_CUresult sim_copy_work(struct sim_work *work, const ws_CUDA_MEMCPY3D *from, struct sim_context *context);
ws_CUresult sim_memset_work(struct sim_work *work, const ws_CUDA_MEMSET_NODE_PARAMS *from,
                            struct sim_context *context);

#endif
