/* Rows worked on by several threads at once, in parts that follow each other. */
#ifndef WALLSHIM_MODEL_PARALLEL_H
#define WALLSHIM_MODEL_PARALLEL_H

#include <stddef.h>

enum { WS_MOST_PARTS = 8 };

/* How many parts so many rows are worth: one for each core up to WS_MOST_PARTS, and one where there are few. */
unsigned ws_parallel_parts(size_t rows);

/* Calls run for each part, one of them on this thread, and returns when all are done. */
void ws_parallel(unsigned parts, void (*run)(void *user, unsigned part), void *user);

#endif
