/* Gives the pages of the threads' rings (their buffers of records) memory before the threads write to them. The first
 * write to a new page causes a page fault of about a microsecond, which would delay one launch in 64. Only the drain
 * thread calls these functions. */
#ifndef WALLSHIM_SHIM_DRAIN_RING_PAGES_H
#define WALLSHIM_SHIM_DRAIN_RING_PAGES_H

#include <stdint.h>

struct shim_thread;

/* Touches the ring's pages ahead of `head` (the place of the thread's next record). The more records the thread has
 * written since the last call, the more pages are touched. */
void ring_pages_keep(struct shim_thread *thread, uint64_t head);

/* Calls ring_pages_keep for all threads that have got a ring since this function last ran. A thread gets its ring at
 * its first call that the shim wraps. */
void ring_pages_of_new_threads(void);

#endif
