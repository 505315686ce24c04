/* Graphs: creating them, and the dependencies between their nodes. */
#include "api/graph.h"

#include <stdio.h>
#include <string.h>

API(cuGraphCreate, (struct sim_graph * *graph, unsigned flags), (graph, flags))
{
    NEED(graph && !flags);
    *graph = sim_graph_create();
    return *graph ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_OUT_OF_MEMORY;
}

API(cuGraphDestroy, (struct sim_graph * graph), (graph))
{
    TRY(graph_check(graph));
    if (graph->owned || graph->capturing)
        return WS_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&sim_lock);
    sim_graph_destroy(graph);
    pthread_mutex_unlock(&sim_lock);
    return WS_CUDA_SUCCESS;
}

API(cuGraphClone, (struct sim_graph * *clone, struct sim_graph *graph), (clone, graph))
{
    NEED(clone);
    TRY(graph_check(graph));
    pthread_mutex_lock(&sim_lock);
    *clone = sim_graph_clone(graph);
    pthread_mutex_unlock(&sim_lock);
    return *clone ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_OUT_OF_MEMORY;
}

API(cuGraphNodeFindInClone, (struct sim_node * *found, struct sim_node *original, struct sim_graph *clone),
    (found, original, clone))
{
    NEED(found);
    TRY(graph_check(clone));
    for (unsigned i = 0; i < clone->count; i++)
        if (clone->nodes[i]->original == original) {
            *found = clone->nodes[i];
            return WS_CUDA_SUCCESS;
        }
    return WS_CUDA_ERROR_INVALID_VALUE;
}

API(cuGraphDestroyNode, (struct sim_node * node), (node))
{
    TRY(node_check(node));
    pthread_mutex_lock(&sim_lock);
    sim_node_destroy(node);
    pthread_mutex_unlock(&sim_lock);
    return WS_CUDA_SUCCESS;
}

API(cuGraphNodeGetType, (struct sim_node * node, ws_CUenum *type), (node, type))
{
    NEED(type);
    TRY(node_check(node));
    *type = node->type;
    return WS_CUDA_SUCCESS;
}

/* A list of nodes for the caller. `out` is the caller's array (NULL: only count), which has room for `room` nodes;
 * `count` is the number of nodes found. */
struct listing {
    struct sim_node **out;
    size_t room, count;
};

static void list(struct listing *listing, struct sim_node *node)
{
    if (listing->out && listing->count < listing->room)
        listing->out[listing->count] = node;
    listing->count++;
}

static ws_CUresult list_end(struct listing *listing, size_t *count)
{
    for (size_t i = listing->count; listing->out && i < listing->room; i++)
        listing->out[i] = NULL;
    *count = listing->out && listing->room < listing->count ? listing->room : listing->count;
    return WS_CUDA_SUCCESS;
}

static ws_CUresult list_nodes(struct sim_graph *graph, struct sim_node **nodes, size_t *count, bool roots)
{
    NEED(count);
    TRY(graph_check(graph));
    struct listing listing = { nodes, *count, 0 };
    for (unsigned i = 0; i < graph->count; i++)
        if (!roots || !graph->nodes[i]->dependency_count)
            list(&listing, graph->nodes[i]);
    return list_end(&listing, count);
}

API(cuGraphGetNodes, (struct sim_graph * graph, struct sim_node **nodes, size_t *count), (graph, nodes, count))
{
    return list_nodes(graph, nodes, count, false);
}

API(cuGraphGetRootNodes, (struct sim_graph * graph, struct sim_node **nodes, size_t *count), (graph, nodes, count))
{
    return list_nodes(graph, nodes, count, true);
}

API(cuGraphGetEdges, (struct sim_graph * graph, struct sim_node **from, struct sim_node **to, size_t *count),
    (graph, from, to, count))
{
    NEED(count && !from == !to);
    TRY(graph_check(graph));
    struct listing sources = { from, *count, 0 }, targets = { to, *count, 0 };
    for (unsigned i = 0; i < graph->count; i++)
        for (unsigned j = 0; j < graph->nodes[i]->dependency_count; j++) {
            list(&sources, graph->nodes[i]->dependencies[j]);
            list(&targets, graph->nodes[i]);
        }
    list_end(&sources, count);
    *count = targets.room; /* list_end has changed *count, so this sets it to the size of the caller's arrays again */
    return list_end(&targets, count);
}

static void plain_edges(ws_CUgraphEdgeData *edges, const size_t *count)
{
    if (edges)
        memset(edges, 0, *count * sizeof(*edges));
}

API(cuGraphGetEdges_v2,
    (struct sim_graph * graph, struct sim_node **from, struct sim_node **to, ws_CUgraphEdgeData *edges,
     size_t *count),
    (graph, from, to, edges, count))
{
    TRY(body_cuGraphGetEdges(graph, from, to, count));
    plain_edges(edges, count);
    return WS_CUDA_SUCCESS;
}

