#include "analysis/arguments.h"

#include <ctype.h>
#include <string.h>

#include "analysis/kernel_types.h"

enum { OF_GRID = -1 };

/* Kernels that go over rows. Arrays: a letter a pointer, which lie one after another; i as large as the input and of
 * its type, o the same of the output's type, c a row of the input's type, f 4 bytes for each row. */
struct ws_row_kernel {
    const char *name;
    int columns, rows; /* where these are in the parameter block; OF_GRID: a block each */
    uint32_t pointers;
    const char *arrays;
    uint32_t in, out; /* which template arguments say the types */
    double flops;     /* an element; 0: not known */
};

static const struct ws_row_kernel row_kernels[] = {
    { "vectorized_layer_norm_kernel", 0, OF_GRID, 8, "iccffi", 0, 0, 8 },
    { "layer_norm_grad_input_kernel", 48, OF_GRID, 0, "iiffci", 0, 0, 0 },
    { "cunn_SoftMaxForward", 16, OF_GRID, 0, "oi", 1, 3, 4 },
    { "cunn_SoftMaxBackward", 24, OF_GRID, 0, "ioo", 1, 3, 3 },
    { "softmax_warp_forward", 24, 16, 0, "oi", 0, 1, 4 },
    { "softmax_warp_backward", 32, 24, 0, "oii", 0, 1, 3 },
};

/* A multiply and an add are one each, a function of one element too: as operators.c has it. */
static const struct {
    const char *mark;
    double flops;
} functors[] = {
    { "CUDAFunctor", 1 }, { "AddFunctor", 1 },   { "MulFunctor", 1 },  { "MulScalarFunctor", 1 },
    { "DivFunctor", 1 },  { "threshold", 1 },    { "clamp", 1 },       { "Gelu", 1 },
    { "tanh", 1 },        { "sigmoid", 1 },      { "silu", 2 },        { "exp_kernel", 1 },
    { "log_kernel", 1 },  { "rsqrt_kernel", 1 }, { "sqrt_kernel", 1 }, { "neg_kernel", 1 },
    { "reciprocal", 1 },  { "AbsFunctor", 1 },   { "pow_tensor", 1 },  { "addcmul", 2 },
    { "addcdiv", 2 },     { "lerp", 2 },         { "sin_kernel", 1 },  { "cos_kernel", 1 },
};

/* Where a piece of text ends in another; NULL where it is not in it. */
static const char *behind(const char *text, const char *part)
{
    const char *at = strstr(text, part);
    return at ? at + strlen(part) : NULL;
}

/* The template arguments of the name that ends here. */
static uint32_t arguments_at(const char *at, bool mangled, struct ws_kernel_type types[WS_KERNEL_TYPES])
{
    if (!at || *at != (mangled ? 'I' : '<'))
        return 0;
    return ws_kernel_types(at + 1, mangled, types);
}

/* The parameters of the lambda that is run: the last that has some, before the arrays. */
static uint32_t lambda_parameters(const char *name, bool mangled, struct ws_kernel_type types[WS_KERNEL_TYPES])
{
    const char *mark = mangled ? "EUl" : "lambda(", *last = NULL;
    const char *end = strstr(name, mangled ? "rrayIPc" : "rray<char");
    for (const char *at = behind(name, mark); at && (!end || at < end); at = behind(at, mark))
        if (*at != 'v' && *at != ')')
            last = at;
    return last ? ws_kernel_types(last, mangled, types) : 0;
}

static bool gives_truth(const char *name)
{
    static const char *const marks[] = { "ompare", "logical_", "isnan", "isinf", "isfinite", "signbit" };
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (strstr(name, marks[i]))
            return true;
    return false;
}

/* Fills in what the arrays are, the output first. A lambda says what it takes; what it gives follows from what it is.
 */
