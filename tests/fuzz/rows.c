#include "rows.h"

#include <string.h>

#include "wire/columns.h"

static size_t size_at(const struct ws_column *column, const uint8_t *at, const uint8_t *end)
{
    if (column->coding != WS_CODING_TEXT)
        return column->width;
    return at < end ? (size_t)1 + *at : 1;
}

static const uint8_t *take_repeat(const uint8_t *at, const uint8_t *end, struct rows_item *item)
{
    if ((size_t)(end - at) < sizeof(item->more) + sizeof(item->step))
        return NULL;
    memcpy(&item->more, at, sizeof(item->more));
    memcpy(&item->step, at + sizeof(item->more), sizeof(item->step));
    return at + sizeof(item->more) + sizeof(item->step);
}

const uint8_t *rows_take(const uint8_t *at, const uint8_t *end, struct rows_item *item)
{
    if (at >= end)
        return NULL;
    item->what = *at++;
    if (item->what == ROWS_PROCESS)
        return at;
    if (item->what == ROWS_REPEAT)
        return take_repeat(at, end, item);
    item->what %= WS_FAMILY_COUNT;
    const struct ws_layout *layout = ws_layout(item->what);
    memset(item->row, 0, sizeof(item->row));
    for (uint32_t i = 0; i < layout->column_count; i++) {
        const struct ws_column *column = &layout->columns[i];
        size_t size = size_at(column, at, end);
        if ((size_t)(end - at) < size)
            return NULL;
        if (column->coding == WS_CODING_TEXT)
            *ws_column_text(column, item->row) = (struct ws_text){ (const char *)at + 1, *at };
        else
            memcpy(item->row + column->offset, at, size);
        at += size;
    }
    return at;
}

size_t rows_put(uint8_t *to, size_t capacity, enum ws_family family, const void *row)
{
    const struct ws_layout *layout = ws_layout(family);
    size_t used = 1;
    if (!capacity)
        return 0;
    *to = (uint8_t)family;
    for (uint32_t i = 0; i < layout->column_count; i++) {
        const struct ws_column *column = &layout->columns[i];
        const struct ws_text *text = ws_column_text(column, row);
        bool is_text = column->coding == WS_CODING_TEXT;
        size_t length = !is_text ? column->width : text->length < ROWS_TEXT_MOST ? text->length : ROWS_TEXT_MOST;
        if (capacity - used < length + is_text)
            return 0;
        if (is_text)
            to[used++] = (uint8_t)length;
        if (length)
            memcpy(to + used, is_text ? text->data : (const char *)row + column->offset, length);
        used += length;
    }
    return used;
}

static bool is_time(const char *name)
{
    static const char *const names[] = { "begin",     "end",     "host_begin", "host_end",
                                         "device_ns", "host_ns", "correlation" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

enum advance { UNKNOWN, STAYS, BY_ONE, BY_STEP };

/* How a column changes from one copy of a row to the next (ROWS_REPEAT). The answer is cached for each column,
 * because finding it takes comparisons of names, and a fuzzer makes millions of rows. */
static enum advance advance_of(enum ws_family family, uint32_t column)
{
    static uint8_t known[WS_FAMILY_COUNT][WS_COLUMNS_MAX];
    const struct ws_column *of = &ws_layout(family)->columns[column];
    uint8_t *advance = &known[family][column];
    if (*advance == UNKNOWN)
        *advance = of->coding == WS_CODING_TEXT ? STAYS
                   : !strcmp(of->name, "id")    ? BY_ONE
                   : is_time(of->name)          ? BY_STEP
                                                : STAYS;
    return *advance;
}

void rows_advance(enum ws_family family, void *row, uint32_t step)
{
    const struct ws_layout *layout = ws_layout(family);
    for (uint32_t i = 0; i < layout->column_count; i++) {
        const struct ws_column *column = &layout->columns[i];
        enum advance advance = advance_of(family, i);
        if (advance != STAYS)
            ws_column_store(column, row, ws_column_load(column, row) + (advance == BY_ONE ? 1 : step));
    }
}

const uint8_t *rows_column(const uint8_t *at, uint32_t column)
{
    const struct ws_layout *layout = ws_layout(*at++ % WS_FAMILY_COUNT);
    for (uint32_t i = 0; i < column; i++)
        at += size_at(&layout->columns[i], at, at + 1);
    return at;
}
