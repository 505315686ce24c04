#include "shim/objects/graphs.h"

#include <sys/mman.h>

#include "base/map.h"
#include "base/reserve.h"
#include "shim/hook/driver_calls.h"
#include "shim/objects/functions.h"
#include "shim/objects/shapes.h"
#include "shim/state/phase.h"
#include "shim/state/registry.h"

enum { MOST_NODES = 65536, DEEPEST = 8 };

static struct ws_map graph_ids; /* handle of an executable graph → its number in the trace */
static uint32_t graph_count;

uint32_t graph_id(ws_CUgraphExec exec)
{
    if (!registry_lock())
        return 0;
    uint64_t *id = ws_map_get(&graph_ids, (uintptr_t)exec);
    uint32_t found = id ? (uint32_t)*id : 0;
    registry_unlock();
    return found;
}

static bool describe_kernel(ws_CUgraphNode node, struct ws_shape *shape)
{
    ws_CUDA_KERNEL_NODE_PARAMS now;
    /* both structures begin with the same fields */
    ws_CUDA_KERNEL_NODE_PARAMS_v1 *old = (ws_CUDA_KERNEL_NODE_PARAMS_v1 *)&now;
    now.kern = NULL;
    if (driver.node_kernel ? driver.node_kernel(node, &now) != WS_CUDA_SUCCESS
                           : !driver.node_kernel_v1 || driver.node_kernel_v1(node, old) != WS_CUDA_SUCCESS)
        return false;
    *shape = (struct ws_shape){
        .kind = WS_OP_KERNEL,
        .function = function_find(now.func ? now.func : (ws_CUfunction)now.kern),
        .grid_x = now.gridDimX,
        .grid_y = now.gridDimY,
        .grid_z = now.gridDimZ,
        .block_x = now.blockDimX,
        .block_y = now.blockDimY,
        .block_z = now.blockDimZ,
        .shared_bytes = now.sharedMemBytes,
    };
    return true;
}

static bool describe_node(ws_CUgraphNode node, ws_CUenum type, struct ws_shape *shape, uint64_t *bytes)
{
    ws_CUDA_MEMCPY3D copied;
    ws_CUDA_MEMSET_NODE_PARAMS set;
    *bytes = 0;
    switch (type) {
    case WS_CU_GRAPH_NODE_TYPE_KERNEL:
        return describe_kernel(node, shape);
    case WS_CU_GRAPH_NODE_TYPE_MEMCPY:
        *shape = (struct ws_shape){ .kind = WS_OP_COPY };
        if (driver.node_copy && driver.node_copy(node, &copied) == WS_CUDA_SUCCESS)
            *bytes = copied.WidthInBytes * copied.Height * copied.Depth;
        return true;
    case WS_CU_GRAPH_NODE_TYPE_MEMSET:
        *shape = (struct ws_shape){ .kind = WS_OP_MEMSET, .to_space = WS_SPACE_DEVICE };
        if (driver.node_memset && driver.node_memset(node, &set) == WS_CUDA_SUCCESS)
            *bytes = set.width * set.height * set.elementSize;
        return true;
    case WS_CU_GRAPH_NODE_TYPE_HOST:
        *shape = (struct ws_shape){ .kind = WS_OP_HOST_FUNCTION };
        return true;
    default:
        return false;
    }
}

/* Adds a row of the dictionary `graph_node` for every kernel, copy, memset and host function node of the graph, and
 * for those of its child graphs. */
static void add_nodes(ws_CUgraph graph, uint32_t id, uint32_t *index, int depth)
{
    size_t count = 0;
    if (depth > DEEPEST || driver.graph_nodes(graph, NULL, &count) != WS_CUDA_SUCCESS || !count || count > MOST_NODES)
        return;
    /* The array does not come from malloc: if a signal handler interrupted malloc and left by longjmp, malloc's lock
     * would stay taken. */
    size_t size = count * sizeof(ws_CUgraphNode);
    ws_CUgraphNode *nodes = ws_reserve(size);
    if (!nodes || driver.graph_nodes(graph, nodes, &count) != WS_CUDA_SUCCESS)
        count = 0;
    for (size_t i = 0; i < count; i++) {
        ws_CUenum type;
        ws_CUgraph child;
        struct ws_shape shape;
        uint64_t bytes;
        if (driver.node_type(nodes[i], &type) != WS_CUDA_SUCCESS)
            continue;
        if (type == WS_CU_GRAPH_NODE_TYPE_GRAPH && driver.node_child &&
            driver.node_child(nodes[i], &child) == WS_CUDA_SUCCESS)
            add_nodes(child, id, index, depth + 1);
        if (!describe_node(nodes[i], type, &shape, &bytes))
            continue;
        struct ws_graph_node row = {
            .graph = id, .index = (*index)++, .shape = shape_id(&shape), .enabled = 1, .bytes = bytes
        };
        if (!registry_lock())
            break;
        bool added = registry_add(&registry.graph_node, &row) != 0;
        registry_unlock();
        if (!added)
            break;
    }
    if (nodes)
        munmap(nodes, size);
}

void graph_describe(ws_CUgraphExec exec, ws_CUgraph graph)
{
    uint32_t index = 0;
    uint64_t *id = NULL;
    uint32_t number = 0;
    if (registry_lock()) {
        id = ws_map_put(&graph_ids, (uintptr_t)exec);
        number = id ? (uint32_t)(*id = ++graph_count) : 0;
        registry_unlock();
    }
    struct driver_ask asking;
    driver_ask_begin(&asking);
    if (number && driver.graph_nodes && driver.node_type)
        add_nodes(graph, number, &index, 0);
    driver_ask_end(&asking);
    shim_forget_handles(); /* a launch of `exec` now runs this graph, so cache entries that were found by `exec`
                              before are invalid */
}

void graph_forget(ws_CUgraphExec exec)
{
    bool locked = registry_lock();
    if (locked)
        ws_map_remove(&graph_ids, (uintptr_t)exec);
    shim_forget_handles();
    if (locked)
        registry_unlock();
}
