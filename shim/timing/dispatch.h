/* Measures the dispatch time: the time between two events in a row. Both stand behind a gate: a wait that holds the
 * stream until both events are queued (timing/gates.h). Only the drain thread uses this.
 *
 * What the device takes between other entries of a stream's queue is known as a difference from this time. An H200
 * with driver 580.159 was measured on 2026-11-27 (tests/bench/results/h200-2026-11-27.json): the kernels' own times
 * by CUPTI, events behind gates, and kernels in a row. Dispatch time: 1,250 to 1,280 ns. Event, kernel and event took
 * 860 to 930 ns more than dispatch time and kernel. From a kernel's end to the start of the next it took 690 ns.
 * Other devices were not measured. */
#ifndef WALLSHIM_SHIM_TIMING_DISPATCH_H
#define WALLSHIM_SHIM_TIMING_DISPATCH_H

#include <stdint.h>

#include "shim/objects/contexts.h"

enum {
    DISPATCH_ASSUMED = 1250, /* ns: the dispatch time until it is measured */
    AROUND_KERNEL = 900,     /* ns: from event to event with a kernel between them, less kernel and dispatch time */
    AFTER_KERNEL = -560,     /* ns: from an operation's end to the next one's start, less the dispatch time */
    AROUND_UNSURE = 100,     /* ns: standard deviation of AROUND_KERNEL on the device that was measured */
};

/* The dispatch time, ns. */
static inline double dispatch_between_events(const struct shim_context *of)
{
    return of->dispatch.count ? of->dispatch.mean : DISPATCH_ASSUMED;
}

/* The time from an operation's end to the start of the next one in the queue, ns. */
static inline double dispatch_after_operation(const struct shim_context *of)
{
    double ns = dispatch_between_events(of) + AFTER_KERNEL;
    return ns > 0 ? ns : 0;
}

/* The time from an event to the start of the next operation in the queue, ns. An event that follows an operation has
 * the time of the operation's end, so this is also the time between two events less the operation between them. */
static inline double dispatch_after_event(const struct shim_context *of)
{
    return dispatch_between_events(of) + AROUND_KERNEL;
}

/* Measures the dispatch time in the context's clock_stream, if a measurement is due. After the first measurement,
 * another is due only if a launch behind a gate was measured since the last one. The context must be current. */
void dispatch_measure(struct shim_context *context, int64_t now);

#endif
