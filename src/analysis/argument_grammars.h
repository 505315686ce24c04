/* The grammars of arguments.h: each reads names in one function and parameter blocks in another. */
#ifndef WALLSHIM_ANALYSIS_ARGUMENT_GRAMMARS_H
#define WALLSHIM_ANALYSIS_ARGUMENT_GRAMMARS_H

#include "analysis/arguments.h"
#include "analysis/kernel_types.h"
#include "analysis/param_block.h"

/* Where a piece of text ends in another; NULL where it is not in it. */
const char *ws_behind(const char *text, const char *part);

/* Is what begins at `at` the end of a longer word? That is another kernel: "masked_softmax_warp_forward". */
bool ws_goes_before(const char *name, const char *at);

/* The template arguments of the name that ends here. */
uint32_t ws_arguments_at(const char *at, bool mangled, struct ws_kernel_type types[WS_KERNEL_TYPES]);

/* What arrays a functor of TensorIterator takes, the output first, from its own spelling: at least so many bytes and
 * so many FLOPs an element. operands: how many arrays there are, 0: not known. Leaves the form without arrays where
 * the spelling does not say. */
void ws_read_functor(const char *functor, bool mangled, uint32_t operands, struct ws_arguments_form *form);

/* By the kernel's name; a form without arrays where it is none of theirs or does not say. */
struct ws_arguments_form ws_iterator_form(const char *name);
struct ws_arguments_form ws_rows_form(const char *name);
struct ws_arguments_form ws_reduce_form(const char *name);
struct ws_arguments_form ws_cat_form(const char *name);
struct ws_arguments_form ws_attention_form(const char *name);
struct ws_arguments_form ws_list_form(const char *name);

/* Add what a launch moves. Return false where the block does not say. */
typedef bool ws_moved_reader(const struct ws_arguments_form *form, const struct ws_param_block *block,
                             const struct ws_shape *shape, struct ws_moved *moved);
ws_moved_reader ws_moved_iterator, ws_moved_cast, ws_moved_strided, ws_moved_rows, ws_moved_reduce, ws_moved_cat,
    ws_moved_attention, ws_moved_list;

/* Does nothing where there are too many. */
void ws_moved_add(struct ws_moved *moved, uint64_t address, double bytes, bool written);

#endif
