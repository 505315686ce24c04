/* How a process ends.
 *
 * exit() runs exit handlers, ours before the driver's. _exit, _Exit and quick_exit do not run them. They are
 * intercepted here, and the trace gets its end within 50 ms. Not so where a program makes the system call itself
 * (Go's os.Exit). */
#ifndef WALLSHIM_SHIM_DRAIN_LEAVE_H
#define WALLSHIM_SHIM_DRAIN_LEAVE_H

/* Finds the real functions. Called when the shim is loaded, as the look-up takes locks of the loader. */
void leave_prepare(void);

/* Sets a handler for quick_exit. Called once the recording has begun. */
void leave_init(void);

/* Called after cuInit has succeeded, and after the first context was made. Each sets our exit handler, so that one of
 * them is set after the driver's, and runs before it. */
void leave_initialised(void);
void leave_has_context(void);

#endif
