/* Tables and buffers that grow chunk by chunk and never move. A chunk is mapped when it is first needed, because the
 * profiled program may run under limits on address space, data or locked memory. The chunk is mapped directly, not
 * with malloc, because some programs replace malloc.
 *
 * Only one thread may add rows at a time. Readers of existing rows need no lock. */
#ifndef WALLSHIM_BASE_CHUNKS_H
#define WALLSHIM_BASE_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

enum {
    WS_CHUNK_FIRST_BIT = 6, /* chunk 0 has 64 rows; each later chunk has twice as many as the chunk before it */
    WS_CHUNKS = 20,         /* maximum number of chunks: together they have room for 2^26 − 64 rows */
};

/* In an empty table all fields but row_size are 0. */
struct ws_chunks {
    size_t row_size;
    char *chunk[WS_CHUNKS]; /* addresses of the chunks; NULL: the chunk is not mapped yet */
};

/* Returns the address of a row that exists. Chunk 0 holds rows 0 … 63, chunk 1 rows 64 … 191, chunk 2 rows 192 …
 * 447, and so on. */
static inline void *ws_chunks_row(const struct ws_chunks *table, uint32_t index)
{
    uint32_t place = index + (1u << WS_CHUNK_FIRST_BIT), top = 31u - (uint32_t)__builtin_clz(place);
    return table->chunk[top - WS_CHUNK_FIRST_BIT] + (size_t)(place - (1u << top)) * table->row_size;
}

/* Returns the address of the row. Maps the row's chunk, filled with zeros, if it is not mapped yet. Returns NULL when
 * memory runs out or the index is too large. */
void *ws_chunks_make(struct ws_chunks *table, uint32_t index);

/* Unmaps all chunks. The table is empty afterwards. */
void ws_chunks_finish(struct ws_chunks *table);

/* An allocator for pieces of memory of up to WS_PIECES_BLOCK / 2 bytes each. All pieces are freed together. An
 * allocator filled with zeros is empty. */
enum { WS_PIECES_BLOCK = 64 << 10 };
struct ws_pieces {
    char *block; /* the newest block; its first bytes hold the address of the previous block */
    size_t used; /* bytes used in the newest block */
    size_t size; /* bytes in all blocks */
};

/* Returns zeroed memory, aligned to 8 bytes, or NULL when memory runs out or size is too large. */
void *ws_pieces_take(struct ws_pieces *pieces, size_t size);

void ws_pieces_finish(struct ws_pieces *pieces);

#endif
