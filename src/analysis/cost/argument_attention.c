#include <stdlib.h>
#include <string.h>

#include "analysis/cost/argument_grammars.h"

/* FlashAttention-2 (csrc/flash_attn/src/flash.h, copied by PyTorch) passes its kernels one structure of pointers,
 * 64-bit strides and sizes. The grid confirms some sizes: x is the number of blocks of queries (in the backward pass,
 * of keys), y is the size of the batch, z is the number of heads. */
enum { HEADS_AT = 96, TRUTHS = 8, TRAITS = 3, ROUNDED = 128 };

/* Offsets, in bytes, of these sizes in the structure of FlashAttention-2: batch, length of the query sequences,
 * length of the key sequences, head size, both lengths rounded up, head size rounded up. Between the offsets
 * `lengths` and `lengths_end` are pointers that are set only if sequences have different lengths. */
static const struct layout {
    uint32_t batch, queries, keys, head, queries_rounded, keys_rounded, head_rounded, lengths, lengths_end;
} layouts[] = {
    { 176, 180, 184, 192, 196, 200, 204, 224, 256 }, /* layout since version 2.2, in which inference can append keys
                                                        to a cache */
    { 160, 164, 168, 172, 176, 180, 184, 200, 216 },
};

/* Reads the boolean template arguments that follow Flash_kernel_traits. The first argument says whether there is
 * dropout, the second whether attention is causal. In newer versions, the third argument says whether attention is
 * limited to a window of nearby keys. */
static uint32_t read_truths(const char *at, bool mangled, bool truths[TRUTHS])
{
    static const char *const marks[2][2] = { { "false", "true" }, { "Lb0E", "Lb1E" } };
    uint32_t count = 0;
    while (count < TRUTHS) {
        at += strspn(at, ", >");
        bool is = !strncmp(at, marks[mangled][1], strlen(marks[mangled][1]));
        if (!is && strncmp(at, marks[mangled][0], strlen(marks[mangled][0])) != 0)
            break;
        truths[count++] = is;
        at += strlen(marks[mangled][is]);
    }
    return count;
}

/* Reads the first three arguments of Flash_kernel_traits: the largest head size, the queries per block and the keys
 * per block. */
static bool read_traits(const char *at, bool mangled, uint32_t numbers[TRAITS])
{
    for (uint32_t i = 0; i < TRAITS; i++) {
        char *end;
        at += strspn(at, mangled ? "EILi" : "<, ");
        at += strncmp(at, "(int)", 5) ? 0 : 5;
        numbers[i] = (uint32_t)strtoul(at, &end, 10);
        if (end == at || !numbers[i] || numbers[i] > 1024)
            return false;
        at = end;
    }
    return true;
}

struct ws_arguments_form ws_attention_form(const char *name)
{
    struct ws_arguments_form form = { 0 };
    bool mangled = name[0] == '_', truths[TRUTHS], backward = strstr(name, "flash_bwd");
    uint32_t numbers[TRAITS];
    const char *kernel =
        ws_behind(name, backward ? "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel" : "flash_fwd_kernel");
    const char *inner = kernel ? ws_behind(kernel, "Flash_kernel_traits") : NULL;
    const char *at = inner ? ws_behind(inner, mangled ? "EE" : ">") : NULL;
    if (!at || !read_traits(inner, mangled, numbers))
        return form;
    uint32_t count = read_truths(at, mangled, truths);
    bool knows_windows = count > (backward ? 4 : 5);
    if (count < 4 || (knows_windows && truths[2]))
        return form;
    form.grammar = WS_GRAMMAR_ATTENTION;
    form.arrays = 4;
    form.bytes[0] = 2;
    form.element = strstr(inner, "bfloat16") || strstr(name, "bfloat16") ? WS_ELEMENT_BF16 : WS_ELEMENT_FP16;
    form.attention = (struct ws_attention_form){
        .backward = backward, .causal = truths[1], .head = numbers[0], .block = numbers[backward ? 2 : 1]
    };
    return form;
}