static uint32_t read_lambda(const char *name, struct ws_kernel_type types[WS_KERNEL_TYPES],
                            struct ws_kernel_type arrays[WS_KERNEL_TYPES + 1])
{
    static const struct ws_kernel_type truth = { 1, WS_ELEMENT_OTHER }, bf16 = { 2, WS_ELEMENT_BF16 };
    uint32_t count = lambda_parameters(name, name[0] == '_', types);
    bool alike = true;
    for (uint32_t i = 0; i < count; i++) {
        arrays[i + 1] = types[i];
        alike = alike && types[i].bytes == types[0].bytes;
    }
    if (!count || strstr(name, "omplex"))
        return 0;
    if (strstr(name, "where_kernel") && count == 3)
        arrays[0] = types[1];
    else if (strstr(name, "bfloat16_copy_kernel"))
        arrays[0] = bf16;
    else if ((!alike && !strstr(name, "masked_fill")) || strstr(name, "float16_copy") || strstr(name, "float8"))
        return 0;
    else
        arrays[0] = gives_truth(name) ? truth : types[0];
    return count + 1;
}

/* "UnaryFunctor<A, B, RESULT": one of A and B is a number that the kernel brings. */
static uint32_t read_functor(const char *name, struct ws_kernel_type types[WS_KERNEL_TYPES],
                             struct ws_kernel_type arrays[WS_KERNEL_TYPES + 1], uint32_t operands)
{
    static const struct {
        const char *mark;
        uint32_t inputs, first;
    } adaptors[] = { { "BinaryFunctor", 2, 0 }, { "AUnaryFunctor", 1, 1 }, { "BUnaryFunctor", 1, 0 } };
    bool mangled = name[0] == '_';
    for (size_t i = 0; i < sizeof(adaptors) / sizeof(adaptors[0]); i++) {
        const char *at = behind(name, adaptors[i].mark);
        if (!at)
            continue;
        if (arguments_at(at, mangled, types) < 3)
            return 0;
        arrays[0] = types[2];
        for (uint32_t input = 0; input < adaptors[i].inputs; input++)
            arrays[1 + input] = types[adaptors[i].first + input];
        return 1 + adaptors[i].inputs;
    }
    /* "AbsFunctor<T>", "CUDAFunctor_add<T>": all alike. */
    const char *at = behind(name, "unctor");
    if (!at || lambda_parameters(name, mangled, types))
        return read_lambda(name, types, arrays);
    at += strspn(at, "OnSelfOther_addsub");
    if (!arguments_at(at, mangled, types) || gives_truth(name))
        return 0;
    for (uint32_t i = 0; i < operands && i <= WS_KERNEL_TYPES; i++)
        arrays[i] = types[0];
    return operands;
}

/* Runs PyTorch's own function over arrays without gaps: TensorIterator takes others' too, whose results are theirs.
 */
static bool is_plain_iterator(const char *name)
{
    const char *at = behind(name, "vectorized_elementwise_kernel");
    if (!at)
        at = behind(name, "unrolled_elementwise_kernel");
    if (!at || strstr(name, "LoadWithCast") || strstr(name, "StoreWithCast") || strstr(name, "> OffsetCalculator") ||
        strstr(name, " OffsetCalculator") || strstr(name, "16OffsetCalculator"))
        return false;
    if (name[0] == '_') {
        at += strspn(at, "I");
        at += strspn(at, "Li0123456789E");
        at += strspn(at, "Z");
        return !strncmp(at, "NS0_", 4);
    }
    at += strspn(at, "<(int)0123456789, ");
    at = strncmp(at, "void ", 5) ? at : at + 5;
    return !strncmp(at, "at::native::", 12);
}

static struct ws_arguments_form iterator_form(const char *name)
{
    struct ws_arguments_form form = { .iterator = ws_iterator_of(name) };
    struct ws_kernel_type types[WS_KERNEL_TYPES], arrays[WS_KERNEL_TYPES + 1] = { 0 };
    uint32_t operands = form.iterator.operands;
    if (!operands || operands > WS_KERNEL_TYPES || !is_plain_iterator(name) ||
        read_functor(name, types, arrays, operands) != operands)
        return form;
    for (uint32_t i = 0; i < operands; i++) {
        form.bytes[i] = (uint8_t)arrays[i].bytes;
        if (!arrays[i].bytes)
            return form;
    }
    form.arrays = operands;
    form.element = arrays[operands > 1].element;
    for (size_t i = 0; i < sizeof(functors) / sizeof(functors[0]); i++)
        if (form.element != WS_ELEMENT_OTHER && !form.flops && strstr(name, functors[i].mark))
            form.flops = functors[i].flops;
    return form;
}

/* Is what begins here the end of a longer word? That is another kernel: "masked_softmax_warp_forward". */
static bool goes_before(const char *name, const char *at)
{
    return at > name && (isalpha((unsigned char)at[-1]) || at[-1] == '_');
}

