#include "engine/graph.h"

#include <stdlib.h>
#include <string.h>

struct sim_graph *sim_graph_create(void)
{
    struct sim_graph *graph = calloc(1, sizeof(*graph));
    if (graph)
        graph->magic = SIM_GRAPH;
    return graph;
}

/* Called after a work description was copied. Both descriptions use the same arguments, so the arguments get one more
 * reference. */
void sim_work_share(struct sim_work *work)
{
    if (work->kind == SIM_WORK_KERNEL && work->launch.arguments)
        __atomic_add_fetch(&work->launch.arguments->references, 1, __ATOMIC_RELAXED);
}

struct sim_node *sim_node_add(struct sim_graph *graph, ws_CUenum type, const struct sim_work *work,
                              struct sim_context *context)
{
    if (graph->count == graph->capacity) {
        unsigned capacity = graph->capacity ? graph->capacity * 2 : 16;
        struct sim_node **larger = realloc(graph->nodes, capacity * sizeof(struct sim_node *));
        if (!larger)
            return NULL;
        graph->nodes = larger;
        graph->capacity = capacity;
    }
    struct sim_node *node = calloc(1, sizeof(*node));
    if (!node)
        return NULL;
    node->magic = SIM_NODE;
    node->graph = graph;
    node->type = type;
    node->work = *work;
    node->context = context;
    graph->nodes[graph->count++] = node;
    return node;
}

bool sim_node_depend(struct sim_node *node, struct sim_node *on)
{
    for (unsigned i = 0; i < node->dependency_count; i++)
        if (node->dependencies[i] == on)
            return false;
    if (node->dependency_count == node->dependency_capacity) {
        unsigned capacity = node->dependency_capacity ? node->dependency_capacity * 2 : 2;
        struct sim_node **larger = realloc(node->dependencies, capacity * sizeof(struct sim_node *));
        if (!larger)
            return false;
        node->dependencies = larger;
        node->dependency_capacity = capacity;
    }
    node->dependencies[node->dependency_count++] = on;
    return true;
}

static void node_free(struct sim_node *node)
{
    sim_work_finish(&node->work);
    if (node->type == WS_CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        sim_memory_free(node->work.memory.address, SIM_MEMORY_DEVICE);
    if (node->child)
        sim_graph_destroy(node->child);
    free(node->dependencies);
    node->magic = 0;
    free(node);
}

void sim_node_destroy(struct sim_node *node)
{
    struct sim_graph *graph = node->graph;
    unsigned at = 0;
    for (unsigned i = 0; i < graph->count; i++) {
        struct sim_node *other = graph->nodes[i];
        if (other == node)
            continue;
        graph->nodes[at++] = other;
        unsigned kept = 0;
        for (unsigned j = 0; j < other->dependency_count; j++)
            if (other->dependencies[j] != node)
                other->dependencies[kept++] = other->dependencies[j];
        other->dependency_count = kept;
    }
    graph->count = at;
    node_free(node);
}

void sim_graph_destroy(struct sim_graph *graph)
{
    for (unsigned i = 0; i < graph->count; i++)
        node_free(graph->nodes[i]);
    free(graph->nodes);
    graph->magic = 0;
    free(graph);
}

struct sim_graph *sim_graph_clone(const struct sim_graph *graph)
{
    struct sim_graph *clone = sim_graph_create();
    for (unsigned i = 0; clone && i < graph->count; i++) {
        struct sim_node *from = graph->nodes[i];
        struct sim_node *node = sim_node_add(clone, from->type, &from->work, from->context);
        if (!node)
            goto error;
        sim_work_share(&node->work);
        from->index = i;
        node->original = from;
        node->copy = from->copy;
        node->memset = from->memset;
        if (from->child) {
            node->child = sim_graph_clone(from->child);
            if (!node->child)
                goto error;
            node->child->owned = true;
        }
    }
    for (unsigned i = 0; clone && i < graph->count; i++)
        for (unsigned j = 0; j < graph->nodes[i]->dependency_count; j++)
            sim_node_depend(clone->nodes[i], clone->nodes[graph->nodes[i]->dependencies[j]->index]);
    return clone;
error:
    sim_graph_destroy(clone);
    return NULL;
}
