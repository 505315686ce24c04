/* A thread of ours that holds the trace's file in a table of descriptors of its own. Nothing that the program does to
 * its descriptors reaches the file, not even a dup2 over the number between a look at it and a write; and nothing of
 * ours is in the program's table, or kept open by a copy of it.
 *
 * The drain cannot have such a table: the driver it calls finds its devices through the program's descriptors. */
#ifndef WALLSHIM_SHIM_FILE_THREAD_H
#define WALLSHIM_SHIM_FILE_THREAD_H

/* By the drain. Where no thread can be had, or it can have no table of its own, all works as it would without. */
void file_thread_start(void);

/* Has the thread do work(data), waits, and returns what it returned; -EIO when the thread is gone, as a filter of
 * system calls may have it. The drain's alone. */
int file_thread_do(int (*work)(void *data), void *data);

/* Ends the thread: a process must not live on for it. */
void file_thread_end(void);

/* How many threads that are, 0 or 1. */
unsigned file_thread_count(void);

#endif
