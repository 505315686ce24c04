/* What a device takes from one entry of a queue to the next, whatever they are: two events behind a gate tell it. The
 * difference of the events around a kernel has it beside the kernel. The drain's own. */
#ifndef WALLSHIM_SHIM_TIMING_DISPATCH_H
#define WALLSHIM_SHIM_TIMING_DISPATCH_H

#include <stdint.h>

#include "shim/objects/contexts.h"

/* Measures it when it is time and something was gated since, in the clock's own stream. The context is current. */
void dispatch_measure(struct shim_context *context, int64_t now);

#endif
