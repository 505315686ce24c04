/* How long a device takes from one entry of a stream's queue to the next, whatever the entries are. Two events behind
 * a gate measure it. The difference of the two events around a kernel consists of this time and the kernel's own. For
 * the drain thread alone. */
#ifndef WALLSHIM_SHIM_TIMING_DISPATCH_H
#define WALLSHIM_SHIM_TIMING_DISPATCH_H

#include <stdint.h>

#include "shim/objects/contexts.h"

/* Measures it in the clock's stream, if it is time and a gated launch was measured since the last time. The context
 * must be current. */
void dispatch_measure(struct shim_context *context, int64_t now);

#endif
