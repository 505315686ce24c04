/* Computes device times if events were recorded around few operations only.
 *
 * An operation begins when the previous operation of its stream has ended and its own launch has arrived at the
 * device. It takes as long as its kernel usually takes (timing/durations.h). The computed starts and ends of a stream
 * are its "line". Events correct the line: an event that had to wait in the stream tells when the operation before it
 * ended. The difference between this measured end and the computed end is spread over the operations that ran without
 * a pause before the event. Operations with less certain times get a larger part of the difference. The remaining
 * uncertainty is the error that the trace states. */
#ifndef WALLSHIM_SHIM_TIMING_RECONSTRUCT_H
#define WALLSHIM_SHIM_TIMING_RECONSTRUCT_H

#include "shim/timing/times.h"

/* Fills the device times of the operations from `first` to `last`, which follow each other in the stream. end_event:
 * the end event of `last`, already read; 0: `last` has no end event. All operations but `last` have computed times
 * (WS_RING_OP_COMPUTED). */
void reconstruct(struct shim_stream *stream, struct pending *first, struct pending *last, uint32_t end_event);

#endif
