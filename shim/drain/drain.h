/* The drain: one thread of ours in each process. It empties the rings, reads the events, compares the clocks and
 * writes the trace. Application threads wait for it only before a context goes and at exit, and then with a
 * deadline. */
#ifndef WALLSHIM_SHIM_DRAIN_DRAIN_H
#define WALLSHIM_SHIM_DRAIN_DRAIN_H

#include <stdbool.h>

struct shim_context;

/* Starts the thread. Returns 0, or -errno where that fails. */
int drain_start(void);

/* Reads the times of what still runs in the context, which is about to go. Within a deadline. */
void drain_finish_context(struct shim_context *context);

/* Reads the times of all that still runs, within a deadline. From then on no event is recorded or read, as the driver
 * is about to shut down. */
void drain_before_driver_exit(void);

/* The same, and writes the end of the trace, within 50 ms: the process ends without exit(). */
void drain_leave(void);

/* Writes the end of the trace and ends the thread. */
void drain_finish(void);

#endif
