#include <stdlib.h>
#include <string.h>

#include "analysis/cost/argument_grammars.h"
#include "base/minmax.h"

/* Kernels over lists of tensors: csrc/multi_tensor_apply.cuh of apex, and PyTorch's
 * ATen/native/cuda/MultiTensorApply.cuh, which derives from apex's file. One parameter of the kernel is a structure:
 * in PyTorch the first, in apex the third, after the chunk size and an address. The structure has these members, in
 * this order:
 * - the addresses of the tensors, list by list; a template argument gives the number of lists;
 * - the number of elements of each tensor;
 * - in some kernels, for each tensor, a scalar or the address of a counter;
 * - for each block of the grid, the index of its tensor and the index of its chunk in that tensor. */
enum { MOST_LISTS = 5, MOST_BLOCKS = 320, CHUNK = 65536, APEX_LIST_AT = 16, MOST_NUMBERS = 4 };

static const uint32_t most_tensors[MOST_LISTS] = { 110, 64, 48, 36, 30 };
static const uint32_t most_with_scalars[MOST_LISTS] = { 96, 64, 48, 36, 30 };

/* How many arrays a kernel of a list functor reads and writes. */
enum moves {
    READS_NAMED,   /* writes one array; a template argument gives the number of arrays that the kernel reads */
    ALL_BUT_GRADS, /* an optimizer of PyTorch: reads all lists, writes all lists except the gradients */
    GIVEN,         /* the number of arrays read plus the number of arrays written is ws_list_kernel.arrays */
};

struct ws_list_kernel {
    const char *functor;
    enum moves moves;
    uint32_t arrays;
};

static const struct ws_list_kernel list_kernels[] = {
    { "UnaryOpFunctor", READS_NAMED, 0 },
    { "BinaryOpScalarFunctor", READS_NAMED, 0 },
    { "BinaryOpScalarListFunctor", READS_NAMED, 0 },
    { "BinaryOpScalarTensorFunctor", READS_NAMED, 0 },
    { "BinaryOpListAlphaFunctor", READS_NAMED, 0 },
    { "PointwiseOpScalarFunctor", READS_NAMED, 0 },
    { "PointwiseOpScalarListFunctor", READS_NAMED, 0 },
    { "PointwiseOpListFunctor", READS_NAMED, 0 },
    { "TernaryOpListFunctor", READS_NAMED, 0 },
    { "TernaryOpScalarFunctor", READS_NAMED, 0 },
    { "ZeroFunctor", GIVEN, 1 },
    { "LpNormFunctor", GIVEN, 1 },
    { "FusedAdamMathFunctor", ALL_BUT_GRADS, 0 },
    { "FusedSgdMathFunctor", ALL_BUT_GRADS, 0 },
    { "FusedAdagradMathFunctor", ALL_BUT_GRADS, 0 },
    { "AdamFunctor", GIVEN, 7 }, /* apex: reads gradients, parameters and two moments; writes all except gradients */
    { "L2NormFunctor", GIVEN, 1 },
};

/* Reads the integers among template arguments: "<float, 2, 2, 0>", "IfLi2ELi2ELi0EE". */
static uint32_t template_numbers(const char *at, bool mangled, uint32_t numbers[MOST_NUMBERS])
{
    uint32_t count = 0;
    if (mangled) {
        for (at = strstr(at, "Li"); at && count < MOST_NUMBERS; at = strncmp(at, "Li", 2) ? NULL : at) {
            char *end;
            numbers[count++] = (uint32_t)strtoul(at + 2, &end, 10);
            at = *end == 'E' ? end + 1 : "";
        }
        return count;
    }
    for (at += strcspn(at, ",>"); *at == ',' && count < MOST_NUMBERS; at += strcspn(at, ",>")) {
        at += strspn(at, ", ");
        at += strncmp(at, "(int)", 5) ? 0 : 5;
        if (*at < '0' || *at > '9')
            break;
        numbers[count++] = (uint32_t)strtoul(at, NULL, 10);
    }
    return count;
}

