#include <string.h>

#include "analysis/cost/argument_grammars.h"

enum { FUNCTOR_TEXT = 1024, TABLE_SLACK = 40 };

/* Does the functor belong to PyTorch? Other libraries also pass their own functors to PyTorch's TensorIterator.
 * ws_read_functor cannot tell the result types of these functors. */
static bool is_of_pytorch(const char *functor, bool mangled)
{
    if (mangled) {
        functor += strspn(functor, "Z");
        return !strncmp(functor, "NS0_", 4);
    }
    functor = strncmp(functor, "void ", 5) ? functor : functor + 5;
    return !strncmp(functor, "at::native::", 12);
}

/* If the kernel works on contiguous arrays, returns the part of its name from the functor to the end; else NULL. */
static const char *contiguous_functor(const char *name, bool mangled)
{
    const char *at = ws_behind(name, "vectorized_elementwise_kernel");
    if (!at)
        at = ws_behind(name, "unrolled_elementwise_kernel");
    if (!at || strstr(name, "> OffsetCalculator") || strstr(name, " OffsetCalculator") ||
        strstr(name, "16OffsetCalculator"))
        return NULL;
    if (mangled) {
        at += strspn(at, "I");
        return at + strspn(at, "Li0123456789E");
    }
    return at + strspn(at, "<(int)0123456789, ");
}

/* If the kernel works on strided arrays, copies the name of its functor, which is the template argument of
 * gpu_kernel_impl, and returns true. Sets *casts to true if the kernel may cast elements to another type. */
static bool strided_functor(const char *name, bool mangled, char functor[FUNCTOR_TEXT], bool *casts)
{
    const char *at = ws_behind(name, "gpu_kernel_impl");
    const char *plain = at ? ws_behind(at, "_nocast") : NULL;
    if (!at || (!strstr(name, "elementwise_kernel") || strstr(name, "index_elementwise")))
        return false;
    *casts = plain != at + strlen("_nocast");
    at = *casts ? at : plain;
    if (*at++ != (mangled ? 'I' : '<'))
        return false;
    size_t length = 0;
    if (mangled) {
        const char *end = strstr(at, "EvRNS_"), *substituted = strstr(at, "EvS");
        end = !end || (substituted && substituted < end) ? substituted : end;
        length = end ? (size_t)(end - at) : 0;
    } else {
        for (int depth = 0; at[length] && (depth || at[length] != '>'); length++)
            depth += (at[length] == '<') - (at[length] == '>');
        length = at[length] ? length : 0;
    }
    if (!length || length >= FUNCTOR_TEXT)
        return false;
    memcpy(functor, at, length);
    functor[length] = 0;
    return true;
}

struct ws_arguments_form ws_iterator_form(const char *name)
{
    struct ws_arguments_form form = { .iterator = ws_iterator_of(name) };
    bool mangled = name[0] == '_';
    char text[FUNCTOR_TEXT];
    uint32_t operands = form.iterator.operands;
    const char *functor = contiguous_functor(name, mangled);
    if (functor && operands && operands <= WS_KERNEL_TYPES && is_of_pytorch(functor, mangled)) {
        bool loads = strstr(name, "LoadWithCast"), stores = strstr(name, "StoreWithCast");
        form.grammar = loads ? WS_GRAMMAR_CAST : WS_GRAMMAR_ITERATOR;
        if (loads == stores)
            ws_read_functor(functor, mangled, operands, &form);
    } else if (!functor && strided_functor(name, mangled, text, &form.casts) && is_of_pytorch(text, mangled)) {
        form.grammar = WS_GRAMMAR_STRIDED;
        ws_read_functor(text, mangled, 0, &form);
    }
    return form;
}

/* Does the parameter block hold `count` recorded device addresses one after another, the first at this offset? */
static bool arrays_lie_at(const struct ws_param_block *block, uint32_t offset, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!ws_block_address(block, offset + 8 * i))
            return false;
    return count && offset;
}

static bool read_elements(const struct ws_param_block *block, uint64_t *elements)
{
    return ws_block_number(block, 0, 4, elements) && *elements && *elements <= INT32_MAX;
}

bool ws_moved_iterator(const struct ws_arguments_form *form, const struct ws_param_block *block,
                       const struct ws_shape *shape, struct ws_moved *moved)
{
    uint32_t at = ws_block_next_address(block, 0);
    uint64_t elements;
    (void)shape;
    if (!read_elements(block, &elements) || !arrays_lie_at(block, at, form->arrays))
        return false;
    moved->elements = (double)elements;
    for (uint32_t i = 0; i < form->arrays; i++)
        ws_moved_add(moved, ws_block_address(block, at + 8 * i), (double)elements * form->bytes[i], !i);
    return true;
}

/* The element size of a type in bytes; 0: not in the table. `type` is a c10::ScalarType (c10/core/ScalarType.h),
 * stored in one byte. */