struct ws_arguments_form ws_arguments_form_of(const char *name)
{
    struct ws_arguments_form form = { 0 };
    struct ws_kernel_type types[WS_KERNEL_TYPES];
    if (strstr(name, "elementwise_kernel"))
        return iterator_form(name);
    for (size_t i = 0; i < sizeof(row_kernels) / sizeof(row_kernels[0]) && !form.rows; i++) {
        const struct ws_row_kernel *kernel = &row_kernels[i];
        bool mangled = name[0] == '_';
        const char *at = behind(name, kernel->name);
        if (!at || goes_before(name, at - strlen(kernel->name)))
            continue;
        at += strcspn(at, mangled ? "I" : "<"); /* "…_vectorized", "…Smem" */
        uint32_t count = arguments_at(at, mangled, types);
        if (count <= kernel->in || count <= kernel->out || !types[kernel->in].bytes || !types[kernel->out].bytes)
            break;
        form.rows = kernel;
        form.arrays = (uint32_t)strlen(kernel->arrays);
        form.bytes[0] = (uint8_t)types[kernel->in].bytes;
        form.bytes[1] = (uint8_t)types[kernel->out].bytes;
        form.element = types[kernel->in].element;
        form.flops = kernel->flops;
    }
    return form;
}

/* The word of the block that lies there; 0 where none was kept. */
static uint64_t word_at(const struct ws_params *row, uint32_t offset, bool address)
{
    struct ws_param_word word;
    for (size_t at = 0; at + sizeof(word) <= row->words.length; at += sizeof(word)) {
        memcpy(&word, row->words.data + at, sizeof(word));
        if (word.offset == offset && word.address == address)
            return word.value;
    }
    return 0;
}

static bool cost_rows(const struct ws_arguments_form *form, const struct ws_params *row, const struct ws_shape *shape,
                      struct ws_operator_cost *cost)
{
    const struct ws_row_kernel *kernel = form->rows;
    uint64_t columns = word_at(row, (uint32_t)kernel->columns, false);
    uint64_t rows = kernel->rows == OF_GRID ? shape->grid_x : word_at(row, (uint32_t)kernel->rows, false);
    if (!columns || !rows || columns > INT32_MAX || rows > INT32_MAX ||
        (kernel->rows == OF_GRID && (shape->grid_y > 1 || shape->grid_z > 1)))
        return false;
    double elements = (double)rows * (double)columns;
    for (uint32_t i = 0; kernel->arrays[i]; i++) {
        char what = kernel->arrays[i];
        bool there = word_at(row, kernel->pointers + 8 * i, true) != 0;
        if (!there && (what == 'i' || what == 'o'))
            return false;
        if (!there)
            continue;
        cost->bytes += what == 'i'   ? elements * form->bytes[0]
                       : what == 'o' ? elements * form->bytes[1]
                       : what == 'c' ? (double)columns * form->bytes[0]
                                     : (double)rows * 4;
    }
    cost->flops = elements * form->flops;
    return true;
}

static bool cost_iterator(const struct ws_arguments_form *form, const struct ws_process *process, uint32_t params,
                          struct ws_operator_cost *cost)
{
    struct ws_operands operands;
    if (!ws_operands_read(&operands, process, params, &form->iterator) || !operands.elements ||
        operands.count < form->arrays || (form->arrays > 1 && operands.ordered != form->arrays))
        return false;
    for (uint32_t i = 0; i < form->arrays; i++) {
        bool again = false; /* read under another parameter already */
        for (uint32_t before = 1; before < i; before++)
            again = again || operands.address[before] == operands.address[i];
        if (!again)
            cost->bytes += (double)operands.elements * form->bytes[i];
    }
    cost->flops = (double)operands.elements * form->flops;
    return true;
}

bool ws_arguments_cost(const struct ws_arguments_form *form, const struct ws_process *process,
                       const struct ws_shape *shape, uint32_t params, struct ws_operator_cost *cost)
{
    const struct ws_params *row = params && form->arrays ? ws_rows_find(&process->params, params) : NULL;
    *cost = (struct ws_operator_cost){ .element = form->element };
    if (!row)
        return false;
    return form->rows ? cost_rows(form, row, shape, cost) : cost_iterator(form, process, params, cost);
}