struct sizes {
    uint64_t heads, key_heads, batch, queries, keys, head;
};

static bool rounds_up(const struct ws_param_block *block, uint32_t offset, uint64_t size, uint64_t to)
{
    uint64_t rounded;
    return ws_block_number(block, offset, 4, &rounded) && rounded % to == 0 && rounded >= size &&
           rounded < size + 2 * to;
}

static bool argument_attention_read_sizes(const struct ws_param_block *block, const struct layout *layout,
                                          const struct ws_shape *shape, const struct ws_attention_form *form,
                                          struct sizes *sizes)
{
    uint64_t ratio;
    if (!ws_block_number(block, HEADS_AT, 4, &sizes->heads) ||
        !ws_block_number(block, HEADS_AT + 4, 4, &sizes->key_heads) ||
        !ws_block_number(block, HEADS_AT + 8, 4, &ratio) ||
        !ws_block_number(block, layout->batch, 4, &sizes->batch) ||
        !ws_block_number(block, layout->queries, 4, &sizes->queries) ||
        !ws_block_number(block, layout->keys, 4, &sizes->keys) ||
        !ws_block_number(block, layout->head, 4, &sizes->head))
        return false;
    uint64_t along = form->backward ? sizes->keys : sizes->queries;
    return sizes->heads == shape->grid_z && sizes->batch == shape->grid_y &&
           (along + form->block - 1) / form->block == shape->grid_x && sizes->key_heads &&
           sizes->heads == sizes->key_heads * ratio && sizes->queries && sizes->keys && sizes->queries <= INT32_MAX &&
           sizes->keys <= INT32_MAX && sizes->head && sizes->head <= form->head &&
           rounds_up(block, layout->queries_rounded, sizes->queries, ROUNDED) &&
           rounds_up(block, layout->keys_rounded, sizes->keys, ROUNDED) &&
           rounds_up(block, layout->head_rounded, sizes->head, 32);
}

static bool has_lengths(const struct ws_param_block *block, const struct layout *layout)
{
    for (uint32_t at = layout->lengths; at < layout->lengths_end; at += 8)
        if (ws_block_has_address(block, at))
            return true;
    return false;
}

/* Counts the bytes and FLOPs of attention. The forward pass reads queries, keys and values. The forward pass writes
 * the result, and one 4-byte number per query and head. The backward pass reads queries, keys, values, the result's
 * gradient, and two 4-byte numbers per query and head. The backward pass writes the gradients of keys and values for
 * every head, and adds up the gradients of the queries in 4 bytes per element. The forward pass has two matrix
 * products, the backward pass five. */
static void argument_attention_count(const struct ws_attention_form *form, const struct sizes *sizes,
                                     struct ws_moved *moved)
{
    double all_queries = (double)sizes->batch * (double)sizes->heads * (double)sizes->queries;
    double queries = all_queries * (double)sizes->head;
    double keys = (double)sizes->batch * (double)sizes->keys * (double)sizes->head;
    double inputs = 2 * (queries + 2 * keys * (double)sizes->key_heads);
    moved->flops = (form->backward ? 10 : 4) * queries * (double)sizes->keys;
    moved->more = form->backward
                      ? inputs + 2 * queries + 4 * queries + 4 * keys * (double)sizes->heads + 8 * all_queries
                      : inputs + 2 * queries + 4 * all_queries;
    if (form->causal && sizes->queries == sizes->keys)
        moved->flops /= 2;
    else if (form->causal)
        moved->note = "causal, but numbers of keys and queries differ: counted in full, which is an upper limit";
}

bool ws_moved_attention(const struct ws_arguments_form *form, const struct ws_param_block *block,
                        const struct ws_shape *shape, struct ws_moved *moved)
{
    struct sizes sizes;
    if (block->image.first)
        return false;
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        if (!argument_attention_read_sizes(block, &layouts[i], shape, &form->attention, &sizes) ||
            has_lengths(block, &layouts[i]))
            continue;
        argument_attention_count(&form->attention, &sizes, moved);
        return true;
    }
    return false;
}
