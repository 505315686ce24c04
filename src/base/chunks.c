#include "base/chunks.h"

#include <string.h>

#include "base/reserve.h"

static size_t chunk_size(const struct ws_chunks *table, unsigned chunk)
{
    return table->row_size << (WS_CHUNK_FIRST_BIT + chunk);
}

void *ws_chunks_make(struct ws_chunks *table, uint32_t index)
{
    uint64_t place = (uint64_t)index + (1u << WS_CHUNK_FIRST_BIT);
    unsigned chunk = 63u - (unsigned)__builtin_clzll(place) - WS_CHUNK_FIRST_BIT;
    if (chunk >= WS_CHUNKS)
        return NULL;
    if (!table->chunk[chunk])
        table->chunk[chunk] = ws_reserve(chunk_size(table, chunk));
    return table->chunk[chunk] ? ws_chunks_row(table, index) : NULL;
}

void ws_chunks_finish(struct ws_chunks *table)
{
    for (unsigned chunk = 0; chunk < WS_CHUNKS; chunk++)
        if (table->chunk[chunk])
            munmap(table->chunk[chunk], chunk_size(table, chunk));
    *table = (struct ws_chunks){ .row_size = table->row_size };
}

void *ws_pieces_take(struct ws_pieces *pieces, size_t size)
{
    size = (size + 7) & ~(size_t)7;
    if (size > WS_PIECES_BLOCK / 2)
        return NULL;
    if (!pieces->block || size > WS_PIECES_BLOCK - pieces->used) {
        char *block = ws_reserve(WS_PIECES_BLOCK);
        if (!block)
            return NULL;
        memcpy(block, &pieces->block, sizeof(pieces->block));
        *pieces = (struct ws_pieces){ block, sizeof(pieces->block), pieces->size + WS_PIECES_BLOCK };
    }
    pieces->used += size;
    return pieces->block + pieces->used - size;
}

void ws_pieces_finish(struct ws_pieces *pieces)
{
    while (pieces->block) {
        char *before;
        memcpy(&before, pieces->block, sizeof(before));
        munmap(pieces->block, WS_PIECES_BLOCK);
        pieces->block = before;
    }
    *pieces = (struct ws_pieces){ 0 };
}
