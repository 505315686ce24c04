/* A hash map from 64-bit keys to 64-bit values: open addressing, linear probing, power-of-two sizes.
 *
 * 0 is not a valid key. The memory is mapped directly, not with malloc, because the shim runs in programs that may
 * replace malloc. Not thread safe. */
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
    size_t limit; /* maximum number of entries; 0: no limit */
};

static inline uint64_t ws_map_hash(uint64_t key)
{
    key ^= key >> 32;
    key *= 0x9e3779b97f4a7c15u;
    return key ^ key >> 29;
}

/* A map filled with zeros is empty, so no function is needed to initialize a map. */
void ws_map_finish(struct ws_map *map);

/* Returns the address of the key's value, or NULL. The address stays valid until the next put or remove. */
uint64_t *ws_map_get(const struct ws_map *map, uint64_t key);

/* Returns the address of the key's value. Adds a missing key with the value 0. Returns NULL if a missing key cannot
 * be added, because the map already has `limit` entries or memory runs out. */
uint64_t *ws_map_put(struct ws_map *map, uint64_t key);

bool ws_map_remove(struct ws_map *map, uint64_t key);

#endif
