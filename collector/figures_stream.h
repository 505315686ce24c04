/* Inside of the live figures: processes, for figures_stream.c. */
#ifndef WALLSHIM_COLLECTOR_FIGURES_STREAM_H
#define WALLSHIM_COLLECTOR_FIGURES_STREAM_H

#include "collector/figures.h"

/* Finds or makes the process with these labels. Returns NULL if there are too many, or memory runs out. */
struct figures_process *figures_process_of(struct figures *figures, const struct figures_source *source);

/* Sweeps all operations of its devices. */
void figures_process_settle(struct figures_process *process);

#endif
