/* A process whose first thread has left by pthread_exit ends with the last of the others, and must not wait for
 * threads of ours. */
#ifndef WALLSHIM_SHIM_FIRST_THREAD_H
#define WALLSHIM_SHIM_FIRST_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* Remembers where the kernel says that the first thread is gone. That thread calls it, when the shim is loaded. */
void first_thread_watch(void);

/* The thread that forked is the child's first. It calls this there. */
void first_thread_after_fork(void);

/* A load where the kernel told the place; else always true: it may be. */
bool first_thread_may_be_gone(void);

/* Is the caller alone, but for so many other threads of ours? Only the kernel knows; it is asked at most every
 * FIRST_THREAD_LOOK_NS, and only when the first thread may be gone. */
enum { FIRST_THREAD_LOOK_NS = 100000000 };
bool first_thread_left_alone(int64_t now, unsigned others);

#endif
