/* Threads that put operations into the same stream take turns: while a thread has the stream's turn, the others wait
 * before they put in their operations.
 *
 * Two events around an operation measure this operation alone only if no other thread puts an operation between them.
 * No thread waits long for its turn. After a deadline its call goes on without the turn, and the operations of both
 * threads are flagged as contended (WS_OP_CONTENDED): their times are less certain. */
#ifndef WALLSHIM_SHIM_CALLS_TURNS_H
#define WALLSHIM_SHIM_CALLS_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/objects/streams.h"
#include "shim/objects/thread.h"

/* The thread is about to put an operation into the stream: waits for the turn, and counts the operation. is_long: the
 * call returns only when the device has done the operation. */
void turn_take(struct shim_thread *thread, struct shim_stream *stream, bool is_long);

/* Was another thread putting an operation into the stream when this thread took its turn? */
bool turn_is_contended(const struct shim_thread *thread);

/* Called when the operation is in the stream. Was another thread putting an operation into the stream at turn_take,
 * or since then? */
bool turn_was_contended(const struct shim_thread *thread, struct shim_stream *stream);

/* Call order_leave, then turn_leave, once the operation and its events are in the stream. order_leave: if the
 * operation went into the stream without the turn, stream->order no longer counts it as under way. turn_leave: gives
 * the turn back if the thread has it. */
void order_leave(struct shim_thread *thread, struct shim_stream *stream);
void turn_leave(const struct shim_thread *thread, struct shim_stream *stream);

/* Called before (turn_wait_enters) and after (turn_wait_entered) a call that makes `count` streams wait for an event.
 * first_stream: the lowest of the streams' ids, which are consecutive. Operations that other threads put into these
 * streams during the call are flagged as contended, because they may have waited for the event. */
void turn_wait_enters(struct shim_thread *thread, uint32_t first_stream, uint32_t count);
void turn_wait_entered(struct shim_thread *thread);

#endif
