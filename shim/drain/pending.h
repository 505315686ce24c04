/* Operations that wait in their stream until their events can be read. Everything here is the drain thread's. */
#ifndef WALLSHIM_SHIM_DRAIN_PENDING_H
#define WALLSHIM_SHIM_DRAIN_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"
#include "shim/timing/times.h"

struct shim_stream;

/* NULL: no memory. */
struct pending *pending_take(void);

/* Puts it behind what waits in the stream. */
void pending_queue(struct shim_stream *stream, struct pending *pending);

/* A row without device times, and why there are none. */
void pending_add_untimed(struct ws_op *op, enum ws_loss_reason reason);

/* Before rings are read, at this time (host ns). */
void pending_begin_round(int64_t now);

/* Turns a stream's waiting operations into rows as far as their events can be read. last_round: no event will follow
 * those that are there. */
void pending_harvest(struct shim_stream *stream, bool last_round);

/* Does so without reading events, for good: only computed times are left. */
void pending_give_up(struct shim_stream *stream);

/* Operations that wait no more, so far. */
uint64_t pending_settled(void);

#endif
