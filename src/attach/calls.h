/* What is known of system calls: which ones a thread may be stopped in, and how they end when their thread stops. */
#ifndef WALLSHIM_ATTACH_CALLS_H
#define WALLSHIM_ATTACH_CALLS_H

#include <stdbool.h>

/* May a thread that is in the system call with this number be stopped to create another thread? */
bool ws_is_harmless_call(long number);

/* Is this thread of the process in such a system call now? Does not stop the thread. Returns false for a thread that
 * waits for a disk or a file server, because the kernel does not stop a thread during such a wait. */
bool ws_is_in_harmless_call(int pid, int thread);

/* Is any thread of the process in such a system call now? Returns 1, 0, or -EPERM: this may not be seen. */
int ws_any_is_in_harmless_call(int pid);

/* Does this system call return EINTR when its thread is stopped, although no signal came (signal(7))? For example,
 * calls on a socket with a time-out do. A call that returns EINTR has transferred nothing, so it can be made again.
 */
bool ws_answers_interrupted(long number);

/* Does the thread have another signal mask while it is in this system call? Such a call waits for signals that only
 * its own mask lets through. If `wallshim attach` made the thread run other code during the call, the handler of
 * such a signal could run before the restarted call, and the call would wait for ever. */
bool ws_has_own_mask(long number);

#endif
