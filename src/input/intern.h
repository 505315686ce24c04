/* Interning: stores equal items once and numbers them from 1 in order of first appearance. */
#ifndef WALLSHIM_INPUT_INTERN_H
#define WALLSHIM_INPUT_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vector.h"
#include "record/record.h"

struct ws_intern {
    struct ws_map places;   /* hash of an item → number of the item */
    struct ws_vector items; /* the items (keys or struct ws_text); item number n has index n - 1 */
};

#define WS_INTERN(type) ((struct ws_intern){ .items = { .size = sizeof(type) } })

/* Returns the number of a key, or 0 when memory runs out. A key has the size of an item and no padding. Sets *fresh
 * to whether the key is new. */
uint32_t ws_intern_key(struct ws_intern *intern, const void *key, bool *fresh);

/* Returns the number of a text. The arena stores new texts. */
uint32_t ws_intern_text(struct ws_intern *intern, struct ws_arena *arena, const char *data, size_t length,
                        bool *fresh);

/* Returns the number of a known key, or 0. */
uint32_t ws_intern_find(const struct ws_intern *intern, const void *key);

static inline const void *ws_intern_item(const struct ws_intern *intern, uint32_t number)
{
    return (const char *)intern->items.data + (size_t)(number - 1) * intern->items.size;
}

void ws_intern_finish(struct ws_intern *intern);

#endif
