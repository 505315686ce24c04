#include "input/intern.h"

#include <string.h>

#include "base/salted.h"

typedef bool (*is_same)(const struct ws_intern *intern, uint32_t number, const void *data, size_t length);

static bool same_key(const struct ws_intern *intern, uint32_t number, const void *data, size_t length)
{
    return !memcmp(ws_intern_item(intern, number), data, length);
}

static bool same_text(const struct ws_intern *intern, uint32_t number, const void *data, size_t length)
{
    const struct ws_text *text = ws_intern_item(intern, number);
    return text->length == length && !memcmp(text->data, data, length);
}

/* Returns the map entry that holds the number of an equal item, or a new entry that holds 0. Returns NULL when
 * memory runs out. */
static uint64_t *find_place(struct ws_intern *intern, const void *data, size_t length, is_same same)
{
    for (uint64_t key = ws_salted_key(data, length);; key = ws_hash_next(key)) {
        uint64_t *place = ws_salted_put(&intern->places, key);
        if (!place || !*place || same(intern, (uint32_t)*place, data, length))
            return place;
    }
}

/* Appends an item and stores its number in the new map entry. */
static void *intern_add(struct ws_intern *intern, uint64_t *place)
{
    void *item = intern->items.count < UINT32_MAX ? ws_vector_push(&intern->items) : NULL;
    if (item)
        *place = intern->items.count;
    return item;
}

uint32_t ws_intern_key(struct ws_intern *intern, const void *key, bool *fresh)
{
    uint64_t *place = find_place(intern, key, intern->items.size, same_key);
    *fresh = place && !*place;
    if (*fresh) {
        void *item = intern_add(intern, place);
        if (!item)
            return 0;
        memcpy(item, key, intern->items.size);
    }
    return place ? (uint32_t)*place : 0;
}

uint32_t ws_intern_text(struct ws_intern *intern, struct ws_arena *arena, const char *data, size_t length,
                        bool *fresh)
{
    uint64_t *place = find_place(intern, data, length, same_text);
    *fresh = place && !*place;
    if (*fresh) {
        char *copy = ws_arena_copy(arena, data, length);
        struct ws_text *item = copy ? intern_add(intern, place) : NULL;
        if (!item)
            return 0;
        *item = (struct ws_text){ copy, (uint32_t)length };
    }
    return place ? (uint32_t)*place : 0;
}

uint32_t ws_intern_find(const struct ws_intern *intern, const void *key)
{
    for (uint64_t at = ws_salted_key(key, intern->items.size);; at = ws_hash_next(at)) {
        const uint64_t *place = ws_salted_get(&intern->places, at);
        if (!place || !*place || same_key(intern, (uint32_t)*place, key, intern->items.size))
            return place ? (uint32_t)*place : 0;
    }
}

void ws_intern_finish(struct ws_intern *intern)
{
    ws_map_finish(&intern->places);
    ws_vector_finish(&intern->items);
}
