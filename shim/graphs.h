/* Executable graphs: what a launch of one runs, as the driver tells it when it is instantiated. */
#ifndef WALLSHIM_SHIM_GRAPHS_H
#define WALLSHIM_SHIM_GRAPHS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"

struct shim_thread;

/* The graph's dictionary number; 0 for one whose making was not seen. */
uint32_t graph_id(ws_CUgraphExec exec);

/* The thread's call that begins a capture or ends one will not return. Whether there is a capture now, the driver is
 * asked if it may be: else it counts as under way, until its stream goes. */
void capture_is_left(struct shim_thread *thread, bool ask);

#endif
