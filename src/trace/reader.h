/* Reads a trace file (.wst), complete or damaged: without a footer, cut anywhere, or damaged in the middle.
 *
 * A reader returns blocks of rows in file order and no row twice. A dictionary row comes before the rows that use it,
 * unless the file has lost every copy of it. Damaged frames are left out whole and counted; wrong data is never
 * returned. No length in the file is trusted: memory is bounded by the size of a frame. Ids in rows are not checked:
 * an id may refer to a row that does not exist. */
#ifndef WALLSHIM_TRACE_READER_H
#define WALLSHIM_TRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/op_columns.h"
#include "record/record.h"

struct ws_block {
    enum ws_family family;
    uint32_t count;
    const void *rows; /* an array of `count` structures of the family; their texts point into the block */
    const struct ws_op_columns *ops; /* operations as columns, in place of rows; NULL unless requested */
};

/* Returns the operations of a block, from columns or rows. */
static inline struct ws_op_columns ws_block_ops(const struct ws_block *block)
{
    return block->ops ? *block->ops : ws_op_columns_of_rows(block->rows);
}

/* The amounts of data that could not be read. All 0 for a complete trace. */
struct ws_damage {
    uint64_t lost_frames;                /* frames that are invalid, or missing according to the sequence numbers */
    uint64_t lost_bytes;                 /* bytes skipped in search of the next frame */
    uint64_t torn_bytes;                 /* bytes of an unfinished frame at the end */
    bool no_footer;                      /* the writer did not finish, or the file was cut */
    uint64_t lost_rows[WS_FAMILY_COUNT]; /* missing rows, found by gaps in the row numbers */
};

struct ws_reader;

/* Opens a trace. Returns 0 or -errno: -ENOENT, -EACCES …; -EINVAL: not a wallshim trace; -EPROTO: a newer major
 * version. After an error, message (if capacity > 0) holds one line that names the file, the problem and a remedy. */
int ws_reader_open(struct ws_reader **reader, const char *path, char *message, size_t capacity);

/* The facts about the whole trace that the footer holds. */
struct ws_summary {
    uint64_t rows[WS_FAMILY_COUNT];
    int64_t host_first, host_last; /* range of all host times; first > last: none */
};

/* Reads the footer, independent of the reader's position. Returns 1, 0 if the trace has no valid footer, or
 * -errno. */
int ws_reader_summary(const struct ws_reader *reader, struct ws_summary *summary);

/* From now on, blocks of operations are returned as columns. */
void ws_reader_want_columns(struct ws_reader *reader);

/* Returns 1 and a block, which is valid until the next call; 0 at the end; -errno if reading failed. */
int ws_reader_next(struct ws_reader *reader, struct ws_block *block);

/* Returns the damage found so far. It is complete once ws_reader_next has returned 0. */
const struct ws_damage *ws_reader_damage(const struct ws_reader *reader);

/* Returns whether anything is missing. */
bool ws_damage_any(const struct ws_damage *damage);

/* Gives the bytes read and the size of the file, for progress. */
void ws_reader_position(const struct ws_reader *reader, uint64_t *done, uint64_t *total);

/* Accepts NULL. */
void ws_reader_close(struct ws_reader *reader);

#endif
