/* What threads do while they are in no call: the drain takes their stacks from outside. So a gap of the device shows
 * the line at which the program loaded its input, and not only the next call. */
#ifndef WALLSHIM_SHIM_DRAIN_PAUSES_H
#define WALLSHIM_SHIM_DRAIN_PAUSES_H

#include <stdint.h>

/* Called in every round, after the rings were read. Takes a stack of each thread that has made no call for a
 * while. now: ws_clock_ns. */
void pauses_look(int64_t now);

#endif