/* Returns the size of the types among the template arguments; 0 if the sizes differ. The lists of a kernel may have
 * different types, so only equal sizes give the size of every list. */
static uint32_t common_bytes(const char *at, bool mangled, enum ws_element *element)
{
    struct ws_kernel_type types[WS_KERNEL_TYPES];
    uint32_t count = ws_arguments_at(at, mangled, types);
    if (!count || !types[0].bytes)
        return 0;
    for (uint32_t i = 1; i < count; i++)
        if (types[i].bytes && types[i].bytes != types[0].bytes)
            return 0;
    *element = types[0].element;
    return types[0].bytes;
}

static enum ws_list_kind argument_lists_kind_of(const char *name)
{
    return strstr(name, "OptimizerTensorListMetadata")                ? WS_LIST_COUNTED
           : strstr(name, "TensorListScalarListMetadata")             ? WS_LIST_SCALARS
           : strstr(name, "at::native") || strstr(name, "2at6native") ? WS_LIST_PLAIN
                                                                      : WS_LIST_APEX;
}

/* Reads the number of lists: "TensorListMetadata<2>", "TensorListScalarListMetadata<float, 2>". */
static uint32_t lists_of(const char *name, bool mangled, enum ws_list_kind kind)
{
    const char *at = ws_behind(name, kind == WS_LIST_SCALARS ? "TensorListScalarListMetadata" : "TensorListMetadata");
    uint32_t numbers[MOST_NUMBERS];
    if (at && (mangled || kind == WS_LIST_SCALARS))
        return template_numbers(at, mangled, numbers) ? numbers[0] : 0;
    if (!at || *at++ != '<')
        return 0;
    return (uint32_t)strtoul(at + (strncmp(at, "(int)", 5) ? 0 : 5), NULL, 10);
}

static uint32_t arrays_moved(const struct ws_list_kernel *kernel, const char *at, bool mangled, uint32_t lists)
{
    uint32_t numbers[MOST_NUMBERS], count = template_numbers(at, mangled, numbers);
    switch (kernel->moves) {
    case READS_NAMED:
        return count >= 3 && numbers[0] == lists && numbers[1] <= lists ? numbers[1] + 1 : 0;
    case ALL_BUT_GRADS:
        return count && numbers[0] == lists ? 2 * lists - 1 : 0;
    default:
        return kernel->arrays;
    }
}

struct ws_arguments_form ws_list_form(const char *name)
{
    struct ws_arguments_form form = { 0 };
    bool mangled = name[0] == '_';
    enum ws_list_kind kind = argument_lists_kind_of(name);
    uint32_t lists = lists_of(name, mangled, kind);
    if (!strstr(name, "multi_tensor_apply_kernel") || !lists || lists > MOST_LISTS)
        return form;
    for (size_t i = 0; i < sizeof(list_kernels) / sizeof(list_kernels[0]) && !form.grammar; i++) {
        const struct ws_list_kernel *kernel = &list_kernels[i];
        const char *at = ws_behind(name, kernel->functor);
        uint32_t bytes = 0;
        if (!at || ws_goes_before(name, at - strlen(kernel->functor)) ||
            !(bytes = common_bytes(at, mangled, &form.element)))
            continue;
        form.grammar = WS_GRAMMAR_LIST;
        form.arrays = arrays_moved(kernel, at, mangled, lists);
        form.bytes[0] = (uint8_t)bytes;
        form.alike = true;
        form.lists = lists;
        form.list_kind = kind;
        form.optimizer = kernel->moves == ALL_BUT_GRADS;
    }
    return form;
}

