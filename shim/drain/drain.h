/* The drain: one thread of ours in each process, which empties the rings, reads the events, keeps the clocks and
 * writes the trace. Application threads wait for it only before a context goes and at exit, and then with a
 * deadline. */
#ifndef WALLSHIM_SHIM_DRAIN_DRAIN_H
#define WALLSHIM_SHIM_DRAIN_DRAIN_H

#include <stdbool.h>

struct shim_context;

/* Returns 0, or -errno when there can be no thread. */
int drain_start(void);

/* Reads what the context still has running, for a moment at most. */
void drain_finish_context(struct shim_context *context);

/* Reads everything, for a moment at most. From then on no event is taken or read: the driver is about to go. */
void drain_before_driver_exit(void);

/* Both of these at once, and for 50 ms at most: the process ends without exit. */
void drain_leave(void);

/* Writes the end of the trace and ends the thread. */
void drain_finish(void);

#endif
