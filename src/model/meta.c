#include <errno.h>
#include <string.h>

#include "base/salted.h"
#include "base/hash.h"
#include "model/build.h"

static uint64_t first_place(const char *key)
{
    uint64_t hash = XXH3_64bits_withSeed(key, strlen(key), ws_salt);
    return hash ? hash : 1; /* 0 is no key of a map */
}

static uint64_t next_place(uint64_t place)
{
    return place + 1 ? place + 1 : 1;
}

static struct ws_meta_entry *entry_at(const struct ws_process *process, uint64_t place)
{
    return (struct ws_meta_entry *)process->meta.data + (place - 1);
}

const char *ws_process_meta(const struct ws_process *process, const char *key)
{
    for (uint64_t at = first_place(key);; at = next_place(at)) {
        const uint64_t *place = ws_salted_get(&process->meta_places, at);
        if (!place || !*place)
            return NULL;
        if (!strcmp(entry_at(process, *place)->key, key))
            return entry_at(process, *place)->value;
    }
}

int ws_process_set_meta(struct ws_process *process, const char *key, const char *value)
{
    for (uint64_t at = first_place(key);; at = next_place(at)) {
        uint64_t *place = ws_salted_put(&process->meta_places, at);
        if (!place)
            return -ENOMEM;
        if (*place && strcmp(entry_at(process, *place)->key, key) != 0)
            continue;
        if (*place && !strcmp(entry_at(process, *place)->value, value))
            return 0;
        struct ws_meta_entry *entry = ws_vector_push(&process->meta);
        if (!entry)
            return -ENOMEM;
        *entry = (struct ws_meta_entry){ key, value };
        *place = process->meta.count;
        return 0;
    }
}
