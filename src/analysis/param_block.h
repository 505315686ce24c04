/* A kernel's parameter block, as far as it was kept, and the tables in it that say where PyTorch's arrays have their
 * elements. */
#ifndef WALLSHIM_ANALYSIS_PARAM_BLOCK_H
#define WALLSHIM_ANALYSIS_PARAM_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "record/param_image.h"

struct ws_param_block {
    const struct ws_params *row;
    struct ws_param_image image;
};

/* Returns false when the parameters were not kept. */
bool ws_block_open(struct ws_param_block *block, const struct ws_process *process, uint32_t params);

/* What lies at so many bytes from the block's start, 1 to 8 bytes; false where that is not known, or an address. */
bool ws_block_number(const struct ws_param_block *block, uint32_t offset, uint32_t size, uint64_t *value);

/* The device address that lies there; 0: none, or it was not kept. */
uint64_t ws_block_address(const struct ws_param_block *block, uint32_t offset);

/* Is it an address, kept or not? */
bool ws_block_has_address(const struct ws_param_block *block, uint32_t offset);

/* The first address behind an offset, by offset; 0: none. */
uint32_t ws_block_next_address(const struct ws_param_block *block, uint32_t offset);

enum { WS_TABLE_DIMS = 25, WS_TABLE_ARRAYS = 6 };

/* ATen's OffsetCalculator (ATen/cuda/detail/OffsetCalculator.cuh): u32 dimensions; for each of 25 how many elements,
 * with the multiplier and the shift that divide by them (IntegerDivider.cuh); for each of 25 the stride of every
 * array, in bytes. What is not used is 1 and 0. */
struct ws_offset_table {
    uint32_t dims, arrays;
    uint32_t sizes[WS_TABLE_DIMS];
    int32_t strides[WS_TABLE_DIMS][WS_TABLE_ARRAYS];
    uint64_t elements; /* the product of the sizes */
};

static inline uint32_t ws_table_size(uint32_t arrays)
{
    return 4 + WS_TABLE_DIMS * (12 + 4 * arrays);
}

/* Returns false unless everything there is as such a table has it, multipliers and shifts too. */
bool ws_table_read(struct ws_offset_table *table, const struct ws_param_block *block, uint32_t offset,
                   uint32_t arrays);

/* How many different elements of an array are used: those along dimensions with a stride. 0: some lie over others. */
uint64_t ws_table_touched(const struct ws_offset_table *table, uint32_t array, uint32_t element_bytes);

/* The least stride of an array, in bytes; 0: it has none. */
uint32_t ws_table_least_stride(const struct ws_offset_table *table, uint32_t array);

#endif
