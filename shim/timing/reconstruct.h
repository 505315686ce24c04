/* Device times of operations that few events were recorded for.
 *
 * The drain computes what the device did. An operation begins when the one before it in its stream has ended and its
 * launch has arrived, and takes what its kernel takes (timing/durations.h). Events correct the computed line: an
 * event that the stream reached after the event's own arrival tells when the operation before it ended. The
 * difference is spread over the operations that ran without a pause before it, by how unsure each of them is. What is
 * left is the error that the trace states. */
#ifndef WALLSHIM_SHIM_TIMING_RECONSTRUCT_H
#define WALLSHIM_SHIM_TIMING_RECONSTRUCT_H

#include "shim/timing/times.h"

/* Fills the device times of the operations from the first to the last, which follow each other in the stream. The
 * last one has an end event that was read, or there is none (end_event 0); only that one may be other than computed
 * (WS_RING_OP_COMPUTED). */
void reconstruct(struct shim_stream *stream, struct pending *first, struct pending *last, uint32_t end_event);

#endif
