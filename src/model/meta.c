#include <errno.h>
#include <string.h>

#include "base/salted.h"
#include "model/build.h"

static struct ws_meta_entry *entry_at(const struct ws_process *process, uint64_t place)
{
    return (struct ws_meta_entry *)process->meta.data + (place - 1);
}

const char *ws_process_meta(const struct ws_process *process, const char *key)
{
    for (uint64_t at = ws_salted_key(key, strlen(key));; at = ws_hash_next(at)) {
        const uint64_t *place = ws_salted_get(&process->meta_places, at);
        if (!place || !*place)
            return NULL;
        if (!strcmp(entry_at(process, *place)->key, key))
            return entry_at(process, *place)->value;
    }
}

const char *ws_process_slowed_by(const struct ws_process *process)
{
    return ws_process_meta(process, "host_slowed_by");
}

const char *ws_process_placement(const struct ws_process *process)
{
    static const char *const placements[] = { "sampled", "shared", "pairs" };
    const char *text = ws_process_meta(process, "marks");
    if (text && !strcmp(text, "marks")) /* the former name */
        text = "shared";
    for (size_t i = 0; text && i < sizeof(placements) / sizeof(placements[0]); i++)
        if (!strcmp(text, placements[i]))
            return placements[i];
    return "";
}

bool ws_process_is_whole(const struct ws_process *process)
{
    return !ws_damage_any(&process->damage) && !ws_process_meta(process, "import_damage");
}

int ws_process_set_meta(struct ws_process *process, const char *key, const char *value)
{
    for (uint64_t at = ws_salted_key(key, strlen(key));; at = ws_hash_next(at)) {
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
