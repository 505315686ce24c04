/* What is in CUDA graphs. A trace of wallshim times a graph's launch as a whole, and lists the graph's nodes. Most
 * programs run the same kernels, with the same grids, outside of the graph too: before they capture it. So the times
 * that kernels take outside tell about what share of the graph each of them has. Inside of a graph kernels may
 * overlap, and the device takes less time from one to the next. */
#ifndef WALLSHIM_ANALYSIS_KERNELS_GRAPHS_H
#define WALLSHIM_ANALYSIS_KERNELS_GRAPHS_H

#include "base/vector.h"
#include "report/analysis.h"

/* The nodes of a graph that have the same name and were captured at the same line. */
struct ws_graph_kernel {
    uint32_t name;   /* index into ws_model.names */
    uint32_t place;  /* where they were captured, as in model/stacks.h; WS_NO_FRAME: not known */
    uint64_t nodes;  /* number of nodes */
    uint64_t timed;  /* number of those whose kernel also ran outside of graphs, with the same grid and block */
    int64_t outside; /* ns that the `timed` nodes take outside of graphs: the sum of the mean times of their kernels,
                        in which the most exact ones count most */
};

/* A graph that the device ran. */
struct ws_graph {
    uint32_t id;   /* the executable graph's id in the trace */
    uint32_t name; /* index into ws_model.names */
    uint64_t launches;
    int64_t total;  /* ns that all launches took on the device */
    uint64_t nodes; /* number of enabled nodes: kernels, copies and memsets; 0: not known */
    uint64_t timed; /* as in struct ws_graph_kernel */
    int64_t outside;
    int64_t outside_error;    /* ns by which `outside` may be wrong, because of the errors of times */
    struct ws_vector kernels; /* struct ws_graph_kernel, longest `outside` first */
};

struct ws_track_graphs {
    struct ws_vector graphs; /* struct ws_graph, longest `total` first */
};

extern const struct ws_analysis ws_analysis_graphs;

/* Infers the share of matrix work in the time of the graphs that the device ran, from the times of their kernels
 * outside of them. Returns false if these tell too little: in graphs that took most of the time of all graphs, most
 * nodes must have run outside, and must have taken about as long there as the graph, with errors of at most half of
 * that. */
bool ws_graphs_matmul_share(const struct ws_report *report, size_t track, double *share);

/* defined in graphs_report.c */
void ws_graphs_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page);
int ws_graphs_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
