#include <string.h>

#include "analysis/cost/argument_grammars.h"

/* Special values of ws_row_kernel.rows, which is otherwise an offset. OF_GRID: there are as many rows as blocks in
 * the grid. ONE: there is one row. */
enum { OF_GRID = -1, ONE = -2 };

/* The number in the parameter block that must equal the x size of the grid: the number of rows, of columns, or
 * neither. */
enum check { UNCHECKED, ROWS_ARE_GRID, COLUMNS_ARE_GRID };

/* Kernels that work on rows.
 *
 * `arrays` has one letter per pointer. A capital letter is an array that the kernel writes, a small letter one that
 * it reads. '.' stands for `step` bytes that hold no pointer. The letters:
 * - i: as many elements as the input, of the input's type;
 * - t: twice as many elements as the input, of the input's type;
 * - x: like i, read and written;
 * - o: as many elements as the input, of the output's type;
 * - u: lower triangles of the input, which consists of square matrices;
 * - b: one byte per element;
 * - c: one row of the input's type;
 * - f: 4 bytes per row.
 *
 * Versions of a kernel may have different parameters under the same name. The first entry that fits the parameter
 * block is used.
 */
struct ws_row_kernel {
    const char *name;
    int columns, rows; /* offset in the parameter block of the number of columns, and of the number of rows */
    enum check check;
    /* offset of the first pointer in the parameter block; bytes from one pointer to the next */
    uint32_t pointers, step;
    const char *arrays;
    uint32_t in, out; /* indices of the template arguments that give the types of input and output */
    double flops;     /* FLOPs per element of the input; 0: not known */
};

enum { TENSOR_INFO = 216 }; /* size of a TensorInfo (ATen/cuda/detail/TensorInfo.cuh) with 32-bit indices, in bytes */

static const struct ws_row_kernel row_kernels[] = {
    { "vectorized_layer_norm_kernel", 0, OF_GRID, UNCHECKED, 8, 8, "iccFFI", 0, 0, 8 },
    { "layer_norm_grad_input_kernel", 48, OF_GRID, UNCHECKED, 0, 8, "iiffcI", 0, 0, 0 },
    { "LayerNormForwardCUDAKernel", 0, OF_GRID, UNCHECKED, 8, 8, "iffccI", 0, 0, 0 },
    { "RowwiseMomentsCUDAKernel", 0, OF_GRID, UNCHECKED, 16, 8, "iFF", 0, 0, 0 },
    { "GammaBetaBackwardCUDAKernel", 8, 0, UNCHECKED, 16, 8, "iiffCC", 0, 0, 0 },
    { "cunn_SoftMaxForwardReg", 16, OF_GRID, UNCHECKED, 0, 8, "Oi", 0, 2, 4 },
    { "cunn_SoftMaxForward", 16, OF_GRID, UNCHECKED, 0, 8, "Oi", 1, 3, 4 },
    { "cunn_SoftMaxBackward", 24, OF_GRID, UNCHECKED, 0, 8, "Ioo", 1, 3, 3 },
    { "softmax_warp_forward", 24, 16, UNCHECKED, 0, 8, "Oi", 0, 1, 4 },
    { "softmax_warp_backward", 32, 24, UNCHECKED, 0, 8, "Oii", 0, 1, 3 },
    { "fused_dropout_kernel_vec", 648, ONE, UNCHECKED, 0, TENSOR_INFO, "iIB", 0, 0, 1 },
    /* Megatron-LM and apex: csrc/layer_norm_cuda_kernel.cu, csrc/megatron/scaled_upper_triang_masked_softmax.h */
    { "cuApplyLayerNorm", 36, 32, UNCHECKED, 0, 8, "OFFi..cc", 0, 2, 8 },
    { "cuApplyRMSNorm", 28, 24, UNCHECKED, 0, 8, "OFi..c", 0, 2, 4 },
    { "scaled_upper_triang_masked_softmax_warp_forward", 28, 20, COLUMNS_ARE_GRID, 0, 8, "Ou", 0, 1, 0 },
    { "scaled_upper_triang_masked_softmax_warp_backward", 36, 28, COLUMNS_ARE_GRID, 0, 8, "Ouu", 0, 1, 0 },
    /* vLLM: csrc/layernorm_kernels.cu, csrc/activation_kernels.cu */
    { "vllm::rms_norm_kernel", 32, 28, ROWS_ARE_GRID, 0, 8, "Iic", 0, 0, 4 },
    { "vllm::rms_norm_kernel", 40, 36, ROWS_ARE_GRID, 0, 8, "Ii.c", 0, 0, 4 },
    { "vllm::rms_norm_kernel", 72, 68, ROWS_ARE_GRID, 0, 8, "Ii.....c", 0, 0, 4 },
    { "vllm::fused_add_rms_norm_kernel", 32, 28, ROWS_ARE_GRID, 0, 8, "xxc", 0, 0, 5 },
    { "vllm::fused_add_rms_norm_kernel", 40, 36, ROWS_ARE_GRID, 0, 8, "x.xc", 0, 0, 5 },
    { "vllm15rms_norm_kernel", 32, 28, ROWS_ARE_GRID, 0, 8, "Iic", 0, 0, 4 },
    { "vllm15rms_norm_kernel", 40, 36, ROWS_ARE_GRID, 0, 8, "Ii.c", 0, 0, 4 },
    { "vllm15rms_norm_kernel", 72, 68, ROWS_ARE_GRID, 0, 8, "Ii.....c", 0, 0, 4 },
    { "vllm25fused_add_rms_norm_kernel", 32, 28, ROWS_ARE_GRID, 0, 8, "xxc", 0, 0, 5 },
    { "vllm25fused_add_rms_norm_kernel", 40, 36, ROWS_ARE_GRID, 0, 8, "x.xc", 0, 0, 5 },
    { "vllm::act_and_mul_kernel", 16, OF_GRID, UNCHECKED, 0, 8, "It", 0, 0, 2 },
    { "vllm18act_and_mul_kernel", 16, OF_GRID, UNCHECKED, 0, 8, "It", 0, 0, 2 },
};
enum { ROW_KERNELS = sizeof(row_kernels) / sizeof(row_kernels[0]) };

