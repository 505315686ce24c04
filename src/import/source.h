/* Anything that holds a trace: a file of ours, or one of another profiler that is imported while it is
 * read. What a file is, is told by what stands in it and not by its name.
 *
 * Blocks come as trace/reader.h says, with one difference: rows of a dictionary may follow the rows that
 * use them, and a later row of the same id replaces the earlier one. */
#ifndef WALLSHIM_IMPORT_SOURCE_H
#define WALLSHIM_IMPORT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/reader.h"

struct ws_source;

/* Returns 0, or -errno with one line in message that says what is wrong with which file and what to do. */
int ws_source_open(struct ws_source **source, const char *path, char *message, size_t capacity);

/* 1: a block, valid until the next call; 0: the end; -errno with a line in message. */
int ws_source_next(struct ws_source *source, struct ws_block *block, char *message, size_t capacity);

/* How many processes the file tells apart, at least 1. Unless one is chosen their rows come together. */
size_t ws_source_processes(struct ws_source *source);

/* Before the first block: only rows of this process, from 0 on, are to follow. */
void ws_source_choose(struct ws_source *source, size_t process);

/* Is it a file of another profiler? */
bool ws_source_is_foreign(const struct ws_source *source);

/* Complete only after ws_source_next returned 0. */
const struct ws_damage *ws_source_damage(const struct ws_source *source);

/* Bytes read of bytes in all, for progress. */
void ws_source_position(const struct ws_source *source, uint64_t *done, uint64_t *total);

/* Operations there may be at most, as far as it is known. */
size_t ws_source_expected_ops(const struct ws_source *source);

/* Accepts NULL. */
void ws_source_close(struct ws_source *source);

#endif
