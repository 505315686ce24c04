#include <string.h>

#include "analysis/argument_grammars.h"

enum { OF_GRID = -1 };

/* Kernels that go over rows. Arrays: a letter a pointer, which lie one after another, large where it is written; i as
 * large as the input and of its type, o the same of the output's type, c a row of the input's type, f 4 bytes for
 * each row. */
struct ws_row_kernel {
    const char *name;
    int columns, rows; /* where these are in the parameter block; OF_GRID: a block each */
    uint32_t pointers;
    const char *arrays;
    uint32_t in, out; /* which template arguments say the types */
    double flops;     /* an element; 0: not known */
};

static const struct ws_row_kernel row_kernels[] = {
    { "vectorized_layer_norm_kernel", 0, OF_GRID, 8, "iccFFI", 0, 0, 8 },
    { "layer_norm_grad_input_kernel", 48, OF_GRID, 0, "iiffcI", 0, 0, 0 },
    { "cunn_SoftMaxForward", 16, OF_GRID, 0, "Oi", 1, 3, 4 },
    { "cunn_SoftMaxBackward", 24, OF_GRID, 0, "Ioo", 1, 3, 3 },
    { "softmax_warp_forward", 24, 16, 0, "Oi", 0, 1, 4 },
    { "softmax_warp_backward", 32, 24, 0, "Oii", 0, 1, 3 },
};

struct ws_arguments_form ws_rows_form(const char *name)
{
    struct ws_arguments_form form = { 0 };
    struct ws_kernel_type types[WS_KERNEL_TYPES];
    for (size_t i = 0; i < sizeof(row_kernels) / sizeof(row_kernels[0]) && !form.row_kernel; i++) {
        const struct ws_row_kernel *kernel = &row_kernels[i];
        bool mangled = name[0] == '_';
        const char *at = ws_behind(name, kernel->name);
        if (!at || ws_goes_before(name, at - strlen(kernel->name)))
            continue;
        at += strcspn(at, mangled ? "I" : "<"); /* "…_vectorized", "…Smem" */
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
    switch (what) {
    case 'i':
        return rows * columns * form->bytes[0];
    case 'o':
        return rows * columns * form->bytes[1];
    case 'c':
        return columns * form->bytes[0];
    default:
        return rows * 4;
    }
}

bool ws_moved_rows(const struct ws_arguments_form *form, const struct ws_param_block *block,
                   const struct ws_shape *shape, struct ws_moved *moved)
{
    const struct ws_row_kernel *kernel = form->row_kernel;
    uint64_t columns = 0, rows = shape->grid_x;
    ws_block_number(block, (uint32_t)kernel->columns, 4, &columns);
    if (kernel->rows != OF_GRID && !ws_block_number(block, (uint32_t)kernel->rows, 4, &rows))
        return false;
    if (!columns || !rows || columns > INT32_MAX || rows > INT32_MAX ||
        (kernel->rows == OF_GRID && (shape->grid_y > 1 || shape->grid_z > 1)))
        return false;
    moved->elements = (double)rows * (double)columns;
    /* What is written goes first. */
    for (int written = 1; written >= 0; written--) {
        for (uint32_t i = 0; kernel->arrays[i]; i++) {
            char what = (char)(kernel->arrays[i] | 0x20);
            uint64_t address = ws_block_address(block, kernel->pointers + 8 * i);
            if (!address && (what == 'i' || what == 'o'))
                return false;
            if (address && (what != kernel->arrays[i]) == written)
                ws_moved_add(moved, address, array_bytes(form, what, (double)rows, (double)columns), written);
        }
    }
    return true;
}
