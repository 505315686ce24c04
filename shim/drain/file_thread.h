/* A thread of ours that has the trace's file open, in a descriptor table of its own. So nothing that the program does
 * to its descriptors affects the file: no dup2 of the program can redirect a write. The program's table contains no
 * descriptor of ours. The thread's table keeps no descriptor of the program open.
 *
 * The drain thread cannot have a descriptor table of its own: it calls the driver, which uses descriptors of device
 * files in the program's table. */
#ifndef WALLSHIM_SHIM_DRAIN_FILE_THREAD_H
#define WALLSHIM_SHIM_DRAIN_FILE_THREAD_H

#include <stdbool.h>

/* Called by the drain (the thread that writes the trace). Starts the file thread, unless it runs already. If the file
 * thread cannot be started, the drain writes the file itself. If the file thread cannot have a descriptor table of
 * its own, it uses the program's table. */
void file_thread_start(void);

/* Starts the file thread with the calling thread's descriptor table, so that the calling thread can pass descriptors
 * to it. The calling thread must have a descriptor table that the program does not use (own_table.h). Call this
 * before the drain calls file_thread_start. */
void file_thread_start_beside(void);

/* Makes the file thread run work(data), and returns the result. If there is no file thread, or no longer one (a
 * seccomp filter may have killed it), the caller runs work(data) itself. Only the drain may call this function, or a
 * `work` function that already runs in the file thread. Each switch between the drain and the file thread may take
 * milliseconds on a busy machine, so one call should do many writes. */
int file_thread_do(int (*work)(void *data), void *data);

/* Does the calling thread have a descriptor table of its own? True in the file thread, if it could get such a
 * table. */
bool file_thread_has_table(void);

/* Ends the file thread, so that it does not keep the process alive. */
void file_thread_end(void);

/* The number of file threads: 0 or 1. */
unsigned file_thread_count(void);

#endif
