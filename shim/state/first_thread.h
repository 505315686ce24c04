/* If a program's first thread (the thread that runs main) ends by pthread_exit, the process lives until its last
 * thread ends. The shim's own threads must not keep such a process alive, so they need to know whether all of the
 * program's threads have ended. */
#ifndef WALLSHIM_SHIM_STATE_FIRST_THREAD_H
#define WALLSHIM_SHIM_STATE_FIRST_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* Remembers the address of the thread id that the kernel sets to 0 when the first thread ends. Called when the shim
 * is loaded. If another thread than the first one calls it, the address stays unknown. */
void first_thread_watch(void);

/* Called in a forked child, by the thread that forked. That thread is the child's first thread. */
void first_thread_after_fork(void);

/* May the first thread have ended? Always true if the address of the first thread's id is not known. The check costs
 * one load. */
bool first_thread_may_be_gone(void);

/* Have all threads of the program ended, so that only the calling thread and `others` more threads of the shim are
 * left? Reads /proc at most every FIRST_THREAD_LOOK_NS, and only if the first thread may have ended. */
enum { FIRST_THREAD_LOOK_NS = 100000000 };
bool first_thread_left_alone(int64_t now, unsigned others);

#endif
