#include "analysis/kernels/graphs.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/kernels/classify.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/minmax.h"

enum { LEAST_ERROR = 100 }; /* ns; added to each error, so that exact times do not outweigh all others */

/* All operations, and all nodes of graphs, that have the same key (work_key). They take about the same time. */
struct work {
    uint64_t count; /* number of these operations that ran outside of graphs and have times */
    double total;   /* sum of the ns that they took, each divided by its error: exact times count most */
    double weights; /* sum of the reciprocals of the errors in `total` */
    uint32_t place; /* where one of these operations was captured; WS_NO_FRAME: not known */
};

struct finder {
    const struct ws_process *process;
    size_t track;
    struct ws_map of_keys; /* key of a work → index in `works` + 1 */
    struct ws_vector works;
    struct ws_map of_graphs;   /* id of a graph → index of its first node + 1 */
    uint32_t *of_shapes;       /* by index of a shape: index in `works` + 1; 0: not a kernel, or in no graph */
    struct ws_vector captured; /* size_t: captured operations, in the order of their records */
    size_t matched;            /* index in `captured` at which the next search of capture_of begins */
};

/* Returns the key of the work that operations of this shape do. A kernel with the same grid and block does the same
 * work in every stream, whichever driver function launched it. The key leaves out the inputs, because nodes of a
 * graph do not tell for which inputs cuBLAS chose the kernel. Copies and memsets are not compared, because their
 * shapes do not tell their sizes. */
static uint64_t work_key(const struct ws_shape *shape)
{
    struct ws_shape row = *shape;
    row.id = row.stream = row.driver_function = row.inputs = 0;
    return ws_hash_key(&row, sizeof(row));
}

static struct work *work_at(const struct finder *finder, uint32_t shape)
{
    uint32_t work = finder->of_shapes[shape];
    return work ? (struct work *)finder->works.data + (work - 1) : NULL;
}

/* Returns the index of the node's shape in ws_process.shapes; UINT32_MAX: the trace lacks the shape. */
static uint32_t shape_of(const struct ws_process *process, const struct ws_graph_node *node)
{
    uint32_t index = ws_entries_place(&process->shape_rows, node->shape);
    return index < process->shapes.count ? index : UINT32_MAX;
}

static int make_works(struct finder *finder)
{
    const struct ws_process *process = finder->process;
    const struct ws_graph_node *nodes = process->graph_nodes.data;
    for (size_t i = 0; i < process->graph_nodes.count; i++) {
        uint64_t *first = nodes[i].graph ? ws_map_put(&finder->of_graphs, nodes[i].graph) : NULL;
        if (nodes[i].graph && !first)
            return -ENOMEM;
        if (first && !*first)
            *first = i + 1;
        uint32_t shape = shape_of(process, &nodes[i]);
        if (shape == UINT32_MAX)
            continue;
        uint64_t *work = ws_map_put(&finder->of_keys, work_key(&ws_process_shape(process, shape)->row));
        if (work && !*work) {
            struct work *made = ws_vector_push(&finder->works);
            if (!made)
                return -ENOMEM;
            *made = (struct work){ .place = WS_NO_FRAME };
            *work = finder->works.count;
        }
        if (!work)
            return -ENOMEM;
    }
    for (size_t i = 0; i < process->shapes.count; i++) {
        const struct ws_shape *row = &ws_process_shape(process, i)->row;
        const uint64_t *work = row->kind == WS_OP_KERNEL ? ws_map_get(&finder->of_keys, work_key(row)) : NULL;
        finder->of_shapes[i] = work ? (uint32_t)*work : 0;
    }
    return 0;
}

static int sum_works(struct finder *finder)
{
    const struct ws_process *process = finder->process;
    const struct ws_ops *ops = &process->ops;
    for (size_t op = 0; op < ops->count; op++) {
        struct work *work = work_at(finder, ops->shape[op]);
        if (ops->flags[op] & WS_OP_CAPTURED) {
            size_t *captured = ws_vector_push(&finder->captured);
            if (!captured)
                return -ENOMEM;
            *captured = op;
            if (work && work->place == WS_NO_FRAME)
                work->place = ws_stacks_of_shape(&process->stacks, ws_process_shape(process, ops->shape[op])->row.id);
        } else if (work && ws_op_is_timed(ops, op) &&
                   ws_process_shape(process, ops->shape[op])->track == finder->track) {
            work->count++;
            double error = (double)(LEAST_ERROR + ws_op_begin_error(ops, op) + ws_op_end_error(ops, op));
            work->total += (double)ws_op_length(ops, op) / error;
            work->weights += 1 / error;
        }
    }
    return 0;
}

/* --- one graph ------------------------------------------------------------------------------------- */

struct nodes {
    const struct ws_graph_node *first;
    size_t count;
};

