/* The drain: one thread of ours in each process. The drain empties the rings (the threads' buffers of records), reads
 * the events' times, compares the clocks of devices and host, and writes the trace. The program's threads wait for
 * the drain only when it starts, before a context is destroyed, and at exit. Each wait has a deadline. */
#ifndef WALLSHIM_SHIM_DRAIN_DRAIN_H
#define WALLSHIM_SHIM_DRAIN_DRAIN_H

#include <stdbool.h>

struct shim_context;

/* Starts the drain's thread. Returns 0 or -errno. */
int drain_start(void);

/* Called when the context is about to be destroyed. Reads the times of operations that still run in this context,
 * within a deadline. */
void drain_finish_context(struct shim_context *context);

/* Called when the driver is about to shut down. Reads the times of all operations that still run, within a deadline.
 * Afterwards, no event is recorded or read. */
void drain_before_driver_exit(void);

/* Called when the process ends without exit(). Does the same as drain_before_driver_exit and writes the end of the
 * trace, all within 50 ms. */
void drain_leave(void);

/* Only for a shim that was loaded into a running program. Called when the driver's functions are no longer patched.
 * Ends the session if one still runs, destroys the driver's objects that the shim made, if no thread uses them, and
 * ends the drain's thread. drain_start can start the thread again. */
void drain_detach(void);

/* Writes the end of the trace and ends the drain's thread. */
void drain_finish(void);

#endif
