/* The drain: one thread of ours in each process. The drain empties the rings, reads the events, compares the clocks
 * and writes the trace. The program's threads wait for it only before a context is destroyed and at exit, with a
 * deadline. */
#ifndef WALLSHIM_SHIM_DRAIN_DRAIN_H
#define WALLSHIM_SHIM_DRAIN_DRAIN_H

#include <stdbool.h>

struct shim_context;

/* Starts the thread. Returns 0 or -errno. */
int drain_start(void);

/* Called when the context is about to be destroyed. Reads the times of operations that still run in it, within a
 * deadline. */
void drain_finish_context(struct shim_context *context);

/* Called when the driver is about to shut down. Reads the times of all operations that still run, within a deadline.
 * Afterwards, no event is recorded or read. */
void drain_before_driver_exit(void);

/* Called when the process ends without exit(). Does the same as drain_before_driver_exit and writes the end of the
 * trace, all within 50 ms. */
void drain_leave(void);

/* Writes the end of the trace and ends the thread. */
void drain_finish(void);

#endif
