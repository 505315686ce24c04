/* Executable graphs: what a launch of one runs, as the driver tells it when it is instantiated. */
#ifndef WALLSHIM_SHIM_GRAPHS_H
#define WALLSHIM_SHIM_GRAPHS_H

#include <stdint.h>

#include "abi/cuda.h"

/* The graph's dictionary number; 0 for one whose making was not seen. */
uint32_t graph_id(ws_CUgraphExec exec);

#endif
