/* Has the pages of rings there before their threads come to them. The first write to a page of new memory takes a
 * fault, a microsecond or so, and a launch in 64 would pay it. Everything here is the drain thread's. */
#ifndef WALLSHIM_SHIM_DRAIN_RING_PAGES_H
#define WALLSHIM_SHIM_DRAIN_RING_PAGES_H

#include <stdint.h>

struct shim_thread;

/* Touches pages ahead of the head: more of them for a thread that wrote much since the last time. */
void ring_pages_keep(struct shim_thread *thread, uint64_t head);

/* The same for threads that began since the last time. */
void ring_pages_of_new_threads(void);

#endif
