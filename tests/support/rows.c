#include "rows.h"

#include <string.h>

#include "random.h"
#include "wire/columns.h"

static uint64_t test_number(uint64_t *state)
{
    static const uint64_t extremes[] = { 0,          1,         UINT64_MAX,         INT64_MAX, (uint64_t)INT64_MIN,
                                         UINT32_MAX, INT32_MAX, (uint64_t)INT32_MIN };
    uint64_t random = next_random(state);
    if (random % 4 == 0)
        return extremes[(random >> 8) % (sizeof(extremes) / sizeof(extremes[0]))];
    return (random >> 8) >> (random % 56);
}

void test_row_fill(uint32_t family, void *row, uint64_t *state, uint32_t max_text)
{
    static char bytes[1 << 17];
    if (!bytes[1])
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (char)(i * 7 + i / 256);
    const struct ws_layout *layout = ws_layout(family);
    memset(row, 0, layout->row_size);
    for (uint32_t i = 0; i < layout->column_count; i++) {
        const struct ws_column *column = &layout->columns[i];
        char *field = (char *)row + column->offset;
        uint64_t number = test_number(state);
        if (column->coding == WS_CODING_TEXT) {
            uint32_t length = max_text ? (uint32_t)(number % (max_text + 1)) : 0;
            struct ws_text text = { bytes + next_random(state) % (sizeof(bytes) - length), length };
            memcpy(field, &text, sizeof(text));
        } else {
            memcpy(field, &number, column->width);
        }
    }
}

const void *test_block_row(const struct ws_block *block, uint32_t i, struct ws_op *op)
{
    if (!block->ops)
        return (const char *)block->rows + (size_t)i * ws_layout(block->family)->row_size;
    *op = (struct ws_op){ 0 };
#define FIELD(type, name, coding) op->name = WS_OP_AT(block->ops, name, i);
#define NO_TEXT(name)
    WS_COLUMNS_op(FIELD, NO_TEXT)
#undef NO_TEXT
#undef FIELD
        return op;
}

bool test_rows_equal(uint32_t family, const void *left, const void *right)
{
    const struct ws_layout *layout = ws_layout(family);
    for (uint32_t i = 0; i < layout->column_count; i++) {
        const struct ws_column *column = &layout->columns[i];
        const char *a = (const char *)left + column->offset, *b = (const char *)right + column->offset;
        if (column->coding != WS_CODING_TEXT) {
            if (memcmp(a, b, column->width))
                return false;
            continue;
        }
        struct ws_text first, second;
        memcpy(&first, a, sizeof(first));
        memcpy(&second, b, sizeof(second));
        if (first.length != second.length || (first.length && memcmp(first.data, second.data, first.length)))
            return false;
    }
    return true;
}
