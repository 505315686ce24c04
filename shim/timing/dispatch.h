/* Measures the dispatch time: the time that a device takes from the end of one entry of a stream's queue to the start
 * of the next, whether the entries are events or kernels. Two events measure it, behind a gate: a wait that holds the
 * stream until both events are queued (timing/gates.h). The difference of the events before and after a kernel is the
 * dispatch time plus the kernel's own time. Only the drain thread uses this. */
#ifndef WALLSHIM_SHIM_TIMING_DISPATCH_H
#define WALLSHIM_SHIM_TIMING_DISPATCH_H

#include <stdint.h>

#include "shim/objects/contexts.h"

/* Measures the dispatch time (from the end of one queued operation to the start of the next) in the context's
 * clock_stream, if a measurement is due. After the first measurement,
 * another is due only if a launch behind a gate was measured since the last one. The context must be current. */
void dispatch_measure(struct shim_context *context, int64_t now);

#endif
