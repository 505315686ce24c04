/* Reads a trace file (.wst), complete or damaged: without a footer, cut anywhere, or damaged in the middle.
 *
 * A reader returns blocks of rows in file order and no row twice. A dictionary row comes before the rows that use it,
 * unless the file has lost every copy of it. Damaged frames are left out whole and counted; wrong data is never
 * returned. The reader trusts no length in the file: it never allocates more memory than the largest valid frame
 * needs. Ids in rows are not checked: an id may refer to a row that does not exist. */
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
    /* Array of `count` structures of the family (struct ws_op …). Their texts are valid as long as the block. */
    const void *rows;
    /* Operations as columns (one array per column), in place of `rows`. NULL unless columns were requested. */
    const struct ws_op_columns *ops;
};

/* Returns the operations of a block as columns. Works for both kinds of block: with columns and with rows. */
static inline struct ws_op_columns ws_block_ops(const struct ws_block *block)
{
    return block->ops ? *block->ops : ws_op_columns_of_rows(block->rows);
}

/* Counts of the data that could not be read. All are 0 for a complete trace. */
struct ws_damage {
    uint64_t lost_frames;                /* number of frames that are invalid, or missing in the sequence numbers */
    uint64_t lost_bytes;                 /* bytes skipped in search of the next frame */
    uint64_t torn_bytes;                 /* bytes of an unfinished frame at the end of the file */
    bool no_footer;                      /* the writer did not finish, or the file was cut */
    uint64_t lost_rows[WS_FAMILY_COUNT]; /* missing rows of each family, found by gaps in the row numbers */
};

struct ws_frame_source;
struct ws_reader;

/* Opens a trace. Returns 0 or -errno: -ENOENT, -EACCES …; -EINVAL: not a wallshim trace; -EPROTO: a newer major
 * version of the format. After an error, message (if capacity > 0) holds one line that names the file and the
 * problem. */
int ws_reader_open(struct ws_reader **reader, const char *path, char *message, size_t capacity);

/* The facts about the whole trace that the footer holds. */
struct ws_summary {
    uint64_t rows[WS_FAMILY_COUNT];
    int64_t host_first, host_last; /* range of all host times in ns; host_first > host_last: the trace has none */
};

/* Returns the file that the reader reads. */
const struct ws_frame_source *ws_reader_source(const struct ws_reader *reader);

/* Reads the footer at the end of the file, whatever the reader has read so far. Returns 1, or 0 if the trace has no
 * valid footer, or -errno. */
int ws_reader_summary(const struct ws_reader *reader, struct ws_summary *summary);

/* From now on, ws_reader_next returns operations as columns (one array per column) instead of rows. */
void ws_reader_want_columns(struct ws_reader *reader);

/* Returns 1 and a block, which is valid until the next call; 0 at the end; -errno if reading failed. */
int ws_reader_next(struct ws_reader *reader, struct ws_block *block);

/* Returns the damage found so far. It is complete once ws_reader_next has returned 0. */
const struct ws_damage *ws_reader_damage(const struct ws_reader *reader);

/* Returns whether any data of the trace is missing. */
bool ws_damage_any(const struct ws_damage *damage);

/* Stores the number of bytes read so far and the size of the file, for a display of progress. */
void ws_reader_position(const struct ws_reader *reader, uint64_t *done, uint64_t *total);

/* Closes the file and frees the reader. Accepts NULL. */
void ws_reader_close(struct ws_reader *reader);

#endif
