/* How a process ends.
 *
 * exit() runs exit handlers, ours before the driver's. _exit, _Exit and quick_exit do not run exit handlers. These
 * three functions are intercepted here, and the trace gets its end within 50 ms. A program that makes the system call
 * itself (Go's os.Exit) cannot be intercepted. */
#ifndef WALLSHIM_SHIM_DRAIN_LEAVE_H
#define WALLSHIM_SHIM_DRAIN_LEAVE_H

/* Finds the real functions. Called when the shim is loaded: later, other threads may hold the loader's locks that the
 * look-up takes. */
void leave_prepare(void);

/* Sets a handler for quick_exit. Called once the recording has begun. */
void leave_init(void);

/* Called after cuInit has succeeded, and after the first context was made. Each of them sets our exit handler. So at
 * least one of ours is set after the driver's handler, and runs before it. */
void leave_initialised(void);
void leave_has_context(void);

#endif
