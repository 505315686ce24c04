/* What is known of system calls: which ones a thread may be stopped in, and how they end when their thread stops. */
#ifndef WALLSHIM_ATTACH_CALLS_H
#define WALLSHIM_ATTACH_CALLS_H

#include <stdbool.h>

/* May a thread that is in the system call with this number be stopped to create another thread? */
bool ws_is_harmless_call(long number);

/* Does this system call return EINTR when its thread is stopped, although no signal came (signal(7))? Calls on
 * sockets do if the socket has a time-out. Then nothing was transferred, so the call can be made again. */
bool ws_answers_interrupted(long number);

/* Does the thread have another signal mask while it is in this system call? A signal that only the call's mask lets
 * through must end the call. If the thread were sent to other code meanwhile, the signal's handler would run before
 * the restarted call, and the call would wait for ever. */
bool ws_has_own_mask(long number);

#endif
