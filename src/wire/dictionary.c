#include "wire/dictionary.h"

#include <sys/mman.h>

#include "base/reserve.h"

enum {
    ROWS_MAX = 1 << 16,
    TEXTS_MAX = 8 << 20,
    FIRST_CAPACITY = 1 << 14,
};

static struct ws_text *text_at(const struct ws_column *column, void *row)
{
    return (struct ws_text *)((char *)row + column->offset);
}

size_t ws_texts_size(const struct ws_layout *layout, const void *row)
{
    size_t size = 0;
    for (uint32_t i = 0; layout->text_count && i < layout->column_count; i++)
        if (layout->columns[i].coding == WS_CODING_TEXT)
            size += ((const struct ws_text *)((const char *)row + layout->columns[i].offset))->length;
    return size;
}

size_t ws_texts_move(const struct ws_layout *layout, void *row, char *to)
{
    size_t size = 0;
    for (uint32_t i = 0; layout->text_count && i < layout->column_count; i++) {
        if (layout->columns[i].coding != WS_CODING_TEXT)
            continue;
        struct ws_text *text = text_at(&layout->columns[i], row);
        if (text->length)
            memcpy(to + size, text->data, text->length);
        text->data = to + size;
        size += text->length;
    }
    return size;
}

bool ws_texts_attach(const struct ws_layout *layout, void *row, const char *from, size_t size)
{
    size_t used = 0;
    for (uint32_t i = 0; i < layout->column_count; i++) {
        if (layout->columns[i].coding != WS_CODING_TEXT)
            continue;
        struct ws_text *text = text_at(&layout->columns[i], row);
        if (text->length > size - used)
            return false;
        text->data = from + used;
        used += text->length;
    }
    return true;
}

/* Grows the memory to at least `needed` bytes. */
static bool wire_dictionary_grow(char **memory, size_t *capacity, size_t needed)
{
    size_t wanted = *capacity ? *capacity : FIRST_CAPACITY;
    while (wanted < needed)
        wanted *= 2;
    if (wanted == *capacity)
        return true;
    void *grown = *memory ? mremap(*memory, *capacity, wanted, MREMAP_MAYMOVE) : ws_reserve(wanted);
    if (!grown || grown == MAP_FAILED)
        return false;
    *memory = grown;
    *capacity = wanted;
    return true;
}

void ws_dictionary_add(struct ws_dictionary *dictionary, const void *row)
{
    const struct ws_layout *layout = dictionary->layout;
    size_t text_size = ws_texts_size(layout, row);
    /* After the first row that does not fit, the copy takes no more rows, so that the copied row numbers have no
     * gaps. */
    if (dictionary->not_kept || dictionary->count == ROWS_MAX || text_size > TEXTS_MAX - dictionary->texts_size ||
        !wire_dictionary_grow(&dictionary->rows, &dictionary->rows_capacity,
                              (size_t)(dictionary->count + 1) * layout->row_size) ||
        !wire_dictionary_grow(&dictionary->texts, &dictionary->texts_capacity, dictionary->texts_size + text_size)) {
        dictionary->not_kept++;
        return;
    }
    char *place = dictionary->rows + (size_t)dictionary->count * layout->row_size;
    memcpy(place, row, layout->row_size);
    dictionary->texts_size += ws_texts_move(layout, place, dictionary->texts + dictionary->texts_size);
    /* Rows hold offsets into the texts, because the texts may move when they grow. */
    for (uint32_t i = 0; i < layout->column_count; i++)
        if (layout->columns[i].coding == WS_CODING_TEXT) {
            struct ws_text *text = text_at(&layout->columns[i], place);
            text->data = (const char *)(uintptr_t)(text->data - dictionary->texts);
        }
    dictionary->count++;
}

uint32_t ws_dictionary_copy(const struct ws_dictionary *dictionary, uint32_t first, uint32_t max_rows,
                            size_t max_text, char *rows, char *texts)
{
    const struct ws_layout *layout = dictionary->layout;
    uint32_t copied = 0;
    for (size_t used = 0; copied < max_rows && first + copied < dictionary->count; copied++) {
        char *row = rows + (size_t)copied * layout->row_size;
        memcpy(row, dictionary->rows + (size_t)(first + copied) * layout->row_size, layout->row_size);
        if (ws_texts_size(layout, row) > max_text - used)
            break;
        for (uint32_t i = 0; i < layout->column_count; i++)
            if (layout->columns[i].coding == WS_CODING_TEXT) {
                struct ws_text *text = text_at(&layout->columns[i], row);
                text->data = dictionary->texts + (uintptr_t)text->data;
            }
        if (texts)
            used += ws_texts_move(layout, row, texts + used);
    }
    return copied;
}

void ws_dictionary_finish(struct ws_dictionary *dictionary)
{
    if (dictionary->rows)
        munmap(dictionary->rows, dictionary->rows_capacity);
    if (dictionary->texts)
        munmap(dictionary->texts, dictionary->texts_capacity);
    *dictionary = (struct ws_dictionary){ .layout = dictionary->layout };
}
