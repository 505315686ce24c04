/* Computes device times where events were recorded around few operations.
 *
 * An operation begins when the one before it in its stream has ended and its own launch has arrived at the device. It
 * takes as long as its kernel usually does (timing/durations.h). The computed begins and ends of a stream are its
 * "line". Events correct the line: an event that was already waiting in the stream tells when the operation before it
 * ended. The difference from the computed end is spread over the operations that ran without a pause before it; those
 * that are less certain get more of it. What uncertainty is left is the error that the trace states. */
#ifndef WALLSHIM_SHIM_TIMING_RECONSTRUCT_H
#define WALLSHIM_SHIM_TIMING_RECONSTRUCT_H

#include "shim/timing/times.h"

/* Fills the device times of the operations from `first` to `last`, which follow each other in the stream. end_event:
 * that of the last one, already read; 0: it has none. All but the last are computed (WS_RING_OP_COMPUTED). */
void reconstruct(struct shim_stream *stream, struct pending *first, struct pending *last, uint32_t end_event);

#endif
