/* The live memory (record/live.h): what another process needs to complete the trace if this process is killed. The
 * file thread (the shim's thread that writes the trace file) makes the live memory when the recording begins. If
 * there is no live memory, the threads' rings and the operations that wait for their device times lie in private
 * memory of the process, and the recording works as usual. The drain is the shim's thread that reads the rings. */
#ifndef WALLSHIM_SHIM_STATE_LIVE_H
#define WALLSHIM_SHIM_STATE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/live.h"

/* For the file thread. Makes the live memory. `path`: a new file in a folder without a disk (/dev/shm), which
 * outlives the process; NULL: a memfd, which is passed to the collector. Returns the file descriptor, which the file
 * thread keeps open, or -errno. */
int live_create(const char *path);

/* For the file thread: allocates more of the file in /dev/shm, before threads need this memory. fd: the descriptor
 * that live_create returned. */
void live_grow(int fd);

/* Returns the live memory; NULL: there is none. */
struct ws_live *live_memory(void);

/* Returns a part of the live memory, and sets *part to the part's number (from 1 on). If there is no live memory, or
 * no room in it, returns NULL and sets *part to 0. The part's bytes are zero, unless the part was used before: then
 * only the bytes that live_give cleared are sure to be zero. */
void *live_take(size_t size, uint32_t *part);

/* Notes in the live memory what the part holds: `kind`. If the process is killed after this call, salvage (the
 * completion of its trace by another process) reads the part. `memory`: the ring's slots, or the waiting operations.
 * For a ring, `ring` is its struct ws_ring, and `thread` is the id of its thread in the trace. */
void live_part_is(uint32_t part, enum ws_live_kind kind, uint32_t thread, const void *ring, const void *memory,
                  size_t size);

/* Writes into the live memory how many lost records and nested calls of the part's ring (`lost` and `nested` in
 * record/ring.h) the trace already reports. Does nothing if `part` is 0. */
void live_part_stated(uint32_t part, uint64_t lost, uint64_t nested);

/* Gives back memory that live_take returned. The memory's first `clear` bytes become zero. */
void live_give(uint32_t part, void *memory, size_t clear);

/* Called in a forked child. Replaces a part, which the child shares with its parent, by private memory: a copy of the
 * first `used` bytes, then zeros. The child needs this copy if the fork happened inside a function of the shim,
 * because it returns into that function. A child made without fork handlers (_Fork, clone) gets no copy: if it
 * returns into a function of the shim, it writes to its parent's memory. */
void live_copy_for_child(void *memory, size_t used, size_t size);

/* live_lacks_ring counts a thread whose ring lies outside the live memory. live_lacks_no_more takes the thread out of
 * this count, once the drain has read the thread's ring to the end. */
void live_lacks_ring(void);
void live_lacks_no_more(void);

/* Called with the registry's lock held: adds a row of a dictionary to the live memory's log of dictionary rows. */
void live_add_dictionary_row(uint32_t family, uint32_t number, const void *row);

/* For the drain: adds a row to the live memory's log of the rows that are not in the trace file yet. Returns false if
 * this log is full. The next flush (writing of all new rows to the trace) empties the log. */
bool live_add_row(uint32_t family, const void *row);

/* For the drain: stores the position, in its thread's ring, of the record that the drain now reads. live_add_row logs
 * this position with each row. */
void live_reads_at(uint64_t at);

/* For the drain, before the first byte of the trace is written: sets the trace's id. */
void live_is_of(uint32_t file_id);

/* For the drain. A flush writes all new rows to the trace. live_flush_begins is called before the flush collects the
 * new dictionary rows, live_flushed after the flush. file_id and bytes: the trace's id and size. rows: for each
 * record family, the number of dictionary rows in the trace. */
void live_flush_begins(void);
void live_flushed(uint32_t file_id, uint64_t bytes, const uint32_t rows[WS_LIVE_TABLES]);

/* For the file thread: sets the path of the link, beside the trace, that points to the live memory. mounts: the mount
 * namespace in which the path is valid; 0: not known. */
void live_is_linked(const char *link, uint64_t mounts);

/* For the drain: sets how the processor's counter is converted to ns. `clock`: two comparisons of the counter with
 * CLOCK_MONOTONIC; not used if ticks are ns. */
void live_compared(bool ticks_are_ns, const struct ws_live_clock *clock);

/* For the file thread. live_keeps: notes in the live memory that `memory`, from live_take, holds the bytes of the
 * trace that a collector may lack. live_keeps_until: notes that `memory` holds the bytes from `begin` to `end` of the
 * trace. */
void live_keeps(const void *memory, size_t size);
void live_keeps_until(uint64_t begin, uint64_t end);

/* Marks in the live memory that the program has ended by _exit, _Exit or quick_exit. The process may be gone before
 * the drain has finished the trace. Then another process completes the trace, and sees from the mark that nobody
 * killed the program. */
void live_left(void);

/* For the file thread: called when the trace is complete. */
void live_end(void);

/* For the file thread: called when the collector did not accept the trace. The trace goes to a file instead, so
 * nobody is to complete the trace from this memory. `own_file`: the file contains the whole trace so far, and the
 * collector drops the part that it has. */
void live_leave(bool own_file);

#endif
