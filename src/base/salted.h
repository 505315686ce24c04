/* Maps whose keys a file says: with keys that fall on one place of a map all of them would be gone through for each,
 * so keys are multiplied by a number that nobody knows before. The same map takes the same functions throughout. */
#ifndef WALLSHIM_BASE_SALTED_H
#define WALLSHIM_BASE_SALTED_H

#include "base/map.h"

/* Odd, another in each process; set before main. */
extern uint64_t ws_salt;

/* As ws_map_get. */
static inline uint64_t *ws_salted_get(const struct ws_map *map, uint64_t key)
{
    return ws_map_get(map, key * ws_salt);
}

/* As ws_map_put. */
static inline uint64_t *ws_salted_put(struct ws_map *map, uint64_t key)
{
    return ws_map_put(map, key * ws_salt);
}

/* As ws_map_remove. */
static inline bool ws_salted_remove(struct ws_map *map, uint64_t key)
{
    return ws_map_remove(map, key * ws_salt);
}

#endif