/* Returns the nodes of a graph. The trace lists them one after the other. */
static struct nodes nodes_of(const struct finder *finder, uint32_t graph)
{
    const struct ws_graph_node *all = finder->process->graph_nodes.data;
    const uint64_t *place = ws_map_get(&finder->of_graphs, graph);
    size_t count = finder->process->graph_nodes.count, first = place ? *place - 1 : count, end = first;
    while (end < count && all[end].graph == graph)
        end++;
    return (struct nodes){ all + first, end - first };
}

/* Can the captured operation have become the node? `node` and `op` are the indices of their shapes. */
static bool is_same_work(const struct finder *finder, uint32_t node, uint32_t op)
{
    uint32_t kind = ws_process_shape(finder->process, node)->row.kind;
    return kind == ws_process_shape(finder->process, op)->row.kind &&
           (kind != WS_OP_KERNEL || finder->of_shapes[node] == finder->of_shapes[op]);
}

/* Do the captured operations from index `first` on match these nodes, one by one? Nodes are mostly in the order in
 * which their operations were captured. */
static bool were_captured_at(const struct finder *finder, struct nodes nodes, size_t first)
{
    const struct ws_process *process = finder->process;
    const size_t *captured = finder->captured.data;
    if (nodes.count > finder->captured.count - first)
        return false;
    for (size_t i = 0; i < nodes.count; i++) {
        uint32_t node = shape_of(process, &nodes.first[i]), op = process->ops.shape[captured[first + i]];
        if (node == UINT32_MAX || !is_same_work(finder, node, op))
            return false;
    }
    return true;
}

/* Returns the index in finder->captured of the operation that became the graph's first node; SIZE_MAX: not known. The
 * search begins after the operations of the previous graph, because programs mostly create graphs in the order in
 * which they captured them. */
static size_t capture_of(struct finder *finder, struct nodes nodes)
{
    for (size_t first = finder->matched; nodes.count && first < finder->captured.count; first++) {
        if (!were_captured_at(finder, nodes, first))
            continue;
        finder->matched = first + nodes.count;
        return first;
    }
    return SIZE_MAX;
}

/* Returns the place in the program at which an operation was launched. If the trace has no stacks of the launching
 * thread, returns the place at which another thread waited at that time. */
static uint32_t place_of_op(const struct ws_process *process, size_t op)
{
    uint32_t thread = ws_op_thread(&process->ops, op);
    int64_t launched = ws_op_host_begin(&process->ops, op);
    uint32_t place = ws_stacks_at(&process->stacks, thread, launched, 0);
    return place != WS_NO_FRAME ? place : ws_stacks_waiting(&process->stacks, thread, launched);
}

static struct ws_graph_kernel *kernel_of(struct ws_graph *graph, uint32_t name, uint32_t place)
{
    struct ws_graph_kernel *kernels = graph->kernels.data;
    for (size_t i = 0; i < graph->kernels.count; i++)
        if (kernels[i].name == name && kernels[i].place == place)
            return &kernels[i];
    struct ws_graph_kernel *made = ws_vector_push(&graph->kernels);
    if (made)
        *made = (struct ws_graph_kernel){ .name = name, .place = place };
    return made;
}

static int longest_first(const void *a, const void *b)
{
    const struct ws_graph_kernel *x = a, *y = b;
    if (x->outside != y->outside)
        return x->outside < y->outside ? 1 : -1;
    if (x->nodes != y->nodes)
        return x->nodes < y->nodes ? 1 : -1;
    return x->name != y->name ? (x->name > y->name) - (x->name < y->name)
                              : (x->place > y->place) - (x->place < y->place);
}

static int list_nodes(struct finder *finder, struct ws_graph *graph)
{
    const struct ws_process *process = finder->process;
    struct nodes nodes = nodes_of(finder, graph->id);
    size_t captured = capture_of(finder, nodes);
    for (size_t i = 0; i < nodes.count; i++) {
        uint32_t shape = shape_of(process, &nodes.first[i]), place = WS_NO_FRAME;
        if (shape == UINT32_MAX || !nodes.first[i].enabled)
            continue;
        const struct work *work = work_at(finder, shape);
        if (captured != SIZE_MAX)
            place = place_of_op(process, ((const size_t *)finder->captured.data)[captured + i]);
        if (place == WS_NO_FRAME && work)
            place = work->place;
        struct ws_graph_kernel *kernel = kernel_of(graph, ws_process_shape(process, shape)->name, place);
        if (!kernel)
            return -ENOMEM;
        int64_t outside = work && work->count ? (int64_t)(work->total / work->weights) : 0;
        kernel->nodes++;
        kernel->timed += work && work->count;
        kernel->outside += outside;
        graph->nodes++;
        graph->timed += work && work->count;
        graph->outside += outside;
        graph->outside_error += work && work->count ? (int64_t)((double)work->count / work->weights) : 0;
    }
    if (graph->kernels.count)
        qsort(graph->kernels.data, graph->kernels.count, sizeof(struct ws_graph_kernel), longest_first);
    return 0;
}

