/* If a program's first thread leaves by pthread_exit, the process ends with the last of the other threads. Our own
 * threads must not keep the process alive. */
#ifndef WALLSHIM_SHIM_STATE_FIRST_THREAD_H
#define WALLSHIM_SHIM_STATE_FIRST_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* Remembers the address of the thread id that the kernel clears when the first thread is gone. The first thread calls
 * this, when the shim is loaded. */
void first_thread_watch(void);

/* Called in a forked child, by the thread that forked: it is the child's first thread. */
void first_thread_after_fork(void);

/* One load where that address is known; always true where it is not. */
bool first_thread_may_be_gone(void);

/* Is the calling thread the only one left, besides `others` that are ours too? The kernel is asked at most every
 * FIRST_THREAD_LOOK_NS, and only when the first thread may be gone. */
enum { FIRST_THREAD_LOOK_NS = 100000000 };
bool first_thread_left_alone(int64_t now, unsigned others);

#endif
