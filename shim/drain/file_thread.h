/* A thread of ours that holds the trace's file in a descriptor table of its own. Nothing that the program does to its
 * descriptors reaches the file, not even a dup2 between a look and a write. Nothing of ours is in the program's
 * table, or kept open by a copy of it.
 *
 * The drain cannot have such a table: the driver finds its devices through the program's descriptors. */
#ifndef WALLSHIM_SHIM_DRAIN_FILE_THREAD_H
#define WALLSHIM_SHIM_DRAIN_FILE_THREAD_H

/* For the drain. Where there can be no thread, or no table of its own, all works as without one. */
void file_thread_start(void);

/* The thread runs work(data); returns its result, or -EIO when the thread is gone, as a filter of system calls may
 * have it. For the drain alone. */
int file_thread_do(int (*work)(void *data), void *data);

/* Ends the thread: a process must not live on for it. */
void file_thread_end(void);

/* How many threads that are, 0 or 1. */
unsigned file_thread_count(void);

#endif
