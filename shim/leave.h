/* Ends of a process that run no handlers of exit: _exit, _Exit and quick_exit come through here, so that the trace
 * gets its end all the same, within 50 ms. What enters the kernel by itself does not (Go's os.Exit). */
#ifndef WALLSHIM_SHIM_LEAVE_H
#define WALLSHIM_SHIM_LEAVE_H

/* Finds the real functions: when the shim is loaded, since looking for them takes locks of the loader's. */
void leave_prepare(void);

/* Has quick_exit call us. Once the recording has begun. */
void leave_init(void);

#endif
