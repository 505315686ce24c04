#include "shim/state/registry.h"

#include <string.h>

#include "shim/state/live.h"

enum { TEXT_ARENA = 64 << 20, LONGEST_TEXT = 16 << 10 };

struct registry registry;

void registry_init(void)
{
#define TABLE(family, most)                                                                 \
    registry.family = (struct registry_table){ .rows.row_size = sizeof(struct ws_##family), \
                                               .limit = most,                               \
                                               .rows_family = WS_FAMILY_##family };
    REGISTRY_TABLES(TABLE)
#undef TABLE
    registry.text = (struct ws_pieces){ 0 };
}

uint32_t registry_add(struct registry_table *table, const void *row)
{
    uint32_t count = atomic_load_explicit(&table->count, memory_order_relaxed);
    char *place = count < table->limit ? ws_chunks_make(&table->rows, count) : NULL;
    if (!place) {
        atomic_fetch_add_explicit(&table->refused, 1, memory_order_relaxed);
        return 0;
    }
    uint32_t id = count + 1, first;
    memcpy(place, row, table->rows.row_size);
    memcpy(&first, place, sizeof(first));
    if (!first)
        memcpy(place, &id, sizeof(id));
    atomic_store_explicit(&table->count, id, memory_order_release);
    /* The row is copied into the live memory before its id is returned. So the copy is there before any record can
     * refer to the row. */
    live_add_dictionary_row(table->rows_family, id, place);
    return id;
}

struct ws_text registry_bytes(const void *bytes, size_t size)
{
    char *copy = registry.text.size < TEXT_ARENA ? ws_pieces_take(&registry.text, size + 1) : NULL;
    if (!copy) {
        atomic_fetch_add_explicit(&registry.texts_refused, 1, memory_order_relaxed);
        return (struct ws_text){ 0 };
    }
    memcpy(copy, bytes, size);
    return (struct ws_text){ copy, (uint32_t)size };
}

struct ws_text registry_text(const char *text)
{
    return registry_bytes(text ? text : "", text ? strnlen(text, LONGEST_TEXT) : 0);
}
