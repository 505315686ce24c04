#include <stdlib.h>
#include <string.h>

#include "analysis/cost/argument_grammars.h"

/* The parameters of PyTorch's kernel for concatenation (ATen/native/cuda/Shape.cu). First comes the output's address.
 * Then come arrays with one entry per input: the address, the start along the joined dimension, the length along the
 * joined dimension, the number of elements, a flag for contiguous inputs. If some inputs are not contiguous, four
 * sizes and four strides per input follow. Numbers have 32 bits, a flag has one byte. Thread blocks with the same y
 * index work on the same input. */
enum { INPUTS_AT = 8, MOST_INPUTS = 128, STRIDED_INPUTS = 64, DIMS = 4 };

/* Returns the size of an element in bytes; 0: not known. "OpaqueType<2u>" stands for any type of two bytes. */
static uint32_t element_bytes(const char *at, bool mangled, enum ws_element *element)
{
    struct ws_kernel_type types[WS_KERNEL_TYPES];
    const char *opaque = ws_behind(at, mangled ? "OpaqueTypeILj" : "OpaqueType<");
    *element = WS_ELEMENT_OTHER;
    if (opaque) {
        unsigned long bytes = strtoul(opaque + (strncmp(opaque, "(unsigned int)", 14) ? 0 : 14), NULL, 10);
        return bytes <= 16 ? (uint32_t)bytes : 0;
    }
    if (!ws_arguments_at(at, mangled, types))
        return 0;
    *element = types[0].element;
    return types[0].bytes;
}

struct ws_arguments_form ws_cat_form(const char *name)
{
    struct ws_arguments_form form = { 0 };
    bool mangled = name[0] == '_';
    const char *at = ws_behind(name, "CatArrayBatchedCopy");
    at = at ? at + strcspn(at, mangled ? "I" : "<") : "";
    form.bytes[0] = (uint8_t)element_bytes(at, mangled, &form.element);
    if (!form.bytes[0] || !strstr(at, mangled ? "j" : "unsigned int, "))
        return form;
    form.grammar = WS_GRAMMAR_CAT;
    form.arrays = 2;
    return form;
}

/* One input of a concatenation: its start (`offset`) and its length (`extent`) along the joined dimension, and its
 * number of elements. */
struct input {
    uint64_t offset, extent, elements;
};

static bool read_input(const struct ws_param_block *block, uint32_t most, uint32_t i, struct input *input)
{
    uint32_t numbers = INPUTS_AT + 8 * most;
    return ws_block_has_address(block, INPUTS_AT + 8 * i) &&
           ws_block_number(block, numbers + 4 * i, 4, &input->offset) &&
           ws_block_number(block, numbers + 4 * (most + i), 4, &input->extent) &&
           ws_block_number(block, numbers + 4 * (2 * most + i), 4, &input->elements) && input->extent &&
           input->elements && input->elements % input->extent == 0;
}

/* Does every element of the input have a different address? An expanded input does not: in a dimension with stride 0,
 * several elements have the same address. */
static bool is_whole(const struct ws_param_block *block, uint32_t most, uint32_t i)
{
    uint32_t flags = INPUTS_AT + 20 * most, sizes = flags + most + 8 * DIMS * i;
    uint64_t contiguous, size, stride;
    if (most != STRIDED_INPUTS)
        return true;
    if (!ws_block_number(block, flags + i, 1, &contiguous) || contiguous > 1)
        return false;
    for (uint32_t d = 0; d < DIMS && !contiguous; d++)
        if (!ws_block_number(block, sizes + 4 * d, 4, &size) ||
            !ws_block_number(block, sizes + 4 * (DIMS + d), 4, &stride) || (size > 1 && size <= INT32_MAX && !stride))
            return false;
    return true;
}

/* Returns the number of elements of all inputs. Returns 0 if the inputs do not lie one after another along the joined
 * dimension, or if their sizes in the other dimensions differ. */
static uint64_t argument_cat_count_elements(const struct ws_param_block *block, uint32_t most, uint32_t inputs)
{
    struct input input, before = { 0 };
    uint64_t elements = 0;
    for (uint32_t i = 0; i < inputs; i++) {
        if (!read_input(block, most, i, &input) || !is_whole(block, most, i))
            return 0;
        if (i && (input.elements / input.extent != before.elements / before.extent ||
                  input.offset != before.offset + before.extent))
            return 0;
        elements += input.elements;
        before = input;
    }
    return elements;
}

bool ws_moved_cat(const struct ws_arguments_form *form, const struct ws_param_block *block,
                  const struct ws_shape *shape, struct ws_moved *moved)
{
    uint64_t elements = 0;
    uint32_t end = 8 * (block->image.first + block->image.count);
    if (shape->grid_z > 1 || !ws_block_has_address(block, 0) || block->image.first != INPUTS_AT / 8)
        return false;
    for (uint32_t most = MOST_INPUTS; most >= STRIDED_INPUTS && !elements; most /= 2)
        if (shape->grid_y <= most && INPUTS_AT + 21 * most < end)
            elements = argument_cat_count_elements(block, most, shape->grid_y);
    moved->more = 2 * (double)elements * form->bytes[0];
    return elements > 0;
}
