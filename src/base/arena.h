/* Memory for things that live as long as each other: many small pieces, freed at once. */
#ifndef WALLSHIM_BASE_ARENA_H
#define WALLSHIM_BASE_ARENA_H

#include <stddef.h>

struct ws_arena_chunk;

/* All zero is an empty arena. */
struct ws_arena {
    struct ws_arena_chunk *chunks;
};

/* A terminated copy of length bytes, or NULL when memory is out. */
char *ws_arena_copy(struct ws_arena *arena, const char *data, size_t length);

void ws_arena_finish(struct ws_arena *arena);

#endif
