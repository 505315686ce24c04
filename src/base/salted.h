/* Maps with keys that come from a file. Each key is multiplied by a random number, so that nobody can craft a file
 * whose keys all have the same slot, which would make every look-up slow. Use only the functions below on a map with
 * keys from a file. */
#ifndef WALLSHIM_BASE_SALTED_H
#define WALLSHIM_BASE_SALTED_H

#include "base/hash.h"
#include "base/map.h"

/* A random number for this process, set before main. It is odd, so that different keys have different products. */
extern uint64_t ws_salt;

/* Like ws_hash_key, for texts from a file: nobody can craft a file that holds two texts with the same key. */
static inline uint64_t ws_salted_key(const void *bytes, size_t size)
{
    uint64_t hash = XXH3_64bits_withSeed(bytes, size, ws_salt);
    return hash ? hash : 1;
}

/* ws_map_get for a map with keys from a file. */
static inline uint64_t *ws_salted_get(const struct ws_map *map, uint64_t key)
{
    return ws_map_get(map, key * ws_salt);
}

/* ws_map_put for a map with keys from a file. */
static inline uint64_t *ws_salted_put(struct ws_map *map, uint64_t key)
{
    return ws_map_put(map, key * ws_salt);
}

/* ws_map_remove for a map with keys from a file. */
static inline bool ws_salted_remove(struct ws_map *map, uint64_t key)
{
    return ws_map_remove(map, key * ws_salt);
}

#endif
