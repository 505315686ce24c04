/* From ring records to rows of the trace. Everything here is the drain thread's, but for rows_create. */
#ifndef WALLSHIM_SHIM_ROWS_H
#define WALLSHIM_SHIM_ROWS_H

#include <stdint.h>

#include "record/record.h"

struct shim_context;
struct shim_stream;
struct shim_thread;

/* Creates the trace's file, then begins it. Return 0 or -errno, having said on stderr what went wrong. */
int rows_create(void);
int rows_begin(void);

void rows_emit_dictionaries(void);

/* Takes the thread's records up to head: operations with marks wait in their stream, all else becomes
 * rows at once. */
void rows_read_ring(struct shim_thread *thread, uint64_t head);

/* Turns a stream's waiting operations into rows as far as their marks can be read. */
void rows_harvest(struct shim_stream *stream);

/* Operations that wait no more, so far. */
uint64_t rows_settled(void);

/* Does so without device times, for good. */
void rows_give_up(struct shim_stream *stream);

void rows_add_clock(const struct ws_clock *row);
void rows_add_loss(const struct ws_loss *row);

/* Puts out what is held, losses counted since last time included. */
void rows_flush(int64_t now);

/* end: how the program ended, for the trace to say. */
void rows_close(const char *end);

/* Bytes of the trace as of the last flush. Any thread may ask. */
uint64_t rows_bytes(void);
#endif