static uint32_t scalar_type_bytes(uint64_t type)
{
    static const uint8_t bytes[] = { 1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4, 2 };
    return type < sizeof(bytes) ? bytes[type] : 0;
}

/* Reads LoadWithCast or StoreWithCast (ATen/native/cuda/MemoryAccess.cuh): a type for each array, then each array's
 * element size. In the parameter block, this structure comes after the addresses of the arrays and after two offset
 * calculators of one byte each, which are padded to 4 bytes. */
static bool read_casts(const struct ws_param_block *block, uint32_t *offset, uint32_t count, uint8_t *bytes)
{
    uint32_t sizes = *offset + (count + 3) / 4 * 4;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t type, size;
        if (!ws_block_number(block, *offset + i, 1, &type) || !ws_block_number(block, sizes + 4 * i, 4, &size) ||
            !size || size != scalar_type_bytes(type))
            return false;
        bytes[i] = (uint8_t)size;
    }
    *offset = sizes + 4 * count;
    return true;
}

bool ws_moved_cast(const struct ws_arguments_form *form, const struct ws_param_block *block,
                   const struct ws_shape *shape, struct ws_moved *moved)
{
    uint32_t at = ws_block_next_address(block, 0), inputs = form->arrays - 1, casts = at + 8 * form->arrays + 4;
    uint8_t bytes[WS_KERNEL_TYPES + 1];
    uint64_t elements;
    (void)shape;
    if (!read_elements(block, &elements) || !inputs || !arrays_lie_at(block, at, form->arrays) ||
        !read_casts(block, &casts, inputs, bytes + 1) || !read_casts(block, &casts, 1, bytes))
        return false;
    moved->elements = (double)elements;
    for (uint32_t i = 0; i <= inputs; i++)
        ws_moved_add(moved, ws_block_address(block, at + 8 * i), (double)elements * bytes[i], !i);
    return true;
}

/* Finds the table of strides and the addresses of the arrays. The lambda in gpu_kernel_impl captures the table and
 * the addresses. nvcc 13.0 lays out captures in the order of their use: the table, the arrays, the functor and, in
 * some kernels, the types of the arrays. In other kernels the arrays come before the table. Returns the offset of the
 * arrays; 0: the block has neither layout. */
static uint32_t find_table(const struct ws_param_block *block, uint32_t arrays, struct ws_offset_table *table)
{
    uint32_t start = 8 * block->image.first, behind = (start + ws_table_size(arrays) + 7) / 8 * 8;
    uint64_t elements;
    if (!read_elements(block, &elements))
        return 0;
    if (arrays_lie_at(block, behind, arrays) && ws_table_read(table, block, start, arrays) &&
        table->elements == elements)
        return behind;
    if (arrays_lie_at(block, start, arrays) && ws_table_read(table, block, start + 8 * arrays, arrays) &&
        table->elements == elements)
        return start;
    return 0;
}

/* Finds the types of arrays whose elements are cast. The types lie next to each other somewhere after the table, the
 * arrays and the functor. The size of a type must equal the smallest stride of its array, if the array has a stride
 * other than 0. */
static bool read_strided_casts(const struct ws_param_block *block, const struct ws_offset_table *table, uint32_t from,
                               uint8_t *bytes)
{
    for (uint32_t at = from; at < from + TABLE_SLACK; at++) {
        uint32_t fitting = 0;
        for (uint32_t i = 0; i < table->arrays; i++) {
            uint32_t step = ws_table_least_stride(table, i);
            uint64_t type;
            if (!ws_block_number(block, at + i, 1, &type) || !scalar_type_bytes(type))
                break;
            bytes[i] = (uint8_t)scalar_type_bytes(type);
            fitting += !step || step == bytes[i];
        }
        if (fitting == table->arrays)
            return true;
    }
    return false;
}

bool ws_moved_strided(const struct ws_arguments_form *form, const struct ws_param_block *block,
                      const struct ws_shape *shape, struct ws_moved *moved)
{
    struct ws_offset_table table;
    uint8_t bytes[WS_OPERANDS_MOST];
    uint32_t at = 0;
    (void)shape;
    for (uint32_t arrays = form->alike ? 1 : form->arrays; !at && arrays <= (form->alike ? 3 : form->arrays);
         arrays++)
        at = find_table(block, arrays, &table);
    if (!at)
        return false;
    for (uint32_t i = 0; i < table.arrays; i++)
        bytes[i] = form->bytes[form->alike ? 0 : i];
    uint32_t tables = ws_table_size(table.arrays), start = 8 * block->image.first;
    uint32_t behind = (at == start ? start + tables : at) + 8 * table.arrays;
    if (form->casts && !read_strided_casts(block, &table, behind, bytes))
        return false;
    moved->elements = (double)table.elements;
    for (uint32_t i = 0; i < table.arrays; i++) {
        uint64_t touched = ws_table_touched(&table, i, bytes[i]);
        if (!touched)
            return false;
        ws_moved_add(moved, ws_block_address(block, at + 8 * i), (double)touched * bytes[i], !i);
    }
    return true;
}
