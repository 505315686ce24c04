/* Gives the rings' pages memory before their threads write to them. The first write to a new page takes a page fault,
 * about a microsecond, and one launch in 64 would pay for it. Everything here is for the drain thread alone. */
#ifndef WALLSHIM_SHIM_DRAIN_RING_PAGES_H
#define WALLSHIM_SHIM_DRAIN_RING_PAGES_H

#include <stdint.h>

struct shim_thread;

/* Touches pages ahead of the ring's head. A thread that has written much since the last call gets more of them. */
void ring_pages_keep(struct shim_thread *thread, uint64_t head);

/* The same for all threads that got their state since the last call. */
void ring_pages_of_new_threads(void);

#endif
