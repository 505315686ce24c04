/* Measures the dispatch time: the time between two events that follow each other directly in a stream's queue. Both
 * events stand behind a gate: a wait that holds the stream until both events are queued (timing/gates.h). Only the
 * drain thread uses these functions.
 *
 * The constants below give the device's times between other entries of a stream's queue, as differences from the
 * dispatch time. They were measured on an H200 with driver 580.159 on 2026-11-27
 * (tests/bench/results/h200-2026-11-27.json): the kernels' own times by CUPTI, events behind gates, and kernels in a
 * row. The dispatch time was 1,250 to 1,280 ns. From an event before a kernel to the event after it, 860 to 930 ns
 * passed beyond the kernel's own time and the dispatch time. From a kernel's end to the start of the next it took 690
 * ns where the kernel writes nothing, 930 and 1,170 ns where it writes 1 and 16 MiB. Other devices were not measured.
 */
#ifndef WALLSHIM_SHIM_TIMING_DISPATCH_H
#define WALLSHIM_SHIM_TIMING_DISPATCH_H

#include <stdint.h>

#include "base/minmax.h"
#include "shim/objects/contexts.h"
#include "shim/timing/runs.h"

enum {
    DISPATCH_ASSUMED = 1250, /* ns: the dispatch time until it is measured */
    /* ns: from the event before a kernel to the event after it, less the kernel's time and the dispatch time */
    AROUND_KERNEL = 900,
    AFTER_KERNEL = -330, /* ns: from an operation's end to the next one's start, less the dispatch time */
    AROUND_UNSURE = 100, /* ns: standard deviation of AROUND_KERNEL on the device that was measured */
};

/* The variance of an event's time, ns². It follows from the resolution of event times, which is the smallest
 * difference between measurements of the dispatch time: 32 ns on an H200. Until the resolution is measured, returns
 * EVENT, the variance for the half microsecond that cuda.h states. */
static inline double dispatch_event_var(const struct shim_context *of)
{
    enum { LEAST = 40 }; /* ns: error from rounding, because times are floats of milliseconds since a base event */
    double step = of->dispatch.step;
    return step > 0 ? ws_min(step * step / 12 + LEAST * LEAST, EVENT) : EVENT;
}

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

/* The time from an event to the start of the next operation in the queue, ns. The event after an operation has the
 * time of the operation's end. So the times of the events before and after an operation differ by this time plus the
 * operation's length. */
static inline double dispatch_after_event(const struct shim_context *of)
{
    return dispatch_between_events(of) + AROUND_KERNEL;
}

/* The variance of dispatch_after_event, ns². */
static inline double dispatch_after_event_var(const struct shim_context *of)
{
    enum { NOT_MEASURED = 500 }; /* ns: standard deviation of the dispatch time until it is measured */
    return AROUND_UNSURE * AROUND_UNSURE + (of->dispatch.count ? of->dispatch.var : NOT_MEASURED * NOT_MEASURED);
}

/* Measures the dispatch time in the context's clock_stream, if a measurement is due. After the first measurement,
 * another one is due only if a launch of the program was measured behind a gate since the last measurement of the
 * dispatch time. The context must be current. */
void dispatch_measure(struct shim_context *context, int64_t now);

#endif
