/* Reads the threads' rings (their buffers of records): the records become rows of the trace. Only the drain thread
 * calls these functions. */
#ifndef WALLSHIM_SHIM_DRAIN_RING_READER_H
#define WALLSHIM_SHIM_DRAIN_RING_READER_H

#include <stdint.h>

struct shim_thread;

/* Called before a trace begins. Forgets which blocks of kernel parameters have a row, because the new trace needs
 * these rows again. */
void ring_reader_begin(void);

/* Reads the records in the thread's ring up to `head`. Operations that are to get device times wait in their stream's
 * queue. All other records become rows at once. */
void ring_reader_read(struct shim_thread *thread, uint64_t head);

#endif
