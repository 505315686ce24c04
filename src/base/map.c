#include "base/map.h"

#include "base/reserve.h"

enum { MAP_FIRST_CAPACITY = 256 };

static struct ws_map_entry *map_entries(size_t capacity)
{
    return ws_reserve(capacity * sizeof(struct ws_map_entry));
}

/* Returns the slot that holds the key. If no slot holds it, returns the empty slot where a new key would be put. */
static size_t map_slot(const struct ws_map *map, uint64_t key)
{
    size_t mask = map->capacity - 1;
    size_t at = ws_map_hash(key) & mask;
    while (map->entries[at].key && map->entries[at].key != key)
        at = (at + 1) & mask;
    return at;
}

static bool map_grow(struct ws_map *map)
{
    struct ws_map old = *map;
    size_t capacity = old.capacity ? old.capacity * 2 : MAP_FIRST_CAPACITY;
    struct ws_map_entry *entries = map_entries(capacity);
    if (!entries)
        return false;
    map->entries = entries;
    map->capacity = capacity;
    for (size_t i = 0; i < old.capacity; i++)
        if (old.entries[i].key)
            entries[map_slot(map, old.entries[i].key)] = old.entries[i];
    if (old.entries)
        munmap(old.entries, old.capacity * sizeof(*old.entries));
    return true;
}

void ws_map_finish(struct ws_map *map)
{
    if (map->entries)
        munmap(map->entries, map->capacity * sizeof(*map->entries));
    *map = (struct ws_map){ .limit = map->limit };
}

uint64_t *ws_map_get(const struct ws_map *map, uint64_t key)
{
    if (!map->capacity || !key)
        return NULL;
    struct ws_map_entry *entry = &map->entries[map_slot(map, key)];
    return entry->key ? &entry->value : NULL;
}

uint64_t *ws_map_put(struct ws_map *map, uint64_t key)
{
    uint64_t *value = ws_map_get(map, key);
    if (value || !key)
        return value;
    if (map->limit && map->count >= map->limit)
        return NULL;
    if (map->count * 4 >= map->capacity * 3 && !map_grow(map))
        return NULL;
    struct ws_map_entry *entry = &map->entries[map_slot(map, key)];
    *entry = (struct ws_map_entry){ .key = key };
    map->count++;
    return &entry->value;
}

bool ws_map_remove(struct ws_map *map, uint64_t key)
{
    if (!ws_map_get(map, key))
        return false;
    size_t mask = map->capacity - 1;
    size_t hole = map_slot(map, key);
    /* A search for a key stops at the first empty slot, so an empty slot here (the hole) would hide entries after the
     * hole. Therefore each entry up to the next empty slot is examined. An entry moves into the hole if a search for
     * its key would stop at the hole. */
    for (size_t at = (hole + 1) & mask; map->entries[at].key; at = (at + 1) & mask) {
        size_t home = ws_map_hash(map->entries[at].key) & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            map->entries[hole] = map->entries[at];
            hole = at;
        }
    }
    map->entries[hole] = (struct ws_map_entry){ 0 };
    map->count--;
    return true;
}
