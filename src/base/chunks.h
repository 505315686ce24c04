/* Tables and texts that grow in pieces, each mapped when it is first needed, and never move: for programs whose
 * address space, data or locked memory is limited, and that count on every byte of it. The memory is not malloc's,
 * since programs replace malloc.
 *
 * One thread at a time makes rows; readers of rows that are known to be made need no lock. */
#ifndef WALLSHIM_BASE_CHUNKS_H
#define WALLSHIM_BASE_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

enum {
    WS_CHUNK_FIRST_BIT = 6, /* the first chunk has 64 rows; each further one as many as all before it, and 64 */
    WS_CHUNKS = 20,         /* for 2^26 rows */
};

/* All zero but for row_size is an empty table. */
struct ws_chunks {
    size_t row_size;
    char *chunk[WS_CHUNKS]; /* NULL: not there yet */
};

/* Chunk 0 has the rows 0 … 63, chunk 1 the rows 64 … 191, chunk 2 the rows 192 … 447, and so on. */
static inline void *ws_chunks_row(const struct ws_chunks *table, uint32_t index)
{
    uint32_t place = index + (1u << WS_CHUNK_FIRST_BIT), top = 31u - (uint32_t)__builtin_clz(place);
    return table->chunk[top - WS_CHUNK_FIRST_BIT] + (size_t)(place - (1u << top)) * table->row_size;
}

/* The row, its chunk mapped if need be (all zero then); NULL when memory is out. */
void *ws_chunks_make(struct ws_chunks *table, uint32_t index);

/* Gives all of it back: empty again. */
void ws_chunks_finish(struct ws_chunks *table);

/* Pieces of any size up to WS_PIECES_BLOCK / 2. All zero is empty. */
enum { WS_PIECES_BLOCK = 64 << 10 };
struct ws_pieces {
    char *block; /* the latest; begins with the address of the one before it */
    size_t used; /* of it */
    size_t size; /* of all blocks */
};

/* Zeroed and aligned to 8 bytes; NULL when memory is out. */
void *ws_pieces_take(struct ws_pieces *pieces, size_t size);

void ws_pieces_finish(struct ws_pieces *pieces);

#endif
