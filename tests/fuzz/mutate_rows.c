/* Changes inputs of fuzz_report and fuzz_export row by row and column by column. Changes of arbitrary bytes would
 * mostly shift the boundaries of all later rows. */
#include <string.h>

#include "rows.h"
#include "wire/columns.h"

enum { STARTS_MOST = 8192 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed);

struct input {
    uint8_t *data;
    size_t size, capacity;
    uint64_t random;
    size_t starts[STARTS_MOST + 1]; /* where each item begins, and after them where the last item ends */
    size_t count;
};

static uint64_t random_below(struct input *input, uint64_t limit)
{
    input->random ^= input->random << 13;
    input->random ^= input->random >> 7;
    input->random ^= input->random << 17;
    return limit ? input->random % limit : input->random;
}

static void find_items(struct input *input)
{
    struct rows_item item;
    const uint8_t *end = input->data + input->size, *next;
    input->starts[0] = input->count = 0;
    while (input->count < STARTS_MOST && (next = rows_take(input->data + input->starts[input->count], end, &item)))
        input->starts[++input->count] = (size_t)(next - input->data);
}

static uint64_t odd_value(struct input *input, uint64_t value)
{
    static const uint64_t values[] = { 0,         1,          2,          3,          4,          7,
                                       16,        255,        1000,       65536,      INT32_MAX,  UINT32_MAX,
                                       INT64_MAX, UINT64_MAX, 1ULL << 63, 1ULL << 61, 1ULL << 62, (1ULL << 61) + 1 };
    switch (random_below(input, 6)) {
    case 0:
        return value + 1;
    case 1:
        return value - 1;
    case 2:
        return value + random_below(input, 1 << 20);
    case 3:
        return value ^ 1ULL << random_below(input, 64);
    default:
        return values[random_below(input, sizeof(values) / sizeof(values[0]))];
    }
}

/* Returns the number of a random row of the same family, or `item` if no row is found. */
static size_t row_like(struct input *input, size_t item)
{
    for (int attempts = 0; attempts < 50; attempts++) {
        size_t other = random_below(input, input->count);
        if (input->data[input->starts[other]] == input->data[input->starts[item]])
            return other;
    }
    return item;
}

static void change_column(struct input *input, size_t item)
{
    uint8_t *row = input->data + input->starts[item];
    if (*row >= ROWS_REPEAT)
        return;
    const struct ws_layout *layout = ws_layout(*row % WS_FAMILY_COUNT);
    uint32_t number = (uint32_t)random_below(input, layout->column_count);
    const struct ws_column *column = &layout->columns[number];
    uint8_t *at = input->data + (rows_column(row, number) - input->data);
    uint64_t value = 0;
    if (column->coding == WS_CODING_TEXT) {
        if (*at)
            at[1 + random_below(input, *at)] = (uint8_t)random_below(input, 256);
        return;
    }
    if (random_below(input, 3)) {
        memcpy(&value, at, column->width);
        value = odd_value(input, value);
    } else {
        const uint8_t *other = input->data + input->starts[row_like(input, item)];
        memcpy(&value, rows_column(other, number), column->width);
    }
    memcpy(at, &value, column->width);
}

static void insert(struct input *input, size_t at, const uint8_t *bytes, size_t size)
{
    if (input->capacity - input->size < size)
        return;
    memmove(input->data + at + size, input->data + at, input->size - at);
    memcpy(input->data + at, bytes, size);
    input->size += size;
}

static void copy_item(struct input *input, size_t item)
{
    uint8_t bytes[ROWS_ROW_SIZE + 3 * (ROWS_TEXT_MOST + 1)];
    size_t size = input->starts[item + 1] - input->starts[item];
    memcpy(bytes, input->data + input->starts[item], size);
    insert(input, input->starts[random_below(input, input->count + 1)], bytes, size);
}

static void drop_item(struct input *input, size_t item)
{
    size_t from = input->starts[item], to = input->starts[item + 1];
    memmove(input->data + from, input->data + to, input->size - to);
    input->size -= to - from;
}

static void repeat_item(struct input *input, size_t item)
{
    uint16_t more = (uint16_t)random_below(input, random_below(input, 8) ? 30 : 1000);
    uint32_t step = (uint32_t)random_below(input, random_below(input, 4) ? 100000 : 2);
    uint8_t bytes[7] = { ROWS_REPEAT };
    memcpy(bytes + 1, &more, sizeof(more));
    memcpy(bytes + 3, &step, sizeof(step));
    insert(input, input->starts[item + 1], bytes, sizeof(bytes));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed)
{
    static struct input input;
    static const uint8_t process = ROWS_PROCESS;
    input.data = data;
    input.size = size;
    input.capacity = capacity;
    input.random = seed * 0x9e3779b97f4a7c15ULL + 1;
    for (uint64_t rounds = 1 + random_below(&input, 4); rounds; rounds--) {
        find_items(&input);
        if (!input.count)
            return LLVMFuzzerMutate(data, size, capacity);
        size_t item = random_below(&input, input.count);
        switch (random_below(&input, 16)) {
        case 0:
            copy_item(&input, item);
            break;
        case 1:
            drop_item(&input, item);
            break;
        case 2:
            repeat_item(&input, item);
            break;
        case 3:
            if (!random_below(&input, 8))
                insert(&input, input.starts[item], &process, 1);
            break;
        case 4:
            input.size = LLVMFuzzerMutate(data, input.size, capacity);
            break;
        default:
            change_column(&input, item);
        }
    }
    return input.size;
}