API(cuGraphNodeGetDependencies, (struct sim_node * node, struct sim_node **nodes, size_t *count),
    (node, nodes, count))
{
    NEED(count);
    TRY(node_check(node));
    struct listing listing = { nodes, *count, 0 };
    for (unsigned i = 0; i < node->dependency_count; i++)
        list(&listing, node->dependencies[i]);
    return list_end(&listing, count);
}

API(cuGraphNodeGetDependencies_v2,
    (struct sim_node * node, struct sim_node **nodes, ws_CUgraphEdgeData *edges, size_t *count),
    (node, nodes, edges, count))
{
    TRY(body_cuGraphNodeGetDependencies(node, nodes, count));
    plain_edges(edges, count);
    return WS_CUDA_SUCCESS;
}

API(cuGraphNodeGetDependentNodes, (struct sim_node * node, struct sim_node **nodes, size_t *count),
    (node, nodes, count))
{
    NEED(count);
    TRY(node_check(node));
    struct listing listing = { nodes, *count, 0 };
    for (unsigned i = 0; i < node->graph->count; i++)
        for (unsigned j = 0; j < node->graph->nodes[i]->dependency_count; j++)
            if (node->graph->nodes[i]->dependencies[j] == node)
                list(&listing, node->graph->nodes[i]);
    return list_end(&listing, count);
}

API(cuGraphNodeGetDependentNodes_v2,
    (struct sim_node * node, struct sim_node **nodes, ws_CUgraphEdgeData *edges, size_t *count),
    (node, nodes, edges, count))
{
    TRY(body_cuGraphNodeGetDependentNodes(node, nodes, count));
    plain_edges(edges, count);
    return WS_CUDA_SUCCESS;
}

API(cuGraphAddDependencies,
    (struct sim_graph * graph, struct sim_node *const *from, struct sim_node *const *to, size_t count),
    (graph, from, to, count))
{
    TRY(graph_check(graph));
    NEED(!count || (from && to));
    for (size_t i = 0; i < count; i++) {
        TRY(node_check(from[i]));
        TRY(node_check(to[i]));
        NEED(from[i]->graph == graph && to[i]->graph == graph && from[i] != to[i]);
        NEED(sim_node_depend(to[i], from[i]));
    }
    return WS_CUDA_SUCCESS;
}

API(cuGraphAddDependencies_v2,
    (struct sim_graph * graph, struct sim_node *const *from, struct sim_node *const *to,
     const ws_CUgraphEdgeData *edges, size_t count),
    (graph, from, to, edges, count))
{
    (void)edges;
    return body_cuGraphAddDependencies(graph, from, to, count);
}

API(cuGraphRemoveDependencies,
    (struct sim_graph * graph, struct sim_node *const *from, struct sim_node *const *to, size_t count),
    (graph, from, to, count))
{
    TRY(graph_check(graph));
    NEED(!count || (from && to));
    for (size_t i = 0; i < count; i++) {
        TRY(node_check(to[i]));
        unsigned at = 0;
        while (at < to[i]->dependency_count && to[i]->dependencies[at] != from[i])
            at++;
        NEED(at < to[i]->dependency_count);
        to[i]->dependencies[at] = to[i]->dependencies[--to[i]->dependency_count];
    }
    return WS_CUDA_SUCCESS;
}

API(cuGraphRemoveDependencies_v2,
    (struct sim_graph * graph, struct sim_node *const *from, struct sim_node *const *to,
     const ws_CUgraphEdgeData *edges, size_t count),
    (graph, from, to, edges, count))
{
    (void)edges;
    return body_cuGraphRemoveDependencies(graph, from, to, count);
}

API(cuGraphDebugDotPrint, (struct sim_graph * graph, const char *path, unsigned flags), (graph, path, flags))
{
    (void)flags;
    NEED(path);
    TRY(graph_check(graph));
    FILE *file = fopen(path, "w");
    if (!file)
        return WS_CUDA_ERROR_OPERATING_SYSTEM;
    fprintf(file, "digraph graph_1 {\n");
    for (unsigned i = 0; i < graph->count; i++) {
        const struct sim_node *node = graph->nodes[i];
        fprintf(file, "\"%p\" [label=\"%s\"];\n", (void *)node, node->work.name ? node->work.name : "");
        for (unsigned j = 0; j < node->dependency_count; j++)
            fprintf(file, "\"%p\" -> \"%p\";\n", (void *)node->dependencies[j], (void *)node);
    }
    fprintf(file, "}\n");
    fclose(file);
    return WS_CUDA_SUCCESS;
}
