/* Turns of threads that put operations into one stream.
 *
 * Events time the operation between them only if no other thread's operation comes in between. Nobody waits long for
 * a turn: after a deadline the call goes on, both are contended, and their times say so. */
#ifndef WALLSHIM_SHIM_CALLS_TURNS_H
#define WALLSHIM_SHIM_CALLS_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/objects/streams.h"
#include "shim/objects/thread.h"

/* An operation of the thread goes into the stream. is_long: its call returns only when its work is done. */
void turn_take(struct shim_thread *thread, struct shim_stream *stream, bool is_long);

/* Is another thread's operation under way there, as far as it is known now? */
bool turn_is_contended(const struct shim_thread *thread);

/* The same once the operation is in the stream: also, did another one go in meanwhile? */
bool turn_was_contended(const struct shim_thread *thread, struct shim_stream *stream);

/* The operation is in the stream; then its events are. */
void order_leave(struct shim_thread *thread, struct shim_stream *stream);
void turn_leave(const struct shim_thread *thread, struct shim_stream *stream);

/* A wait for an event goes into these streams, and has gone. Operations that other threads put in meanwhile may begin
 * later than the events before them, and say so. */
void turn_wait_enters(struct shim_thread *thread, uint32_t first_stream, uint32_t count);
void turn_wait_entered(struct shim_thread *thread);

#endif
