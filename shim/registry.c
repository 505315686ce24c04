#include "registry.h"

#include <errno.h>
#include <string.h>

#include "base/reserve.h"

enum { TEXT_ARENA = 64 << 20, LONGEST_TEXT = 16 << 10 };

struct registry registry;

static int table_init(struct registry_table *table, size_t row_size, uint32_t limit)
{
    *table = (struct registry_table){ .rows = ws_reserve(row_size * limit),
                                      .row_size = (uint32_t)row_size,
                                      .limit = limit };
    return table->rows ? 0 : -ENOMEM;
}

int registry_init(void)
{
    int error = 0;
#define TABLE(family, limit) error = error ? error : table_init(&registry.family, sizeof(struct ws_##family), limit);
    REGISTRY_TABLES(TABLE)
#undef TABLE
    registry.text_used = 0;
    registry.text_size = TEXT_ARENA;
    registry.text = ws_reserve(TEXT_ARENA);
    return error ? error : registry.text ? 0 : -ENOMEM;
}

uint32_t registry_add(struct registry_table *table, const void *row)
{
    uint32_t count = atomic_load_explicit(&table->count, memory_order_relaxed);
    if (count >= table->limit)
        return 0;
    char *place = table->rows + (size_t)count * table->row_size;
    uint32_t id = count + 1, first;
    memcpy(place, row, table->row_size);
    memcpy(&first, place, sizeof(first));
    if (!first)
        memcpy(place, &id, sizeof(id));
    atomic_store_explicit(&table->count, id, memory_order_release);
    return id;
}

struct ws_text registry_text(const char *text)
{
    size_t length = text ? strnlen(text, LONGEST_TEXT) : 0;
    if (length >= registry.text_size - registry.text_used)
        return (struct ws_text){ 0 };
    char *copy = registry.text + registry.text_used;
    memcpy(copy, text ? text : "", length);
    copy[length] = 0;
    registry.text_used += length + 1;
    return (struct ws_text){ copy, (uint32_t)length };
}
