/* A source of rows (of the tables of a trace): a wallshim trace, or another profiler's file that is imported while it
 * is read. The contents of a file show its format. The file's name does not matter.
 *
 * A source returns blocks of rows as trace/reader.h describes them, with two differences. Dictionary rows (rows such
 * as names and threads, to which other rows refer by id) may come after the rows that refer to them. A later
 * dictionary row replaces an earlier row with the same id. */
#ifndef WALLSHIM_INPUT_SOURCE_H
#define WALLSHIM_INPUT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/reader.h"

struct ws_source;

/* The kind of a file, judged by its first bytes. */
enum ws_source_kind {
    WS_SOURCE_UNKNOWN,
    WS_SOURCE_OWN,     /* a wallshim trace */
    WS_SOURCE_FOREIGN, /* possibly a trace of another profiler */
    WS_SOURCE_PACKED,  /* compressed, or an archive: it must be unpacked before it can be read */
    WS_SOURCE_PERFETTO /* a Perfetto trace: it must be turned into JSON first (perfetto.h) */
};

/* The functions below recognize the kind of a file by this number of bytes at its start. */
enum { WS_SOURCE_HEAD = 512 };

enum ws_source_kind ws_source_kind_of(const unsigned char *head, size_t size);

/* Returns the kind of a file. JSON compressed with gzip is WS_SOURCE_FOREIGN, because the importer of JSON also reads
 * gzip. A file that cannot be read is WS_SOURCE_UNKNOWN. */
enum ws_source_kind ws_source_kind_of_file(const char *path);

/* Opens a file. Messages call the file `name`, or its path if name is NULL. Returns 0, or -errno with a message that
 * names the file and the problem. */
int ws_source_open(struct ws_source **source, const char *path, const char *name, char *message, size_t capacity);

/* After this call, blocks of operations may hold one array per column instead of rows: see ws_block_ops. */
void ws_source_want_columns(struct ws_source *source);

/* Returns 1 and a block that is valid until the next call, 0 at the end, or -errno with a message. */
int ws_source_next(struct ws_source *source, struct ws_block *block, char *message, size_t capacity);

/* Returns how many processes the file has, at least 1. Unless ws_source_choose is called, the rows of all processes
 * are returned together. */
size_t ws_source_processes(struct ws_source *source);

/* Restricts the rows to one process, numbered from 0. Call it before the first block. */
void ws_source_choose(struct ws_source *source, size_t process);

/* Returns whether another profiler wrote the file. */
bool ws_source_is_foreign(const struct ws_source *source);

/* Returns the damage found so far: counts of the data that could not be read. All damage is known once ws_source_next
 * has returned 0. */
const struct ws_damage *ws_source_damage(const struct ws_source *source);

/* Stores the number of bytes read and the size of the file, to show progress. */
void ws_source_position(const struct ws_source *source, uint64_t *done, uint64_t *total);

/* Returns the expected number of operations. For a wallshim trace, this is an estimate from the size of the file. For
 * another file, this is the number found so far. */
size_t ws_source_expected_ops(const struct ws_source *source);

/* Closes the file. Accepts NULL. */
void ws_source_close(struct ws_source *source);

#endif
