#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 64 * 1024 };

struct ws_arena_chunk {
    struct ws_arena_chunk *next;
    size_t used, capacity;
    char bytes[];
};

char *ws_arena_copy(struct ws_arena *arena, const char *data, size_t length)
{
    struct ws_arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->capacity - chunk->used < length + 1) {
        size_t capacity = length + 1 > CHUNK_BYTES ? length + 1 : CHUNK_BYTES;
        chunk = malloc(sizeof(*chunk) + capacity);
        if (!chunk)
            return NULL;
        *chunk = (struct ws_arena_chunk){ .next = arena->chunks, .capacity = capacity };
        arena->chunks = chunk;
    }
    char *copy = chunk->bytes + chunk->used;
    if (length)
        memcpy(copy, data, length);
    copy[length] = 0;
    chunk->used += length + 1;
    return copy;
}

void ws_arena_finish(struct ws_arena *arena)
{
    while (arena->chunks) {
        struct ws_arena_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
}
