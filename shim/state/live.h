/* The live memory (record/live.h): what another process needs to complete the trace if this one is killed. It is made
 * by the file thread when the recording begins. Without it, everything else works as before: rings and waiting
 * operations then lie in memory of the process alone. */
#ifndef WALLSHIM_SHIM_STATE_LIVE_H
#define WALLSHIM_SHIM_STATE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/live.h"

/* For the file thread. Makes the live memory. path: of a file that keeps it, in a folder without a disk, so that it
 * outlives the process; NULL: a memfd, for a collector. Returns the descriptor, which the file thread keeps, or
 * -errno. */
int live_create(const char *path);

/* For the file thread: makes more of a file's memory usable, before threads need it. fd: what live_create returned.
 */
void live_grow(int fd);

/* NULL: there is none. */
struct ws_live *live_memory(void);

/* Returns memory in the live memory, or NULL. *part: its number, from 1 on. The first bytes are zero, as far as
 * live_give clears them. */
void *live_take(size_t size, uint32_t *part);

/* Says what the part holds. A reader looks at the part from now on. */
void live_part_is(uint32_t part, enum ws_live_kind kind, uint32_t thread, const void *ring, const void *memory,
                  size_t size);

/* A ring's lost records that the trace states. part: 0 for none. */
void live_part_stated(uint32_t part, uint64_t lost);

/* Gives back memory that live_take returned. Its first `clear` bytes become zero. */
void live_give(uint32_t part, void *memory, size_t clear);

/* Gives a forked child a copy of its own of the first `used` bytes of a part, and fills the rest with zeros: the
 * child may return through a wrapper of ours. A child that was made without fork handlers (_Fork, clone) has no copy;
 * it writes to its parent's memory if it returns through a wrapper. */
void live_copy_for_child(void *memory, size_t used, size_t size);

/* A thread's ring lies in memory of the process alone; and such a ring has been read to its end. */
void live_lacks_ring(void);
void live_lacks_no_more(void);

/* With the registry's lock held: logs a dictionary row. */
void live_add_dictionary_row(uint32_t family, uint32_t number, const void *row);

/* For the drain. Logs a row until the next flush. Returns false if the log is full: a flush makes room. */
bool live_add_row(uint32_t family, const void *row);

/* For the drain: the position in its ring of the record that it reads. */
void live_reads_at(uint64_t at);

/* For the drain. Before a flush collects dictionary rows; and after the flush: file_id and bytes are the id and the
 * size of the trace, and rows gives the number of dictionary rows in it, by family. */
void live_flush_begins(void);
void live_flushed(uint32_t file_id, uint64_t bytes, const uint32_t rows[WS_LIVE_TABLES]);

/* For the drain: two comparisons of the processor's counter with the clock. */
void live_compared(bool ticks_are_ns, const struct ws_live_clock *clock);

/* For the file thread: memory from live_take that holds the bytes of the trace that a collector may lack; and the
 * offsets in the trace of the first one and of the end. */
void live_keeps(const void *memory, size_t size);
void live_keeps_until(uint64_t begin, uint64_t end);

/* For the drain: the trace is complete. */
void live_end(void);

/* For the file thread: the trace goes elsewhere from its begin on, so nobody is to complete it from this memory. */
void live_leave(void);

#endif
