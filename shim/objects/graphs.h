/* Executable graphs, and the nodes that the launch of a graph runs. The driver is asked for the nodes when the graph
 * is instantiated. */
#ifndef WALLSHIM_SHIM_OBJECTS_GRAPHS_H
#define WALLSHIM_SHIM_OBJECTS_GRAPHS_H

#include <stdint.h>

#include "abi/cuda.h"

/* The graph's number in the trace; 0: the shim did not see the graph instantiated, or a lock was not free in time. */
uint32_t graph_id(ws_CUgraphExec exec);

/* `exec` was instantiated from `graph`: gives `exec` a number, and asks the driver for the nodes of `graph`. */
void graph_describe(ws_CUgraphExec exec, ws_CUgraph graph);

/* Called when the executable graph is about to be destroyed. */
void graph_forget(ws_CUgraphExec exec);

#endif
