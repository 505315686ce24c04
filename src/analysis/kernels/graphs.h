/* What CUDA graphs contain. A trace of wallshim has the time of a graph's launch as a whole, and a list of the
 * graph's nodes (kernels, copies and memsets). Most programs run the same kernels with the same grids outside of the
 * graph too, before they capture it. The times of these runs show roughly which share of the graph's time each kernel
 * takes. These times do not add up to the graph's time: inside a graph kernels may overlap, and the pauses between
 * them are shorter. */
#ifndef WALLSHIM_ANALYSIS_KERNELS_GRAPHS_H
#define WALLSHIM_ANALYSIS_KERNELS_GRAPHS_H

#include "base/vector.h"
#include "report/analysis.h"

/* The nodes of a graph that have the same name and were captured at the same line of the program. */
struct ws_graph_kernel {
    uint32_t name;   /* index into ws_model.names */
    uint32_t place;  /* where the nodes were captured (model/stacks.h); WS_NO_FRAME: not known */
    uint64_t nodes;  /* number of nodes */
    uint64_t timed;  /* number of nodes whose kernel also ran outside of graphs, with the same grid and block */
    int64_t outside; /* ns: sum of the mean times that the kernels of the `timed` nodes take outside of graphs; the
                        mean of a kernel gives more weight to runs with more exact times */
};

/* A graph that the device ran. */
struct ws_graph {
    uint32_t id;   /* the executable graph's id in the trace */
    uint32_t name; /* index into ws_model.names */
    uint64_t launches;
    int64_t total;  /* ns that all launches took on the device */
    uint64_t nodes; /* number of enabled nodes: kernels, copies and memsets; 0: not known */
    uint64_t timed; /* `timed` and `outside`: sums of these fields of the graph's struct ws_graph_kernel */
    int64_t outside;
    int64_t outside_error;    /* ns by which `outside` may be wrong, because of the errors of the times in it */
    struct ws_vector kernels; /* struct ws_graph_kernel, longest `outside` first */
};

struct ws_track_graphs {
    struct ws_vector graphs; /* struct ws_graph, longest `total` first */
};

extern const struct ws_analysis ws_analysis_graphs;

/* Infers which share of the graphs' time is matrix work, from the times of their kernels outside of graphs. A graph
 * counts if three conditions hold. More than half of its nodes have such times. The sum of these times is between
 * half and twice the graph's own time. The error of the sum is at most half of the sum. Returns false if the graphs
 * that count took at most half of the time of all graphs. */
bool ws_graphs_matmul_share(const struct ws_report *report, size_t track, double *share);

/* defined in graphs_report.c */
void ws_graphs_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page);
int ws_graphs_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
