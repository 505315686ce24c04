/* How a process ends.
 *
 * exit() runs exit handlers, ours before the driver's. _exit, _Exit and quick_exit do not run exit handlers. So _exit
 * and _Exit are intercepted here, and quick_exit gets a handler of its own. In all three cases the end of the trace
 * is written within 50 ms. If a program makes the system call exit_group itself (Go's os.Exit), this cannot be
 * intercepted. */
#ifndef WALLSHIM_SHIM_DRAIN_LEAVE_H
#define WALLSHIM_SHIM_DRAIN_LEAVE_H

/* Finds the real _exit and _Exit. Called when the shim is loaded, because the look-up takes locks of the loader,
 * which other threads may hold later. */
void leave_prepare(void);

/* Sets a handler for quick_exit. Called once the recording has begun. */
void leave_init(void);

/* Called after cuInit has succeeded, and after the first context was made. Each of the two functions sets our exit
 * handler once more: the driver sets its handler in cuInit or with the first context, and the handler that is set
 * last runs first. */
void leave_initialised(void);
void leave_has_context(void);

#endif
