/* Graphs: nodes (their work and their dependencies), and executable graphs made from them. */
#ifndef SIMGPU_GRAPH_H
#define SIMGPU_GRAPH_H

#include "engine/engine.h"

struct sim_node {
    enum sim_magic magic;
    struct sim_graph *graph;
    ws_CUenum type; /* a value of CUgraphNodeType */
    struct sim_work work;
    struct sim_context *context;
    struct sim_node **dependencies;
    unsigned dependency_count, dependency_capacity;
    struct sim_graph *child;
    unsigned index; /* the node's index in graph->nodes; only valid within a function that has set it */
    bool marked;
    struct sim_node *original; /* in a cloned graph: the node of which this node is a copy */
    /* parameters of a copy or memset as the program gave them; the GetParams functions return them */
    ws_CUDA_MEMCPY3D copy;
    ws_CUDA_MEMSET_NODE_PARAMS memset;
};

struct sim_graph {
    enum sim_magic magic;
    struct sim_node **nodes; /* in the order in which they were created */
    unsigned count, capacity;
    bool owned; /* the graph is a child graph, and is freed with its node */
    bool capturing;
};

/* A node of an executable graph. The nodes of child graphs also become steps of the outermost graph. */
struct sim_step {
    const struct sim_node *source;
    struct sim_work work;
    unsigned *dependencies; /* indices of the earlier steps that this step waits for */
    unsigned dependency_count;
    unsigned branch;    /* index in `branches` of the stream that runs this step */
    bool enabled, last; /* last: no other step depends on it */
    struct sim_op *op;  /* the step's operation in the launch that is being queued */
};

struct sim_exec {
    enum sim_magic magic;
    struct sim_context *context;
    /* context->id when the graph was instantiated; if context->id has changed, the streams in `branches` are gone */
    uint64_t context_id;
    struct sim_step *steps;
    unsigned count, capacity;
    struct sim_stream **branches;
    unsigned branch_count;
    uint64_t flags;
    /* the next three: the stream of the previous launch, and the number and address of its last operation */
    struct sim_stream *last_stream;
    uint64_t last_number;
    struct sim_op *last_op;
};

struct sim_capture {
    struct sim_graph *graph;
    struct sim_context *context;
    struct sim_stream *origin;
    ws_CUenum mode;
    int tid;
    uint64_t id;
    atomic_bool active, invalidated;
    bool into_given_graph;
    struct sim_capture *next;
};

/* Functions that change a graph are called with sim_lock held. */
struct sim_graph *sim_graph_create(void);
void sim_graph_destroy(struct sim_graph *graph);
struct sim_graph *sim_graph_clone(const struct sim_graph *graph);
struct sim_node *sim_node_add(struct sim_graph *graph, ws_CUenum type, const struct sim_work *work,
                              struct sim_context *context);
bool sim_node_depend(struct sim_node *node, struct sim_node *on);
void sim_node_destroy(struct sim_node *node);

ws_CUresult sim_exec_create(struct sim_exec **exec, struct sim_graph *graph, struct sim_context *context);
void sim_exec_destroy(struct sim_exec *exec);
ws_CUresult sim_exec_launch(struct sim_exec *exec, struct sim_stream *stream);
struct sim_step *sim_exec_step(struct sim_exec *exec, const struct sim_node *node);
void sim_work_share(struct sim_work *work);

ws_CUresult sim_capture_begin(struct sim_stream *stream, ws_CUenum mode, struct sim_graph *graph,
                              struct sim_node **dependencies, size_t count);
ws_CUresult sim_capture_end(struct sim_stream *stream, struct sim_graph **graph);
void sim_capture_tips(struct sim_stream *stream, struct sim_node **nodes, size_t count, bool add);
extern __thread ws_CUenum sim_capture_mode __attribute__((tls_model("initial-exec")));

#endif
