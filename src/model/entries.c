#include "model/entries.h"

#include <errno.h>
#include <string.h>

#include "base/salted.h"
#include "wire/columns.h"

#define CHECK_ID(family) _Static_assert(offsetof(struct ws_##family, id) == 0, "the identifier comes first")
CHECK_ID(driver_function);
CHECK_ID(device);
CHECK_ID(context);
CHECK_ID(stream);
CHECK_ID(thread);
CHECK_ID(function);
CHECK_ID(shape);
CHECK_ID(comm);
CHECK_ID(params);
CHECK_ID(label);
CHECK_ID(metric);

void ws_entries_init(struct ws_entries *dictionary, enum ws_family family)
{
    *dictionary = (struct ws_entries){ .family = family, .rows.size = ws_layout(family)->row_size };
}

static int keep_texts(const struct ws_layout *layout, struct ws_arena *texts, char *row)
{
    for (size_t i = 0; i < layout->column_count; i++) {
        if (layout->columns[i].coding != WS_CODING_TEXT)
            continue;
        struct ws_text *text = (struct ws_text *)(row + layout->columns[i].offset);
        text->data = ws_arena_copy(texts, text->data, text->length);
        if (!text->data)
            return -ENOMEM;
    }
    return 0;
}

/* Returns whether two rows are equal, texts included. */
static bool same_row(const struct ws_layout *layout, const char *a, const char *b)
{
    for (size_t i = 0; i < layout->column_count; i++) {
        const struct ws_column *column = &layout->columns[i];
        if (column->coding == WS_CODING_TEXT) {
            const struct ws_text *x = (const struct ws_text *)(a + column->offset);
            const struct ws_text *y = (const struct ws_text *)(b + column->offset);
            if (x->length != y->length || (x->length && memcmp(x->data, y->data, x->length)))
                return false;
        } else if (memcmp(a + column->offset, b + column->offset, column->width)) {
            return false;
        }
    }
    return true;
}

int ws_entries_put(struct ws_entries *dictionary, struct ws_arena *texts, const void *row)
{
    const struct ws_layout *layout = ws_layout(dictionary->family);
    uint32_t id = *(const uint32_t *)row;
    if (!id)
        return 0;
    uint64_t *place = ws_salted_put(&dictionary->index, id);
    if (!place)
        return -ENOMEM;
    char *to;
    if (*place) {
        to = (char *)dictionary->rows.data + (*place - 1) * dictionary->rows.size;
        if (same_row(layout, to, row))
            return 0;
    } else {
        to = ws_vector_push(&dictionary->rows);
        if (!to)
            return -ENOMEM;
        *place = dictionary->rows.count;
    }
    memcpy(to, row, dictionary->rows.size);
    return keep_texts(layout, texts, to);
}

uint32_t ws_entries_place(const struct ws_entries *dictionary, uint32_t id)
{
    uint32_t guess = id - 1; /* most files number their rows from 1 on */
    if (guess < dictionary->rows.count &&
        *(const uint32_t *)((const char *)dictionary->rows.data + guess * dictionary->rows.size) == id)
        return guess;
    const uint64_t *place = ws_salted_get(&dictionary->index, id);
    return place && *place ? (uint32_t)(*place - 1) : UINT32_MAX;
}

const void *ws_entries_find(const struct ws_entries *dictionary, uint32_t id)
{
    uint32_t place = ws_entries_place(dictionary, id);
    return place == UINT32_MAX ? NULL : (const char *)dictionary->rows.data + place * dictionary->rows.size;
}

void ws_entries_finish(struct ws_entries *dictionary)
{
    ws_vector_finish(&dictionary->rows);
    ws_map_finish(&dictionary->index);
}
