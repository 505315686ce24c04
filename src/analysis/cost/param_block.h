/* The recorded part of a kernel's parameter block (the bytes of its parameters), and the tables of strides that
 * kernels of PyTorch have among their parameters. Parameters of at most 8 bytes and device addresses are recorded one
 * by one, as struct ws_param_word. The contents of larger parameters are recorded as an image
 * (record/param_image.h). */
#ifndef WALLSHIM_ANALYSIS_COST_PARAM_BLOCK_H
#define WALLSHIM_ANALYSIS_COST_PARAM_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "record/param_image.h"

struct ws_param_block {
    const struct ws_params *row;
    struct ws_param_image image;
};

/* Makes `block` ready to read the recorded parameters with the id `params`. Returns false if the trace does not hold
 * these parameters. */
bool ws_block_open(struct ws_param_block *block, const struct ws_process *process, uint32_t params);

/* Reads the number of `size` (1 to 8) bytes at this offset of the parameter block. Returns false if the number was
 * not recorded, or if the bytes are part of a device address. */
bool ws_block_number(const struct ws_param_block *block, uint32_t offset, uint32_t size, uint64_t *value);

/* The device address at this offset; 0: not an address, or not recorded. */
uint64_t ws_block_address(const struct ws_param_block *block, uint32_t offset);

/* Is there an address at this offset, even if its value was not recorded? */
bool ws_block_has_address(const struct ws_param_block *block, uint32_t offset);

/* The offset of the first recorded device address after `offset`; 0: none. */
uint32_t ws_block_next_address(const struct ws_param_block *block, uint32_t offset);

enum { WS_TABLE_DIMS = 25, WS_TABLE_ARRAYS = 6 };

/* ATen's OffsetCalculator (ATen/cuda/detail/OffsetCalculator.cuh). Its layout, in numbers of 32 bits:
 * - the number of dimensions;
 * - for each of 25 dimensions: the size, and the multiplier and shift to divide by it (IntegerDivider.cuh);
 * - for each of 25 dimensions: the stride of every array, in bytes.
 * Unused sizes are 1, unused strides are 0. */
struct ws_offset_table {
    uint32_t dims, arrays;
    uint32_t sizes[WS_TABLE_DIMS];
    int32_t strides[WS_TABLE_DIMS][WS_TABLE_ARRAYS];
    uint64_t elements; /* product of the sizes of all dimensions */
};

static inline uint32_t ws_table_size(uint32_t arrays)
{
    return 4 + WS_TABLE_DIMS * (12 + 4 * arrays);
}

/* Reads the table at `offset`. Returns false unless every value is consistent with the layout above, including
 * multipliers and shifts. */
bool ws_table_read(struct ws_offset_table *table, const struct ws_param_block *block, uint32_t offset,
                   uint32_t arrays);

/* The number of distinct elements of an array that are used: the product of the sizes of the dimensions whose stride
 * is not 0. Returns 0 if elements overlap. */
uint64_t ws_table_touched(const struct ws_offset_table *table, uint32_t array, uint32_t element_bytes);

/* The smallest stride other than 0 of an array, in bytes; 0: all strides are 0. */
uint32_t ws_table_least_stride(const struct ws_offset_table *table, uint32_t array);

#endif
