#include <string.h>

#include "analysis/cost/argument_grammars.h"

/* FLOPs per element, counted as in operators.c: one for a multiplication, an addition or a function of one element.
 * The first row whose `mark` occurs in the functor's name gives the FLOPs. */
static const struct {
    const char *mark;
    double flops;
} functors[] = {
    { "CUDAFunctor", 1 }, { "AddFunctor", 1 }, { "MulFunctor", 1 },    { "MulScalarFunctor", 1 },
    { "DivFunctor", 1 },  { "threshold", 1 },  { "clamp", 1 },         { "Gelu", 1 },
    { "tanh", 1 },        { "sigmoid", 1 },    { "silu_backward", 1 }, { "silu", 2 },
    { "exp_kernel", 1 },  { "log_kernel", 1 }, { "rsqrt_kernel", 1 },  { "sqrt_kernel", 1 },
    { "neg_kernel", 1 },  { "reciprocal", 1 }, { "AbsFunctor", 1 },    { "pow_tensor", 1 },
    { "addcmul", 2 },     { "addcdiv", 2 },    { "lerp", 2 },          { "sin_kernel", 1 },
    { "cos_kernel", 1 },
};

/* Reads the parameter types of the lambda that computes an element, and returns their number. A name may hold several
 * lambdas. Takes the last lambda with parameters that stands before the type of the arrays ("Array<char*…>") in the
 * name. */
static uint32_t lambda_parameters(const char *name, bool mangled, struct ws_kernel_type types[WS_KERNEL_TYPES])
{
    const char *mark = mangled ? "EUl" : "lambda(", *last = NULL;
    const char *end = strstr(name, mangled ? "rrayIPc" : "rray<char");
    for (const char *at = ws_behind(name, mark); at && (!end || at < end); at = ws_behind(at, mark))
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

/* If the kernel is a copy with a cast (Copy.cu), sets *type to its output type and returns true. The kernel's name
 * gives the output type; the parameter of its lambda has the input type. */
static bool copies_into(const char *name, struct ws_kernel_type *type)
{
    static const struct {
        const char *mark;
        struct ws_kernel_type type;
    } casts[] = {
        { "tofloat32_copy_kernel", { 4, WS_ELEMENT_FP32 } },
        { "bfloat16_copy_kernel", { 2, WS_ELEMENT_BF16 } },
        { "float16_copy_kernel", { 2, WS_ELEMENT_FP16 } },
    };
    for (size_t i = 0; i < sizeof(casts) / sizeof(casts[0]); i++) {
        *type = casts[i].type;
        if (strstr(name, casts[i].mark))
            return true;
    }
    return false;
}

/* Sets the types of the arrays that a kernel with a lambda works on, the output first. Returns the number of arrays;
 * 0: not known. The types of the lambda's parameters are the types of the input arrays. The output has the type of
 * the first input, except in comparisons, copies with a cast, and selections. */
static uint32_t read_lambda(const char *name, bool mangled, struct ws_kernel_type arrays[WS_KERNEL_TYPES + 1])
{
    static const struct ws_kernel_type truth = { 1, WS_ELEMENT_OTHER };
    struct ws_kernel_type types[WS_KERNEL_TYPES];
    uint32_t count = lambda_parameters(name, mangled, types);
    bool alike = true;
    for (uint32_t i = 0; i < count; i++) {
        arrays[i + 1] = types[i];
        alike = alike && types[i].bytes == types[0].bytes;
    }
    if (!count || strstr(name, "omplex"))
        return 0;
    if (strstr(name, "where_kernel") && count == 3)
        arrays[0] = types[1];
    else if (copies_into(name, &arrays[0]))
        return count + 1;
    else if ((!alike && !strstr(name, "masked_fill")) || strstr(name, "float8"))
        return 0;
    else
        arrays[0] = gives_truth(name) ? truth : types[0];
    return count + 1;
}

/* Reads functors such as "AbsFunctor<T>" and "CUDAFunctor_add<T>", whose arrays all have type T. Returns the number
 * of arrays (1 if `operands` is 0), or 0 for another kind of functor. */
static uint32_t read_alike(const char *name, bool mangled, uint32_t operands, struct ws_kernel_type *type,
                           bool *alike)
{
    struct ws_kernel_type types[WS_KERNEL_TYPES];
    const char *at = ws_behind(name, "unctor");
    at += strspn(at, "OnSelfOther_addsub");
    if (!ws_arguments_at(at, mangled, types) || gives_truth(name))
        return 0;
    *type = types[0];
    *alike = true;
    return operands ? operands : 1;
}

/* Sets the types of the arrays and returns their number; 0: not known. In "AUnaryFunctor<A, B, RESULT>", A is the
 * type of a scalar that is stored in the functor, and the input array has type B. In "BUnaryFunctor<A, B, RESULT>",
 * the input array has type A. "BinaryFunctor" has two input arrays. */
static uint32_t read_arrays(const char *name, bool mangled, uint32_t operands,
                            struct ws_kernel_type arrays[WS_KERNEL_TYPES + 1], bool *alike)
{
    static const struct {
        const char *mark;
        uint32_t inputs, first;
    } adaptors[] = { { "BinaryFunctor", 2, 0 }, { "AUnaryFunctor", 1, 1 }, { "BUnaryFunctor", 1, 0 } };
    struct ws_kernel_type types[WS_KERNEL_TYPES];
    for (size_t i = 0; i < sizeof(adaptors) / sizeof(adaptors[0]); i++) {
        const char *at = ws_behind(name, adaptors[i].mark);
        if (!at)
            continue;
        if (ws_arguments_at(at, mangled, types) < 3)
            return 0;
        arrays[0] = types[2];
        for (uint32_t input = 0; input < adaptors[i].inputs; input++)
            arrays[1 + input] = types[adaptors[i].first + input];
        return 1 + adaptors[i].inputs;
    }
    if (!ws_behind(name, "unctor") || lambda_parameters(name, mangled, types))
        return read_lambda(name, mangled, arrays);
    uint32_t count = read_alike(name, mangled, operands, &arrays[0], alike);
    for (uint32_t i = 1; i < count && i <= WS_KERNEL_TYPES; i++)
        arrays[i] = arrays[0];
    return count;
}

void ws_read_functor(const char *functor, bool mangled, uint32_t operands, struct ws_arguments_form *form)
{
    struct ws_kernel_type arrays[WS_KERNEL_TYPES + 1] = { 0 };
    uint32_t count = read_arrays(functor, mangled, operands, arrays, &form->alike);
    if (!count || count > WS_KERNEL_TYPES || (operands && count != operands))
        return;
    for (uint32_t i = 0; i < count; i++) {
        form->bytes[i] = (uint8_t)arrays[i].bytes;
        if (!arrays[i].bytes)
            return;
    }
    form->arrays = count;
    form->element = arrays[count > 1].element;
    for (size_t i = 0; i < sizeof(functors) / sizeof(functors[0]); i++)
        if (form->element != WS_ELEMENT_OTHER && !form->flops && strstr(functor, functors[i].mark))
            form->flops = functors[i].flops;
}