/* --- all graphs of a device --------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const struct ws_graph *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static int graphs_longest_first(const void *a, const void *b)
{
    const struct ws_graph *x = a, *y = b;
    return x->total != y->total ? (x->total < y->total ? 1 : -1) : by_id(a, b);
}

/* Lists the graphs that the device ran, with their times. */
static int list_graphs(const struct ws_process *process, size_t subject, struct ws_vector *graphs)
{
    const struct ws_ops *ops = &process->ops;
    struct ws_map of_ids = { 0 };
    int status = 0;
    for (size_t op = 0; op < ops->count && !status; op++) {
        const struct ws_op_shape *shape = ws_process_shape(process, ops->shape[op]);
        if (shape->row.kind != WS_OP_GRAPH || shape->track != subject || !shape->row.function ||
            !ws_op_is_timed(ops, op))
            continue;
        uint64_t *place = ws_map_put(&of_ids, shape->row.function);
        struct ws_graph *graph = place && !*place ? ws_vector_push(graphs) : NULL;
        if (graph) {
            *graph = (struct ws_graph){ .id = shape->row.function,
                                        .name = shape->name,
                                        .kernels = WS_VECTOR(struct ws_graph_kernel) };
            *place = graphs->count;
        }
        if (!place || !*place) {
            status = -ENOMEM;
            break;
        }
        graph = (struct ws_graph *)graphs->data + (*place - 1);
        graph->launches++;
        graph->total = ws_sum(graph->total, ws_op_length(ops, op));
    }
    ws_map_finish(&of_ids);
    return status;
}

static int graphs_run(const struct ws_report *report, size_t subject, void *memory)
{
    struct ws_track_graphs *result = memory;
    struct finder finder = { .process =
                                 ws_model_process(report->model, ws_model_track(report->model, subject)->process),
                             .track = subject,
                             .works = WS_VECTOR(struct work),
                             .captured = WS_VECTOR(size_t) };
    result->graphs = WS_VECTOR(struct ws_graph);
    if (!finder.process->graph_nodes.count)
        return 0;
    int status = list_graphs(finder.process, subject, &result->graphs);
    if (!status && result->graphs.count) {
        struct ws_graph *graphs = result->graphs.data;
        qsort(graphs, result->graphs.count, sizeof(*graphs), by_id);
        finder.of_shapes = calloc(finder.process->shapes.count + 1, sizeof(*finder.of_shapes));
        status = finder.of_shapes ? make_works(&finder) : -ENOMEM;
        status = status ? status : sum_works(&finder);
        for (size_t i = 0; i < result->graphs.count && !status; i++)
            status = list_nodes(&finder, &graphs[i]);
        qsort(graphs, result->graphs.count, sizeof(*graphs), graphs_longest_first);
    }
    ws_map_finish(&finder.of_keys);
    ws_map_finish(&finder.of_graphs);
    ws_vector_finish(&finder.works);
    ws_vector_finish(&finder.captured);
    free(finder.of_shapes);
    return status;
}

/* If the sum of the nodes' times outside of graphs differs from the graph's time by more than this factor, the sum is
 * not used: the kernels overlap much, or their times have large errors. */
static const double ALIKE = 2;

bool ws_graphs_matmul_share(const struct ws_report *report, size_t track, double *share)
{
    const struct ws_track_graphs *result = ws_report_result(report, &ws_analysis_graphs, track);
    const struct ws_graph *graphs = result->graphs.data;
    double all = 0, known = 0, matmul = 0;
    for (size_t i = 0; i < result->graphs.count; i++) {
        const struct ws_graph_kernel *kernels = graphs[i].kernels.data;
        double total = (double)graphs[i].total, outside = (double)graphs[i].outside;
        double mean = total / (double)graphs[i].launches;
        all += total;
        if (graphs[i].timed <= graphs[i].nodes / 2 || outside < mean / ALIKE || outside > mean * ALIKE ||
            (double)graphs[i].outside_error > outside / ALIKE)
            continue;
        known += total;
        for (size_t k = 0; k < graphs[i].kernels.count; k++)
            if (ws_class_is_matmul(ws_report_class(report, kernels[k].name)))
                matmul += total * (double)kernels[k].outside / outside;
    }
    *share = known > 0 ? matmul / known : 0;
    return known > all / 2;
}

static void graphs_finish(void *memory)
{
    struct ws_track_graphs *result = memory;
    struct ws_graph *graphs = result->graphs.data;
    for (size_t i = 0; i < result->graphs.count; i++)
        ws_vector_finish(&graphs[i].kernels);
    ws_vector_finish(&result->graphs);
}

static bool graphs_has_section(const void *memory)
{
    const struct ws_track_graphs *result = memory;
    return result->graphs.count;
}

const struct ws_analysis ws_analysis_graphs = {
    .name = "graphs",
    .title = "CUDA graphs",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_graphs),
    .run = graphs_run,
    .finish = graphs_finish,
    .has_section = graphs_has_section,
    .text = ws_graphs_text,
    .json = ws_graphs_json,
};
