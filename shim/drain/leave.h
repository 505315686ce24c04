/* How a process ends.
 *
 * exit() runs handlers: ours goes in front of the driver's. _exit, _Exit and quick_exit run none, and come through
 * here: the trace gets its end within 50 ms. Programs that end by a system call of their own do not (Go's
 * os.Exit). */
#ifndef WALLSHIM_SHIM_DRAIN_LEAVE_H
#define WALLSHIM_SHIM_DRAIN_LEAVE_H

/* Finds the real functions. When the shim is loaded: looking for them takes locks of the loader's. */
void leave_prepare(void);

/* Has quick_exit call us. Once the recording has begun. */
void leave_init(void);

/* After cuInit succeeded, and after the first context was made: our exit handler goes in front of the driver's. */
void leave_initialised(void);
void leave_has_context(void);

#endif
