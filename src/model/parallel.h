/* Processes rows in adjacent parts, one thread each. */
#ifndef WALLSHIM_MODEL_PARALLEL_H
#define WALLSHIM_MODEL_PARALLEL_H

#include <stddef.h>

enum { WS_MOST_PARTS = 8 };

/* Returns the number of parts into which to divide `rows` rows: one per core, up to WS_MOST_PARTS; fewer if there
 * are few rows. */
unsigned ws_parallel_parts(size_t rows);

/* Calls `run` for each part: for part 0 on the calling thread, for each other part on a new thread. Returns when all
 * calls have returned. */
void ws_parallel(unsigned parts, void (*run)(void *user, unsigned part), void *user);

#endif
