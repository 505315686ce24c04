/* Parameters of PyTorch's kernels, for programs and tests that launch kernels of these names or write traces of them.
 * The parameters' layout is from ATen/cuda/detail/OffsetCalculator.cuh and
 * ATen/native/cuda/{Reduce,CUDALoops,MultiTensorApply}.cuh. */
#ifndef WALLSHIM_WALLS_PYTORCH_H
#define WALLSHIM_WALLS_PYTORCH_H

#include <stdbool.h>
#include <stdint.h>

enum { TABLE_DIMS = 25, LIST_TENSORS = 36, LIST_BLOCKS = 320, LIST_CHUNK = 65536 };

struct divider {
    uint32_t divisor, multiplier, shift;
};

#define OFFSET_TABLE(arrays)                 \
    struct {                                 \
        int32_t dims;                        \
        struct divider sizes[TABLE_DIMS];    \
        int32_t strides[TABLE_DIMS][arrays]; \
    }

/* The captured variables of gpu_kernel_impl's lambda, for three arrays. */
struct strided {
    OFFSET_TABLE(3) table;
    uint64_t data[3];
    uint8_t functor;
};

struct reduce_config {
    int32_t element_bytes, num_inputs, num_outputs, step_input, step_output, ctas_per_output, input_mult[3],
        output_mult[2], block_width, block_height, num_threads;
    bool vectorize_input;
    int32_t output_vector;
};

struct reduce_op {
    uint8_t operation[2];
    float identity;
    struct reduce_config config;
    OFFSET_TABLE(1) input;
    OFFSET_TABLE(2) output;
    uint64_t src, dst[2], acc_buf, cta_buf, semaphores;
    int64_t base_idx;
    bool accumulate, final_output;
    int32_t noutputs;
};

struct load_with_cast {
    int8_t type;
    uint32_t bytes;
};

/* FlashAttention-2's Flash_fwd_params up to its sizes; the rest is opaque. Flash_bwd_params begins with the same
 * fields. */
struct flash_params {
    uint64_t q, k, v;
    int64_t strides[9];
    int32_t heads, key_heads, ratio;
    uint64_t o, o_accum;
    int64_t o_strides[3];
    uint64_t p, lse, lse_accum;
    int32_t batch, queries, keys, new_keys, head, queries_rounded, keys_rounded, head_rounded, rotary, total_q;
    float scale, scale_log2;
    uint64_t lengths[4], rest[32];
};

/* The layout of PyTorch's FusedOptimizerTensorListMetadata<4>. */
struct tensor_list {
    uint64_t addresses[4][LIST_TENSORS];
    int64_t elements[LIST_TENSORS];
    uint64_t steps[LIST_TENSORS];
    uint8_t block_to_tensor[LIST_BLOCKS];
    int32_t block_to_chunk[LIST_BLOCKS];
    int32_t start_tensor;
};

/* Makes a divider as IntegerDivider.cuh does: n / size is ((n * multiplier >> 32) + n) >> shift. */
static inline struct divider divider_by(uint32_t size)
{
    struct divider divider = { .divisor = size };
    while (((uint64_t)1 << divider.shift) < size)
        divider.shift++;
    divider.multiplier = (uint32_t)((((uint64_t)1 << 32) * (((uint64_t)1 << divider.shift) - size)) / size + 1);
    return divider;
}

/* Sets the sizes of the dimensions. Sizes beyond `dims` are 1. */
static inline void divide_by(struct divider sizes[TABLE_DIMS], int32_t dims, const uint32_t *wanted)
{
    for (int32_t i = 0; i < TABLE_DIMS; i++)
        sizes[i] = divider_by(i < dims ? wanted[i] : 1);
}

/* Parameters that add one row to each of `rows` rows; elements have `bytes` bytes. The arrays are out, in, row. */
static inline struct strided strided_rows(uint32_t rows, uint32_t columns, int32_t bytes, uint64_t out, uint64_t in,
                                          uint64_t row)
{
    struct strided strided = { .table.dims = 2, .data = { out, in, row } };
    divide_by(strided.table.sizes, 2, (uint32_t[]){ columns, rows });
    for (int i = 0; i < 3; i++) {
        strided.table.strides[0][i] = bytes;
        strided.table.strides[1][i] = i < 2 ? bytes * (int32_t)columns : 0;
    }
    return strided;
}

/* Self-attention: as many keys as queries, with heads of 64 elements. */
static inline struct flash_params flash_attention(int32_t batch, int32_t sequence, int32_t heads, uint64_t out,
                                                  uint64_t in)
{
    int32_t rounded = (sequence + 127) / 128 * 128;
    return (struct flash_params){ .q = in,
                                  .k = in,
                                  .v = in,
                                  .heads = heads,
                                  .key_heads = heads,
                                  .ratio = 1,
                                  .o = out,
                                  .batch = batch,
                                  .queries = sequence,
                                  .keys = sequence,
                                  .head = 64,
                                  .queries_rounded = rounded,
                                  .keys_rounded = rounded,
                                  .head_rounded = 64 };
}

/* Parameters of a sum over each row, one block per row. */
static inline struct reduce_op reduce_rows(uint32_t rows, uint32_t columns, int32_t bytes, int32_t threads,
                                           uint64_t out, uint64_t in)
{
    struct reduce_op op = {
        .config = { .element_bytes = 4,
                    .num_inputs = (int32_t)columns,
                    .num_outputs = (int32_t)rows,
                    .step_input = threads,
                    .step_output = 1,
                    .ctas_per_output = 1,
                    .input_mult = { 1 },
                    .block_width = threads,
                    .block_height = 1,
                    .num_threads = threads,
                    .vectorize_input = true,
                    .output_vector = 1 },
        .input.dims = 1,
        .output.dims = 1,
        .src = in,
        .dst = { out },
        .final_output = true,
        .noutputs = 1,
    };
    divide_by(op.input.sizes, 1, &columns);
    divide_by(op.output.sizes, 1, &rows);
    op.input.strides[0][0] = op.output.strides[0][0] = bytes;
    op.output.strides[0][1] = bytes * (int32_t)columns;
    return op;
}

/* Fills the list with one tensor's first chunks, as many as one launch takes. Returns the number of these chunks. */
static inline uint32_t list_tensor(struct tensor_list *list, uint64_t elements)
{
    uint64_t blocks = (elements + LIST_CHUNK - 1) / LIST_CHUNK;
    list->elements[0] = (int64_t)elements;
    for (uint32_t i = 0; i < blocks && i < LIST_BLOCKS; i++)
        list->block_to_chunk[i] = (int32_t)i;
    return (uint32_t)(blocks < LIST_BLOCKS ? blocks : LIST_BLOCKS);
}

#endif