struct ws_arguments_form ws_dictionary_form(const char *name)
{
    struct ws_arguments_form form = { 0 };
    struct ws_kernel_type types[WS_KERNEL_TYPES];
    for (size_t i = 0; i < ROW_KERNELS && !form.row_kernel; i++) {
        const struct ws_row_kernel *kernel = &row_kernels[i];
        bool mangled = name[0] == '_';
        const char *at = ws_behind(name, kernel->name);
        if (!at || ws_goes_before(name, at - strlen(kernel->name)))
            continue;
        /* skips suffixes of the kernel's name, such as "_vectorized" and "Smem" */
        at += strcspn(at, mangled ? "I" : "<");
        uint32_t count = ws_arguments_at(at, mangled, types);
        if (count <= kernel->in || count <= kernel->out || !types[kernel->in].bytes || !types[kernel->out].bytes)
            break;
        form.grammar = WS_GRAMMAR_ROWS;
        form.row_kernel = kernel;
        form.arrays = (uint32_t)strlen(kernel->arrays);
        form.bytes[0] = (uint8_t)types[kernel->in].bytes;
        form.bytes[1] = (uint8_t)types[kernel->out].bytes;
        form.element = types[kernel->in].element;
        form.flops = kernel->flops;
    }
    return form;
}

static double array_bytes(const struct ws_arguments_form *form, char what, double rows, double columns)
{
    double elements = rows * columns;
    switch (what) {
    case 'i':
    case 'x':
        return elements * form->bytes[0];
    case 't':
        return elements * form->bytes[0] * 2;
    case 'o':
        return elements * form->bytes[1];
    case 'u':
        return rows * (columns + 1) / 2 * form->bytes[0];
    case 'b':
        return elements;
    case 'c':
        return columns * form->bytes[0];
    default:
        return rows * 4;
    }
}

/* May a normalization kernel run without this array? Weights and biases ('c') and values per row ('f': mean,
 * 1/deviation) are optional. */
static bool is_optional(char what)
{
    return what == 'c' || what == 'f';
}

/* Reads the numbers of rows and columns. Returns false if parameter block and grid disagree. */
static bool argument_rows_read_sizes(const struct ws_row_kernel *kernel, const struct ws_param_block *block,
                                     const struct ws_shape *shape, uint64_t *rows, uint64_t *columns)
{
    *rows = kernel->rows == ONE ? 1 : shape->grid_x;
    if (!ws_block_number(block, (uint32_t)kernel->columns, 4, columns) || !*columns || *columns > INT32_MAX ||
        (kernel->rows >= 0 && !ws_block_number(block, (uint32_t)kernel->rows, 4, rows)) || !*rows ||
        *rows > INT32_MAX)
        return false;
    switch (kernel->check) {
    case ROWS_ARE_GRID:
        return *rows == shape->grid_x;
    case COLUMNS_ARE_GRID:
        return *columns == shape->grid_x && *rows % *columns == 0;
    default:
        return kernel->rows != OF_GRID || (shape->grid_y == 1 && shape->grid_z == 1);
    }
}

static bool read_row_kernel(const struct ws_row_kernel *kernel, const struct ws_arguments_form *form,
                            const struct ws_param_block *block, const struct ws_shape *shape, struct ws_moved *moved)
{
    uint64_t rows, columns;
    if (!argument_rows_read_sizes(kernel, block, shape, &rows, &columns))
        return false;
    *moved = (struct ws_moved){ .elements = (double)rows * (double)columns };
    /* adds the written arrays first, because struct ws_moved lists them first */
    for (int written = 1; written >= 0; written--) {
        for (uint32_t i = 0; kernel->arrays[i]; i++) {
            char what = (char)(kernel->arrays[i] | 0x20);
            uint64_t address = ws_block_address(block, kernel->pointers + kernel->step * i);
            if (kernel->arrays[i] == '.')
                continue;
            if (!address && !is_optional(what))
                return false;
            if (address && (what == 'x' || (what != kernel->arrays[i]) == written))
                ws_moved_add(moved, address, array_bytes(form, what, (double)rows, (double)columns), written);
        }
    }
    return true;
}

bool ws_moved_rows(const struct ws_arguments_form *form, const struct ws_param_block *block,
                   const struct ws_shape *shape, struct ws_moved *moved)
{
    for (const struct ws_row_kernel *kernel = form->row_kernel;
         kernel < row_kernels + ROW_KERNELS && !strcmp(kernel->name, form->row_kernel->name); kernel++)
        if (read_row_kernel(kernel, form, block, shape, moved))
            return true;
    return false;
}
