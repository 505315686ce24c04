#include "shim/libraries/library_calls.h"

#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "shim/state/registry.h"

static struct ws_map labels; /* hash of a text → its id in the dictionary of labels; guarded by the registry's lock */

static bool is_text(uint64_t id, const char *text)
{
    const struct ws_label *row = registry_row(&registry.label, (uint32_t)id);
    return row->text.length == strlen(text) && !memcmp(row->text.data, text, row->text.length);
}

void *library_real(enum ws_function_id id, const char *bound)
{
    return strcmp(bound, "WALLSHIM") ? resolve_version(id, bound) : resolve_find(id);
}

/* Once the dictionary of labels is full, no more texts are stored. Without a limit, a program that calls a library
 * with different sizes each time would use up the memory that kernels' names need. */
uint32_t library_label(const char *text)
{
    uint64_t hash = ws_hash_key(text, strlen(text));
    if (!registry_lock())
        return 0;
    bool is_full = atomic_load_explicit(&registry.label.count, memory_order_relaxed) >= registry.label.limit;
    uint64_t *known = is_full ? ws_map_get(&labels, hash) : ws_map_put(&labels, hash);
    if (known && !*known && !is_full) {
        struct ws_label row = { .text = registry_text(text) };
        *known = row.text.length ? registry_add(&registry.label, &row) : 0;
    }
    if (!known && is_full)
        atomic_fetch_add_explicit(&registry.label.refused, 1, memory_order_relaxed);
    /* If another text has the same hash, this text gets no label. */
    uint32_t id = known && *known && is_text(*known, text) ? (uint32_t)*known : 0;
    registry_unlock();
    return id;
}
