/* Reads the threads' rings: their records become rows of the trace. Everything here is the drain thread's. */
#ifndef WALLSHIM_SHIM_DRAIN_RING_READER_H
#define WALLSHIM_SHIM_DRAIN_RING_READER_H

#include <stdbool.h>
#include <stdint.h>

struct shim_stream;
struct shim_thread;

/* Takes the thread's records up to head. Operations with events wait in their stream; all else becomes rows at
 * once. */
void ring_reader_read(struct shim_thread *thread, uint64_t head);

/* Before rings are read, at this time. */
void ring_reader_begin_round(int64_t now);

/* Turns a stream's waiting operations into rows as far as their events can be read. last_round: no event will follow
 * those that are there. */
void ring_reader_harvest(struct shim_stream *stream, bool last_round);

/* Does so without reading events, for good: only computed times are left. */
void ring_reader_give_up(struct shim_stream *stream);

/* Operations that wait no more, so far. */
uint64_t ring_reader_settled(void);

#endif
