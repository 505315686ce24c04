#include <string.h>

#include "analysis/cost/argument_grammars.h"

/* ATen/native/cuda/Reduce.cuh: the kernel's only parameter is struct ReduceOp. ReduceOp holds the operation and its
 * initial value, both of any size; struct ReduceConfig; a table of the reduced dimensions with strides of the input;
 * a table of the kept dimensions with strides of the output and the input; the addresses of the input and of up to
 * two outputs. */
enum {
    CONFIG_NUMBERS = 14, /* how many 4-byte numbers every version of ReduceConfig has; newer versions have two more */
    CONFIG_MOST = 16,
    CONFIG_LATEST_START = 192,
};

enum config_number {
    ELEMENT_BYTES,
    NUM_INPUTS,
    NUM_OUTPUTS,
    STEP_INPUT,
    STEP_OUTPUT,
    CTAS_PER_OUTPUT,
    BLOCK_WIDTH = 11,
    BLOCK_HEIGHT,
    NUM_THREADS,
    VECTORIZED,
    OUTPUT_VECTOR
};

/* Reads the type OUT of the output. The template arguments after the operation are "…, unsigned int, OUT, 4". */
static bool output_type(const char *name, bool mangled, struct ws_kernel_type *type)
{
    const char *mark = mangled ? "j" : "unsigned int, ";
    for (const char *at = ws_behind(name, mark); at; at = ws_behind(at, mark)) {
        struct ws_kernel_type types[WS_KERNEL_TYPES];
        uint32_t count = ws_kernel_types(at, mangled, types);
        bool substituted = mangled && *at == 'S'; /* "S4_" repeats the class that is the input's type */
        if (count < 2 || types[1].bytes || (!substituted && !types[0].bytes))
            continue;
        if (!substituted)
            *type = types[0];
        return true;
    }
    return false;
}

struct ws_arguments_form ws_reduce_form(const char *name)
{
    static const struct {
        const char *mark;
        double flops;
    } operations[] = { { "sum_functor", 1 }, { "MeanOps", 1 }, { "NormTwoOps", 2 },
                       { "WelfordOps", 3 },  { "MaxNan", 1 },  { "MinNan", 1 } };
    struct ws_arguments_form form = { 0 };
    struct ws_kernel_type types[WS_KERNEL_TYPES], out;
    bool mangled = name[0] == '_';
    const char *kernel = strstr(name, mangled ? "2at6native13reduce_kernel" : "at::native::reduce_kernel");
    const char *at = kernel ? ws_behind(kernel, "ReduceOp") : NULL;
    if (!at || !ws_arguments_at(at, mangled, types) || !types[0].bytes)
        return form;
    out = types[0];
    if (!output_type(at, mangled, &out))
        return form;
    form.grammar = WS_GRAMMAR_REDUCE;
    form.arrays = 2;
    form.bytes[0] = (uint8_t)out.bytes;
    form.bytes[1] = (uint8_t)types[0].bytes;
    form.alike = strstr(at, "WelfordOps"); /* a WelfordOps may have two outputs, which have the same type */
    form.element = types[0].element;
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
        if (form.element != WS_ELEMENT_OTHER && strstr(at, operations[i].mark))
            form.flops = operations[i].flops;
    return form;
}

/* Reads the number of outputs from the last 4 bytes of ReduceOp. Returns false unless the number is 1 or 2. */
static bool read_outputs(const struct ws_param_block *block, uint64_t *outputs)
{
    uint32_t end = 8 * (block->image.first + block->image.count);
    return ws_block_number(block, end - 4, 4, outputs) && *outputs >= 1 && *outputs <= 2;
}

/* Are these numbers a ReduceConfig? Compares them with the launch's grid and block, and with each other. */
static bool is_config(const uint32_t numbers[CONFIG_NUMBERS], const struct ws_shape *shape)
{
    uint32_t element = numbers[ELEMENT_BYTES];
    uint64_t inputs = numbers[NUM_INPUTS], outputs = numbers[NUM_OUTPUTS], step = numbers[STEP_OUTPUT];
    return element && element <= 32 && numbers[BLOCK_WIDTH] == shape->block_x &&
           numbers[BLOCK_HEIGHT] == shape->block_y &&
           numbers[NUM_THREADS] == (uint64_t)shape->block_x * shape->block_y && inputs && outputs &&
           inputs * outputs <= INT32_MAX && step && numbers[STEP_INPUT] &&
           numbers[CTAS_PER_OUTPUT] == shape->grid_y && shape->grid_z == 1;
}

