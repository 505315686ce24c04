/* A map from 64-bit keys to 64-bit values: open addressing, linear probing, power-of-two sizes.
 *
 * Key 0 is not a key. The memory is its own mapping, not malloc's, because the shim uses it in
 * programs that replace malloc. Not thread safe.
 */
#ifndef WALLSHIM_BASE_MAP_H
#define WALLSHIM_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ws_map_entry {
    uint64_t key;
    uint64_t value;
};

struct ws_map {
    struct ws_map_entry *entries;
    size_t capacity;
    size_t count;
    size_t limit; /* entries it may hold at most; 0: as many as memory allows */
};

static inline uint64_t ws_map_hash(uint64_t key)
{
    key ^= key >> 32;
    key *= 0x9e3779b97f4a7c15u;
    return key ^ key >> 29;
}

/* All zero is an empty map, so there is no init. */
void ws_map_finish(struct ws_map *map);

/* The value's place, or NULL. Valid until the next put or remove. */
uint64_t *ws_map_get(const struct ws_map *map, uint64_t key);

/* The value's place, new ones holding 0; NULL when the limit or memory is reached. */
uint64_t *ws_map_put(struct ws_map *map, uint64_t key);

bool ws_map_remove(struct ws_map *map, uint64_t key);

#endif
