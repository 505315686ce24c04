/* Shows what a thread of the program does while it is in no call that the shim intercepts: the drain, a thread of the
 * shim, reads the other thread's stack. So if a GPU is idle, the report can name the line of code that keeps the
 * thread busy (such as loading input), and not only the next CUDA call. */
#ifndef WALLSHIM_SHIM_DRAIN_PAUSES_H
#define WALLSHIM_SHIM_DRAIN_PAUSES_H

#include <stdint.h>

/* Called in every round of the drain, after the threads' records were read. Reads the stacks of threads that have
 * made no call for a while, until the time that one round may spend on reading stacks is used up. now: host time, ns.
 */
void pauses_look(int64_t now);

#endif
