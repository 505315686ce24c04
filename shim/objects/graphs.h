/* Executable graphs: what a launch of one runs, as the driver tells it when it is instantiated. */
#ifndef WALLSHIM_SHIM_OBJECTS_GRAPHS_H
#define WALLSHIM_SHIM_OBJECTS_GRAPHS_H

#include <stdint.h>

#include "abi/cuda.h"

/* The graph's dictionary number; 0 for one whose making was not seen. */
uint32_t graph_id(ws_CUgraphExec exec);

/* It was made of this graph: asks the driver for its nodes, and gives it a number. */
void graph_describe(ws_CUgraphExec exec, ws_CUgraph graph);

/* The handle is about to mean nothing. */
void graph_forget(ws_CUgraphExec exec);

#endif
