#include "analysis/cost/arguments.h"

#include <ctype.h>
#include <string.h>

#include "analysis/cost/argument_grammars.h"

const char *ws_behind(const char *text, const char *part)
{
    const char *at = strstr(text, part);
    return at ? at + strlen(part) : NULL;
}

bool ws_goes_before(const char *name, const char *at)
{
    return at > name && (isalpha((unsigned char)at[-1]) || at[-1] == '_');
}

uint32_t ws_arguments_at(const char *at, bool mangled, struct ws_kernel_type types[WS_KERNEL_TYPES])
{
    if (!at || *at != (mangled ? 'I' : '<'))
        return 0;
    return ws_kernel_types(at + 1, mangled, types);
}

void ws_moved_add(struct ws_moved *moved, uint64_t address, double bytes, bool written)
{
    if (moved->count < WS_OPERANDS_MOST)
        moved->array[moved->count++] = (struct ws_moved_array){ address, bytes, written };
}

struct ws_arguments_form ws_arguments_form_of(const char *name)
{
    static const struct {
        const char *mark;
        struct ws_arguments_form (*read)(const char *name);
    } readers[] = {
        { "elementwise_kernel", ws_iterator_form },    { "reduce_kernel", ws_reduce_form },
        { "multi_tensor_apply_kernel", ws_list_form }, { "CatArrayBatchedCopy", ws_cat_form },
        { "Flash_kernel_traits", ws_attention_form },  { "", ws_dictionary_form },
    };
    size_t i = 0;
    while (!strstr(name, readers[i].mark))
        i++;
    struct ws_arguments_form form = readers[i].read(name);
    form.grammar = form.arrays ? form.grammar : WS_GRAMMAR_NONE;
    return form;
}

/* Finds the arrays and bytes that a launch moves (reads and writes). `params` is the id of the launch's parameters in
 * the trace. Returns false if the parameters do not give these arrays and bytes. */
static bool arguments_moved(const struct ws_arguments_form *form, const struct ws_process *process,
                            const struct ws_shape *shape, uint32_t params, struct ws_moved *moved)
{
    static ws_moved_reader *const readers[] = {
        [WS_GRAMMAR_ITERATOR] = ws_moved_iterator,   [WS_GRAMMAR_CAST] = ws_moved_cast,
        [WS_GRAMMAR_STRIDED] = ws_moved_strided,     [WS_GRAMMAR_ROWS] = ws_moved_rows,
        [WS_GRAMMAR_REDUCE] = ws_moved_reduce,       [WS_GRAMMAR_CAT] = ws_moved_cat,
        [WS_GRAMMAR_ATTENTION] = ws_moved_attention, [WS_GRAMMAR_LIST] = ws_moved_list,
    };
    struct ws_param_block block;
    *moved = (struct ws_moved){ 0 };
    return form->grammar && ws_block_open(&block, process, params) &&
           readers[form->grammar](form, &block, shape, moved);
}

/* Does the kernel only read this array, and has the launch an earlier read-only array with the same address? */
static bool is_read_before(const struct ws_moved *moved, uint32_t array)
{
    for (uint32_t i = 0; i < array; i++)
        if (!moved->array[i].written && !moved->array[array].written &&
            moved->array[i].address == moved->array[array].address &&
            moved->array[i].bytes == moved->array[array].bytes)
            return true;
    return false;
}

bool ws_arguments_cost(const struct ws_arguments_form *form, const struct ws_process *process,
                       const struct ws_shape *shape, uint32_t params, struct ws_operator_cost *cost)
{
    struct ws_moved moved;
    *cost = (struct ws_operator_cost){ .element = form->element };
    if (!arguments_moved(form, process, shape, params, &moved))
        return false;
    cost->bytes = moved.more;
    for (uint32_t i = 0; i < moved.count; i++)
        cost->bytes += is_read_before(&moved, i) ? 0 : moved.array[i].bytes;
    cost->flops = moved.flops + moved.elements * form->flops;
    cost->note = moved.note;
    return true;
}

bool ws_arguments_operands(const struct ws_arguments_form *form, const struct ws_process *process,
                           const struct ws_shape *shape, uint32_t params, struct ws_operands *operands)
{
    struct ws_moved moved;
    if (!arguments_moved(form, process, shape, params, &moved) || !moved.count)
        return ws_operands_read(operands, process, params, &form->iterator);
    *operands = (struct ws_operands){ .count = moved.count, .ordered = moved.count };
    for (uint32_t i = 0; i < moved.count; i++) {
        operands->address[i] = moved.array[i].address;
        operands->bytes[i] = moved.array[i].bytes;
        operands->written += moved.array[i].written;
    }
    return true;
}
