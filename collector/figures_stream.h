/* Functions of figures.c that only figures_stream.c needs. */
#ifndef WALLSHIM_COLLECTOR_FIGURES_STREAM_H
#define WALLSHIM_COLLECTOR_FIGURES_STREAM_H

#include "collector/figures.h"

/* Finds the entry of the process that `source` describes, or adds one. Returns NULL if there are too many processes,
 * or memory runs out. */
struct figures_process *figures_process_of(struct figures *figures, const struct figures_source *source);

/* Counts all operations that still wait in the buffers of the process's devices (figures_device.h). */
void figures_process_settle(struct figures_process *process);

#endif
