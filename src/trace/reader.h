/* Reading a trace file (.wst), whole or hurt: no footer, cut anywhere, damaged in the middle.
 *
 * A reader hands out blocks of rows in file order, dictionary rows before the rows that use them as
 * far as the file still holds them anywhere, and no row twice. What is damaged is left out whole
 * frame by whole frame and counted; nothing wrong is handed out. It never trusts a length: memory is
 * bounded by the frame. Ids in rows are data: they may name nothing. */
#ifndef WALLSHIM_TRACE_READER_H
#define WALLSHIM_TRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record.h"

struct ws_block {
    enum ws_family family;
    uint32_t count;
    const void *rows; /* array of `count` structures of the family; texts inside point into the block */
};

/* What a file does not give any more. All 0 and complete for a whole trace. */
struct ws_damage {
    uint64_t lost_frames;                /* numbered by the writer, not found or not valid */
    uint64_t lost_bytes;                 /* skipped while looking for the next frame */
    uint64_t torn_bytes;                 /* of an unfinished frame at the end */
    bool no_footer;                      /* the writer did not come to its end, or the file was cut */
    uint64_t lost_rows[WS_FAMILY_COUNT]; /* as far as row numbers of later frames tell */
};

struct ws_reader;

/* Returns 0, or -errno with one line in message (when capacity > 0) that says what is wrong with
 * which file and what to do: -ENOENT, -EACCES …, -EINVAL not a wallshim trace, -EPROTO written by a
 * newer major version. */
int ws_reader_open(struct ws_reader **reader, const char *path, char *message, size_t capacity);

/* What the footer of a finished trace says of it as a whole. */
struct ws_summary {
    uint64_t rows[WS_FAMILY_COUNT];
    int64_t host_first, host_last; /* range of all host times; first > last: there is none */
};

/* Reads the footer, wherever the reader is. 1; 0: there is none to be found; -errno. */
int ws_reader_summary(const struct ws_reader *reader, struct ws_summary *summary);

/* 1: a block, valid until the next call; 0: the end; -errno: the file could not be read further. */
int ws_reader_next(struct ws_reader *reader, struct ws_block *block);

/* Complete only after ws_reader_next returned 0. */
const struct ws_damage *ws_reader_damage(const struct ws_reader *reader);

/* Is anything missing at all? */
bool ws_damage_any(const struct ws_damage *damage);

/* Bytes read of bytes in all, for progress. */
void ws_reader_position(const struct ws_reader *reader, uint64_t *done, uint64_t *total);

/* Accepts NULL. */
void ws_reader_close(struct ws_reader *reader);

#endif
