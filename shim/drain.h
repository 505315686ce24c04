/* The drain: one thread of ours per process that empties the rings, reads the marks, keeps the clocks
 * and writes the trace. Application threads never wait for it, but for the moment before a context
 * goes and at exit, and then with a deadline. */
#ifndef WALLSHIM_SHIM_DRAIN_H
#define WALLSHIM_SHIM_DRAIN_H

#include <stdbool.h>

struct shim_context;

/* Returns 0, or -errno when there can be no thread. */
int drain_start(void);

/* A context was seen for the first time: before other threads can see it, without a call of the driver. */
void drain_prepare(struct shim_context *context);

/* It is current on the calling thread. */
void drain_adopt(struct shim_context *context);

/* Reads out what the context still has running, for a moment at most. */
void drain_finish_context(struct shim_context *context);

/* Reads out everything, for a moment at most; from then on no mark is taken or read: the driver is
 * about to go. */
void drain_before_driver_exit(void);

/* Both of these at once, and for 50 ms at most: the process ends without exit. */
void drain_leave(void);

/* Writes the end of the trace and ends the thread. */
void drain_finish(void);

/* A ring is filling up, or events are used up: there will be a round within a millisecond. */
void drain_wake(void);

/* Somebody waits. */
void drain_wake_now(void);

#endif
