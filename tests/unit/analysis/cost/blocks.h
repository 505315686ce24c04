/* Helpers for the tests of parameter blocks (the memory with a launch's arguments). A test fills a block as a launch
 * would. The helpers pick the words (numbers and addresses) that the shim, wallshim's library in the program, would
 * record. From these words they compute the launch's cost (its bytes and FLOPs). */
#ifndef WALLSHIM_TESTS_BLOCKS_H
#define WALLSHIM_TESTS_BLOCKS_H

#include "check.h"

#include "analysis/cost/arguments.h"
#include "record/param_image.h"

#define ADDRESS(number) (UINT64_C(0x7f0000000000) + (uint64_t)(number)*4096)

/* The bytes of a parameter block, and those of its words that the shim would record. */
struct block {
    uint32_t size;
    _Alignas(8) char bytes[4096];
    struct ws_param_word words[32];
    uint32_t word_count;
    bool is_structure[4096 / 8];
    struct ws_shape shape;
};

static inline void block_begin(struct block *block, uint32_t grid, uint32_t threads)
{
    memset(block, 0, sizeof(*block));
    block->shape =
        (struct ws_shape){ .grid_x = grid, .grid_y = 1, .grid_z = 1, .block_x = threads, .block_y = 1, .block_z = 1 };
}

static inline void block_add(struct block *block, const void *value, uint32_t size, uint32_t alignment)
{
    uint32_t at = (block->size + alignment - 1) / alignment * alignment;
    memcpy(block->bytes + at, value, size);
    block->size = at + size;
    bool scalar = size == 1 || size == 2 || size == 4 || size == 8;
    for (uint32_t i = at / 8; i <= (at + size - 1) / 8 && !scalar; i++)
        block->is_structure[i] = true;
    if (scalar) {
        struct ws_param_word word = { .offset = (uint16_t)at, .size = (uint8_t)size };
        memcpy(&word.value, value, size);
        word.address = size == 8 && word.value >= ADDRESS(0) && word.value < ADDRESS(10000);
        block->words[block->word_count++] = word;
    }
}

static inline void block_add_u32(struct block *block, uint32_t value)
{
    block_add(block, &value, 4, 4);
}

static inline void block_add_byte(struct block *block)
{
    block_add(block, "", 1, 1);
}

/* The cost of a launch of this kernel with this block. 0 bytes: the bytes do not follow from the block. */
static inline struct ws_operator_cost block_cost(const char *name, const struct block *block)
{
    static char text[WS_IMAGE_TEXT];
    static uint64_t image[WS_IMAGE_WORDS];
    struct ws_param_word words[48];
    uint32_t count = block->word_count, first = 0, end = 0;
    memcpy(words, block->words, count * sizeof(words[0]));
    memcpy(image, block->bytes, sizeof(image));
    for (uint32_t i = 0; i < WS_IMAGE_WORDS; i++) {
        if (!block->is_structure[i])
            continue;
        first = end ? first : i;
        end = i + 1;
        if (image[i] < ADDRESS(0) || image[i] >= ADDRESS(10000))
            continue;
        if (count < 12)
            words[count++] =
                (struct ws_param_word){ .offset = (uint16_t)(8 * i), .size = 8, .address = 1, .value = image[i] };
        image[i] = WS_IMAGE_ADDRESS;
    }
    struct ws_process process = { 0 };
    struct ws_arena arena = { 0 };
    struct ws_params row = { .id = 1, .words = { (const char *)words, count * (uint32_t)sizeof(words[0]) } };
    if (end)
        row.structures = (struct ws_text){ text, ws_image_encode(text, image + first, first, end - first) };
    ws_entries_init(&process.params, WS_FAMILY_params);
    assert_int_equal(ws_entries_put(&process.params, &arena, &row), 0);
    struct ws_arguments_form form = ws_arguments_form_of(name);
    struct ws_operator_cost result;
    if (!form.arrays)
        fail_msg("says nothing: %s", name);
    if (!ws_arguments_cost(&form, &process, &block->shape, 1, &result))
        result.bytes = 0;
    ws_entries_finish(&process.params);
    ws_arena_finish(&arena);
    return result;
}

static inline void block_costs(const char *name, const struct block *block, double bytes, double flops)
{
    struct ws_operator_cost result = block_cost(name, block);
    if (result.bytes != bytes || (bytes && result.flops != flops))
        fail_msg("%.0f bytes, %.0f FLOPs: not %.0f and %.0f: %s", result.bytes, result.flops, bytes, flops, name);
}

#endif
