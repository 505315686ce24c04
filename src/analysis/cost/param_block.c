#include "analysis/cost/param_block.h"

#include <string.h>

bool ws_block_open(struct ws_param_block *block, const struct ws_process *process, uint32_t params)
{
    block->row = params ? ws_entries_find(&process->params, params) : NULL;
    return block->row && !ws_image_decode(&block->image, &block->row->structures);
}

/* Returns the recorded word that contains the `size` bytes at this offset, or a word of size 0 if there is none. */
static struct ws_param_word word_around(const struct ws_param_block *block, uint32_t offset, uint32_t size)
{
    struct ws_param_word word;
    for (size_t at = 0; at + sizeof(word) <= block->row->words.length; at += sizeof(word)) {
        memcpy(&word, block->row->words.data + at, sizeof(word));
        if (word.size <= sizeof(word.value) && word.offset <= offset &&
            offset + size <= (uint32_t)word.offset + word.size)
            return word;
    }
    return (struct ws_param_word){ 0 };
}

static bool in_image(const struct ws_param_block *block, uint32_t offset, uint32_t size)
{
    return offset >= 8 * block->image.first && offset + size <= 8 * (block->image.first + block->image.count);
}

bool ws_block_number(const struct ws_param_block *block, uint32_t offset, uint32_t size, uint64_t *value)
{
    struct ws_param_word word = word_around(block, offset, size);
    *value = 0;
    if (!size || size > 8 || word.address)
        return false;
    if (word.size)
        memcpy(value, (const char *)&word.value + (offset - word.offset), size);
    else if (in_image(block, offset, size))
        memcpy(value, (const char *)block->image.words + offset, size);
    else
        return false;
    return true;
}

uint64_t ws_block_address(const struct ws_param_block *block, uint32_t offset)
{
    struct ws_param_word word = word_around(block, offset, 8);
    return word.address && word.offset == offset ? word.value : 0;
}

bool ws_block_has_address(const struct ws_param_block *block, uint32_t offset)
{
    return ws_block_address(block, offset) ||
           (offset % 8 == 0 && in_image(block, offset, 8) && block->image.words[offset / 8] == WS_IMAGE_ADDRESS);
}

uint32_t ws_block_next_address(const struct ws_param_block *block, uint32_t offset)
{
    struct ws_param_word word;
    uint32_t next = 0;
    for (size_t at = 0; at + sizeof(word) <= block->row->words.length; at += sizeof(word)) {
        memcpy(&word, block->row->words.data + at, sizeof(word));
        if (word.address && word.offset > offset && (!next || word.offset < next))
            next = word.offset;
    }
    return next;
}

/* Reads the 4 bytes at this offset. The caller has checked that the recorded part of the block contains them. */
static uint32_t u32_at(const struct ws_param_block *block, uint32_t offset)
{
    uint32_t number;
    memcpy(&number, (const char *)block->image.words + offset, sizeof(number));
    return number;
}

/* Are multiplier and shift the values that IntegerDivider.cuh computes for this size? The expected shift is log2 of
 * the size, rounded up. */
static bool divides_by(uint32_t size, uint32_t multiplier, uint32_t shift)
{
    if (!size || size > INT32_MAX || shift > 31 || (UINT64_C(1) << shift) < size ||
        (shift && UINT64_C(1) << (shift - 1) >= size))
        return false;
    return multiplier == (uint32_t)(((UINT64_C(1) << 32) * ((UINT64_C(1) << shift) - size)) / size + 1);
}

bool ws_table_read(struct ws_offset_table *table, const struct ws_param_block *block, uint32_t offset,
                   uint32_t arrays)
{
    table->arrays = arrays;
    table->elements = 1;
    if (arrays > WS_TABLE_ARRAYS || !in_image(block, offset, ws_table_size(arrays)))
        return false;
    table->dims = u32_at(block, offset);
    if (table->dims > WS_TABLE_DIMS)
        return false;
    for (uint32_t i = 0; i < WS_TABLE_DIMS; i++) {
        uint32_t divider = offset + 4 + 12 * i;
        table->sizes[i] = u32_at(block, divider);
        if (!divides_by(table->sizes[i], u32_at(block, divider + 4), u32_at(block, divider + 8)) ||
            (i >= table->dims && table->sizes[i] != 1))
            return false;
        table->elements *= table->sizes[i];
        if (table->elements > INT32_MAX)
            return false;
        for (uint32_t array = 0; array < arrays; array++) {
            uint32_t stride = u32_at(block, offset + 4 + 12 * WS_TABLE_DIMS + 4 * (arrays * i + array));
            if (i >= table->dims && stride)
                return false;
            table->strides[i][array] = (int32_t)stride;
        }
    }
    return true;
}

static uint32_t stride_of(const struct ws_offset_table *table, uint32_t dimension, uint32_t array)
{
    int32_t stride = table->strides[dimension][array];
    return table->sizes[dimension] < 2 ? 0 : stride < 0 ? 0u - (uint32_t)stride : (uint32_t)stride;
}

/* Returns the dimension with the smallest stride that is larger than `above`; WS_TABLE_DIMS: none. */
static uint32_t next_dimension(const struct ws_offset_table *table, uint32_t array, uint32_t above)
{
    uint32_t next = WS_TABLE_DIMS;
    for (uint32_t i = 0; i < table->dims; i++) {
        uint32_t stride = stride_of(table, i, array);
        if (stride > above && (next == WS_TABLE_DIMS || stride < stride_of(table, next, array)))
            next = i;
    }
    return next;
}

uint64_t ws_table_touched(const struct ws_offset_table *table, uint32_t array, uint32_t element_bytes)
{
    uint64_t elements = 1, extent = element_bytes, all = 1;
    uint32_t stride = 0, dimension;
    for (uint32_t i = 0; i < table->dims; i++)
        all *= stride_of(table, i, array) ? table->sizes[i] : 1;
    /* Elements do not overlap if each stride is at least as large as the range of bytes that the dimensions with
     * smaller strides cover. The loop checks each stride for this, from the smallest up. */
    while ((dimension = next_dimension(table, array, stride)) < WS_TABLE_DIMS) {
        stride = stride_of(table, dimension, array);
        if (stride < extent)
            return 0;
        elements *= table->sizes[dimension];
        extent += (uint64_t)stride * (table->sizes[dimension] - 1);
    }
    return elements == all ? elements : 0; /* `elements` is less than `all` if two dimensions have the same stride */
}

uint32_t ws_table_least_stride(const struct ws_offset_table *table, uint32_t array)
{
    uint32_t least = 0;
    for (uint32_t i = 0; i < table->dims; i++) {
        uint32_t stride = stride_of(table, i, array);
        if (stride && (!least || stride < least))
            least = stride;
    }
    return least;
}
