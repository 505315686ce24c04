/* A thread of ours that has the trace's file open, in a descriptor table of its own. So nothing that the program does
 * to its descriptors reaches the file, not even a dup2 between a check and a write. The program's table contains no
 * descriptor of ours. The thread's table keeps no descriptor of the program open.
 *
 * The drain thread cannot have a descriptor table of its own: it calls the driver, which uses the program's
 * descriptors of its devices. */
#ifndef WALLSHIM_SHIM_DRAIN_FILE_THREAD_H
#define WALLSHIM_SHIM_DRAIN_FILE_THREAD_H

#include <stdbool.h>

/* For the drain. If the thread cannot be started, the drain writes the file itself. If the thread cannot have a table
 * of its own, it uses the program's. */
void file_thread_start(void);

/* Has the thread run work(data), and returns the result. If there is no thread, or it is gone (a seccomp filter may
 * have killed it), the caller runs work(data) itself. Only the drain may call this, or work that the thread is
 * running. Every switch between the two threads may take milliseconds on a busy machine, so pass work with many
 * writes as a whole. */
int file_thread_do(int (*work)(void *data), void *data);

/* Does the calling thread have a descriptor table of its own? True in the file thread, if it could get one. */
bool file_thread_has_table(void);

/* Ends the thread, so that it does not keep the process alive. */
void file_thread_end(void);

/* How many such threads there are, 0 or 1. */
unsigned file_thread_count(void);

#endif
