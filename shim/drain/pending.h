/* Operations that wait in their stream's queue (a list in the shim) until their events can be read. Only the drain
 * thread (it writes the trace) uses these functions. */
#ifndef WALLSHIM_SHIM_DRAIN_PENDING_H
#define WALLSHIM_SHIM_DRAIN_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"
#include "shim/timing/times.h"

struct shim_stream;

/* Returns memory for one operation, or NULL if there is no memory. */
struct pending *pending_take(void);

/* Appends the operation to the stream's queue. */
void pending_queue(struct shim_stream *stream, struct pending *pending);

/* Adds the operation's row without device times, and counts a loss. The loss's reason is WS_LOSS_POOL_DRY if the
 * event pool was empty for the operation, else `reason`. */
void pending_add_untimed(struct ws_op *op, enum ws_loss_reason reason);

/* Called in each round of the drain, before it reads the rings (the threads' buffers of records). now: host ns. */
void pending_begin_round(int64_t now);

/* Adds to the trace the rows of the stream's waiting operations whose events have completed. last_round: no more
 * events will be recorded, so operations without an end event do not wait for a later end event. */
void pending_harvest(struct shim_stream *stream, bool last_round);

/* Called when the context or the driver is gone. Makes rows of all the stream's waiting operations without reading
 * events. Operations get device times only if these are computed without events (WS_RING_OP_COMPUTED). */
void pending_give_up(struct shim_stream *stream);

/* How many operations have left their streams' queues since the program's start. */
uint64_t pending_settled(void);

#endif
