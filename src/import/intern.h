/* Things that come again and again, each kept once and numbered from 1 in order of first appearance. */
#ifndef WALLSHIM_IMPORT_INTERN_H
#define WALLSHIM_IMPORT_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vector.h"
#include "record/record.h"

struct ws_intern {
    struct ws_map places;   /* hash → number */
    struct ws_vector items; /* number - 1 → the key, or the struct ws_text */
};

#define WS_INTERN(type) ((struct ws_intern){ .items = { .size = sizeof(type) } })

/* The number of a key of fixed size without padding; 0 when memory is out. */
uint32_t ws_intern_key(struct ws_intern *intern, const void *key, bool *fresh);

/* The number of a text, which the arena then holds. */
uint32_t ws_intern_text(struct ws_intern *intern, struct ws_arena *arena, const char *data, size_t length,
                        bool *fresh);

/* The number a key has already, or 0. */
uint32_t ws_intern_find(const struct ws_intern *intern, const void *key);

static inline const void *ws_intern_item(const struct ws_intern *intern, uint32_t number)
{
    return (const char *)intern->items.data + (size_t)(number - 1) * intern->items.size;
}

void ws_intern_finish(struct ws_intern *intern);

#endif
