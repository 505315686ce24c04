#include "import/intern.h"

#include <string.h>

#include "base/salted.h"
#include "base/hash.h"

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

static uint64_t first_place(const void *data, size_t length)
{
    uint64_t hash = XXH3_64bits_withSeed(data, length, ws_salt); /* so that no file can hold texts of one place */
    return hash ? hash : 1;                                      /* 0 is no key of a map */
}

static uint64_t next_place(uint64_t place)
{
    return place + 1 ? place + 1 : 1;
}

/* The place of what was there before or of what is to come: it then holds 0. NULL when memory is out. */
static uint64_t *find_place(struct ws_intern *intern, const void *data, size_t length, is_same same)
{
    for (uint64_t key = first_place(data, length);; key = next_place(key)) {
        uint64_t *place = ws_salted_put(&intern->places, key);
        if (!place || !*place || same(intern, (uint32_t)*place, data, length))
            return place;
    }
}

/* Room for the item of a fresh place. */
static void *add(struct ws_intern *intern, uint64_t *place)
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
        void *item = add(intern, place);
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
        struct ws_text *item = copy ? add(intern, place) : NULL;
        if (!item)
            return 0;
        *item = (struct ws_text){ copy, (uint32_t)length };
    }
    return place ? (uint32_t)*place : 0;
}

uint32_t ws_intern_find(const struct ws_intern *intern, const void *key)
{
    for (uint64_t at = first_place(key, intern->items.size);; at = next_place(at)) {
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