struct lists {
    uint32_t sizes, size_bytes; /* `sizes`: offset of the tensors' element counts; `size_bytes`: bytes per count */
    /* offsets of two arrays that are indexed by thread block: `tensors` gives the index of the block's tensor,
     * `pieces` the index of the block's chunk in the tensor */
    uint32_t tensors, pieces;
    uint32_t most;
    uint64_t chunk;
};

static bool find_lists(const struct ws_arguments_form *form, const struct ws_param_block *block, struct lists *lists)
{
    bool apex = form->list_kind == WS_LIST_APEX;
    uint32_t depth = form->lists - 1, start = apex ? APEX_LIST_AT : 0;
    if (block->image.first != start / 8)
        return false;
    lists->most = form->list_kind == WS_LIST_SCALARS ? most_with_scalars[depth] : most_tensors[depth];
    lists->chunk = CHUNK;
    if (apex && (!ws_block_number(block, 0, 4, &lists->chunk) || !lists->chunk || lists->chunk > INT32_MAX))
        return false;
    lists->size_bytes = apex ? 4 : 8;
    lists->sizes = start + 8 * form->lists * lists->most;
    lists->tensors = lists->sizes + lists->size_bytes * lists->most;
    if (form->list_kind == WS_LIST_COUNTED)
        lists->tensors += 8 * most_with_scalars[depth];
    else if (form->list_kind == WS_LIST_SCALARS) /* a scalar is a double if elements are doubles, else a float */
        lists->tensors += (form->bytes[0] == 8 ? 8 : 4) * lists->most;
    lists->pieces = (lists->tensors + MOST_BLOCKS + 3) / 4 * 4;
    return true;
}

/* Returns the number of elements that all blocks of the grid work on. Returns 0 if the blocks do not take the chunks
 * of all tensors one after another. */
static uint64_t argument_lists_count_elements(const struct ws_param_block *block, const struct lists *lists,
                                              uint32_t blocks)
{
    uint64_t elements = 0, tensor = 0, left = 0, now, piece, size;
    for (uint32_t i = 0; i < blocks; i++) {
        if (!ws_block_number(block, lists->tensors + i, 1, &now) ||
            !ws_block_number(block, lists->pieces + 4 * i, 4, &piece) || now >= lists->most ||
            !ws_block_number(block, lists->sizes + lists->size_bytes * (uint32_t)now, lists->size_bytes, &size))
            return 0;
        uint64_t before = piece * lists->chunk;
        bool goes_on = i && now == tensor && left && before + left == size;
        bool begins = i ? now == tensor + 1 && !left && !piece : !now;
        if ((!goes_on && !begins) || size <= before || size > UINT32_MAX * lists->chunk)
            return 0;
        tensor = now;
        left = size - before;
        uint64_t part = ws_min(left, lists->chunk);
        elements += part;
        left -= part;
    }
    return elements;
}

/* Does the optimizer divide the gradients by the scale of the loss? An optimizer that does so also writes the
 * gradients, and the last two parameters of its kernel are the addresses of the scale and of a flag for
 * infinities. */
static bool scales_gradients(const struct ws_param_block *block)
{
    uint32_t behind = 8 * (block->image.first + block->image.count) - 1, last = behind, before = 0;
    for (uint32_t at = behind; (at = ws_block_next_address(block, at));) {
        before = last;
        last = at;
    }
    return last == before + 8;
}

bool ws_moved_list(const struct ws_arguments_form *form, const struct ws_param_block *block,
                   const struct ws_shape *shape, struct ws_moved *moved)
{
    struct lists lists;
    if (shape->grid_x > MOST_BLOCKS || shape->grid_y > 1 || shape->grid_z > 1 || !find_lists(form, block, &lists))
        return false;
    uint64_t elements = argument_lists_count_elements(block, &lists, shape->grid_x);
    uint32_t arrays = form->arrays + (form->optimizer && scales_gradients(block));
    moved->elements = (double)elements;
    moved->more = (double)elements * arrays * form->bytes[0];
    return elements > 0;
}
