#include "products.h"

#include <string.h>

#include "base/map.h"
#include "registry.h"

static struct ws_map labels; /* hash of a text → its id; the registry's lock */

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 1469598103934665603u;
    for (const char *at = text; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    return hash ? hash : 1;
}

static bool is_text(uint64_t id, const char *text)
{
    const struct ws_label *row = registry_row(&registry.label, (uint32_t)id);
    return row->text.length == strlen(text) && !memcmp(row->text.data, text, row->text.length);
}

void *product_real(enum ws_function_id id, const char *bound)
{
    return strcmp(bound, "WALLSHIM") ? resolve_version(id, bound) : resolve_find(id);
}

/* Where the dictionary is full, nothing more is put beside it: sizes may change at every call, and the room for texts
 * is that of kernels' names too. */
uint32_t product_label(const char *text)
{
    uint64_t hash = hash_of(text);
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
    /* Another text of the same hash is rather left unsaid. */
    uint32_t id = known && *known && is_text(*known, text) ? (uint32_t)*known : 0;
    registry_unlock();
    return id;
}
