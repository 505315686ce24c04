/* Reads the threads' rings: their records become rows of the trace. Everything here is for the drain thread alone. */
#ifndef WALLSHIM_SHIM_DRAIN_RING_READER_H
#define WALLSHIM_SHIM_DRAIN_RING_READER_H

#include <stdint.h>

struct shim_thread;

/* Takes the thread's records up to head. Operations that are to get device times wait in their stream's queue; all
 * other records become rows at once. */
void ring_reader_read(struct shim_thread *thread, uint64_t head);

#endif
