/* A process whose first thread has left by pthread_exit ends with the last of its other threads. Threads of ours must
 * not keep it. */
#ifndef WALLSHIM_SHIM_STATE_FIRST_THREAD_H
#define WALLSHIM_SHIM_STATE_FIRST_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* Remembers the word that the kernel clears when the first thread is gone. That thread calls it, when the shim is
 * loaded. */
void first_thread_watch(void);

/* The thread that forked is the child's first. It calls this there. */
void first_thread_after_fork(void);

/* One load where the word is known; always true where it is not. */
bool first_thread_may_be_gone(void);

/* Is the caller the only thread, but for `others` of ours? The kernel is asked at most every FIRST_THREAD_LOOK_NS,
 * and only when the first thread may be gone. */
enum { FIRST_THREAD_LOOK_NS = 100000000 };
bool first_thread_left_alone(int64_t now, unsigned others);

#endif
