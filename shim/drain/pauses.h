/* Shows what a thread does while it is in no call that the shim intercepts: the drain reads the thread's stack from
 * outside. So if a GPU is idle, the report can name the line of code that keeps the thread busy (such as loading
 * input), and not only the next CUDA call. */
#ifndef WALLSHIM_SHIM_DRAIN_PAUSES_H
#define WALLSHIM_SHIM_DRAIN_PAUSES_H

#include <stdint.h>

/* Called in every round of the drain, after the rings were read. Reads the stacks of threads that have made no call
 * for a while, until the time that one round may spend on this is used up. now: ws_clock_ns. */
void pauses_look(int64_t now);

#endif
