/* An arena: many small allocations with one lifetime, all freed together. */
#ifndef WALLSHIM_BASE_ARENA_H
#define WALLSHIM_BASE_ARENA_H

#include <stddef.h>

struct ws_arena_chunk;

/* An arena filled with zeros is empty. */
struct ws_arena {
    struct ws_arena_chunk *chunks;
};

/* Returns a zero-terminated copy of the first `length` bytes of data, or NULL when memory runs out. */
char *ws_arena_copy(struct ws_arena *arena, const char *data, size_t length);

void ws_arena_finish(struct ws_arena *arena);

#endif