/* Does the x size of the grid fit the number of outputs? Each block computes `step` outputs, or `step` vectors of
 * outputs. */
static bool fits_grid(const uint32_t numbers[CONFIG_MOST], uint32_t config_bytes, const struct ws_shape *shape)
{
    bool has_vectors = config_bytes == 4 * CONFIG_MOST;
    uint32_t vector = has_vectors ? numbers[OUTPUT_VECTOR] : 1, step = numbers[STEP_OUTPUT];
    if (!vector || vector > 16)
        return false;
    return (numbers[NUM_OUTPUTS] / vector + (uint64_t)step - 1) / step == shape->grid_x;
}

struct reduction {
    uint32_t config[CONFIG_MOST];
    struct ws_offset_table reduced, kept;
    uint32_t behind; /* offset in the parameter block of the arrays' addresses, which follow the tables */
};

/* Reads the tables of the reduced and of the kept dimensions, which follow ReduceConfig. */
static bool read_tables(const struct ws_param_block *block, uint32_t offset, struct reduction *reduction)
{
    uint32_t kept = offset + ws_table_size(1);
    reduction->behind = (kept + ws_table_size(2) + 7) / 8 * 8;
    return ws_table_read(&reduction->reduced, block, offset, 1) && ws_table_read(&reduction->kept, block, kept, 2) &&
           reduction->reduced.elements == reduction->config[NUM_INPUTS] &&
           reduction->kept.elements == reduction->config[NUM_OUTPUTS];
}

static bool read_reduction(const struct ws_param_block *block, const struct ws_shape *shape,
                           struct reduction *reduction)
{
    uint32_t start = 8 * block->image.first, end = start + 8 * block->image.count;
    for (uint32_t at = start; at < start + CONFIG_LATEST_START && at + 4 * CONFIG_MOST <= end; at += 4) {
        memcpy(reduction->config, (const char *)block->image.words + at, sizeof(reduction->config));
        if (!is_config(reduction->config, shape))
            continue;
        for (uint32_t bytes = 4 * CONFIG_MOST; bytes >= 4 * CONFIG_NUMBERS; bytes -= 4)
            if (fits_grid(reduction->config, bytes, shape) && read_tables(block, at + bytes, reduction))
                return true;
    }
    return false;
}

bool ws_moved_reduce(const struct ws_arguments_form *form, const struct ws_param_block *block,
                     const struct ws_shape *shape, struct ws_moved *moved)
{
    struct reduction reduction;
    struct ws_offset_table *reduced = &reduction.reduced, *kept = &reduction.kept;
    if (!read_reduction(block, shape, &reduction))
        return false;
    uint64_t in = ws_block_address(block, reduction.behind), out = ws_block_address(block, reduction.behind + 8);
    uint64_t second = ws_block_address(block, reduction.behind + 16), count;
    uint64_t outputs = ws_table_touched(kept, 0, form->bytes[0]);
    if (!read_outputs(block, &count) || (count > 1 && (!second || !form->alike)))
        return false;
    /* Both tables have strides of the input. Checks them as one table, because each table alone cannot show that rows
     * and columns overlap in memory. */
    for (uint32_t i = 0; i < kept->dims; i++) {
        if (reduced->dims == WS_TABLE_DIMS)
            return false;
        reduced->sizes[reduced->dims] = kept->sizes[i];
        reduced->strides[reduced->dims++][0] = kept->strides[i][1];
    }
    uint64_t inputs = ws_table_touched(reduced, 0, form->bytes[1]);
    if (!in || !out || !inputs || outputs != kept->elements)
        return false;
    moved->elements = (double)reduction.config[NUM_INPUTS] * reduction.config[NUM_OUTPUTS];
    ws_moved_add(moved, out, (double)outputs * form->bytes[0], true);
    if (count > 1)
        ws_moved_add(moved, second, (double)outputs * form->bytes[0], true);
    ws_moved_add(moved, in, (double)inputs * form->bytes[1], false);
    return true;
}
