/* A source of rows: a wallshim trace, or another profiler's file that is imported while it is read. The contents of
 * a file show what it is; its name does not matter.
 *
 * Blocks are as in trace/reader.h, with one difference: dictionary rows may come after the rows that use them, and a
 * later row replaces an earlier one with the same id. */
#ifndef WALLSHIM_INPUT_SOURCE_H
#define WALLSHIM_INPUT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/reader.h"

struct ws_source;

/* What the first bytes of a file say that it is. */
enum ws_source_kind {
    WS_SOURCE_UNKNOWN,
    WS_SOURCE_OWN,     /* a trace of ours */
    WS_SOURCE_FOREIGN, /* it may be another profiler's trace */
    WS_SOURCE_PACKED,  /* packed or an archive: it must be unpacked before it can be read */
    WS_SOURCE_PERFETTO /* a Perfetto trace: it must be turned into JSON first (perfetto.h) */
};

/* How many bytes the functions below look at. */
enum { WS_SOURCE_HEAD = 512 };

enum ws_source_kind ws_source_kind_of(const unsigned char *head, size_t size);

/* The kind of a file. JSON that gzip packed is FOREIGN, because it is unpacked while it is read. UNKNOWN: also if the
 * file cannot be read. */
enum ws_source_kind ws_source_kind_of_file(const char *path);

/* Opens a file. `name` is what messages call it; NULL: its path. Returns 0, or -errno with a message that names the
 * file, the problem and what to do. */
int ws_source_open(struct ws_source **source, const char *path, const char *name, char *message, size_t capacity);

/* From now on, blocks of operations may hold columns: see ws_block_ops. */
void ws_source_want_columns(struct ws_source *source);

/* Returns 1 and a block, valid until the next call; 0 at the end; -errno with a message. */
int ws_source_next(struct ws_source *source, struct ws_block *block, char *message, size_t capacity);

/* Returns how many processes the file has, at least 1. Unless ws_source_choose is called, the rows of all processes
 * are returned together. */
size_t ws_source_processes(struct ws_source *source);

/* Restricts the rows to one process, numbered from 0. Call it before the first block. */
void ws_source_choose(struct ws_source *source, size_t process);

/* Returns whether the file is another profiler's. */
bool ws_source_is_foreign(const struct ws_source *source);

/* The result is complete once ws_source_next has returned 0. */
const struct ws_damage *ws_source_damage(const struct ws_source *source);

/* Gives the bytes read and the size of the file, for progress. */
void ws_source_position(const struct ws_source *source, uint64_t *done, uint64_t *total);

/* Returns the expected number of operations: of a wallshim trace, an estimate from its size; of another file, the
 * number found so far. */
size_t ws_source_expected_ops(const struct ws_source *source);

/* Accepts NULL. */
void ws_source_close(struct ws_source *source);

#endif
