/* Functions for the grammars (enum ws_grammar). A grammar is a family of kernels whose parameters have the same
 * layout. For each grammar, one function reads kernel names, and another reads parameter blocks (the bytes of a
 * kernel's parameters). */
#ifndef WALLSHIM_ANALYSIS_COST_ARGUMENT_GRAMMARS_H
#define WALLSHIM_ANALYSIS_COST_ARGUMENT_GRAMMARS_H

#include "analysis/cost/arguments.h"
#include "analysis/cost/kernel_types.h"
#include "analysis/cost/param_block.h"

/* Returns the text after the first `part` in `text`; NULL: not found. */
const char *ws_behind(const char *text, const char *part);

/* `at` points to a kernel's name inside `name`. Does the identifier that contains this text begin before `at`? If so,
 * the identifier is the name of another kernel: "masked_softmax_warp_forward" is not "softmax_warp_forward". */
bool ws_goes_before(const char *name, const char *at);

/* Reads the types of the template arguments. `at` points to the start of the arguments, after the kernel's name.
 * Returns the number of types. */
uint32_t ws_arguments_at(const char *at, bool mangled, struct ws_kernel_type types[WS_KERNEL_TYPES]);

/* Reads a TensorIterator functor: the element sizes of the kernel's arrays, the output first, and the FLOPs per
 * element. `operands` is the number of arrays, 0: not known. If the functor does not give the arrays' types,
 * form->arrays stays 0. */
void ws_read_functor(const char *functor, bool mangled, uint32_t operands, struct ws_arguments_form *form);

/* Each function reads a kernel's name. In the result, `arrays` is 0 if the name belongs to another grammar, or does
 * not give the types of the arrays. */
struct ws_arguments_form ws_iterator_form(const char *name);
struct ws_arguments_form ws_dictionary_form(const char *name);
struct ws_arguments_form ws_reduce_form(const char *name);
struct ws_arguments_form ws_cat_form(const char *name);
struct ws_arguments_form ws_attention_form(const char *name);
struct ws_arguments_form ws_list_form(const char *name);

/* Each function of this type adds to `moved` the arrays and bytes that a launch moves. Returns false if the parameter
 * block (the bytes of the launch's parameters) does not give these arrays and bytes. */
typedef bool ws_moved_reader(const struct ws_arguments_form *form, const struct ws_param_block *block,
                             const struct ws_shape *shape, struct ws_moved *moved);
ws_moved_reader ws_moved_iterator, ws_moved_cast, ws_moved_strided, ws_moved_rows, ws_moved_reduce, ws_moved_cat,
    ws_moved_attention, ws_moved_list;

/* Adds an array to `moved`. Does nothing if `moved` has WS_OPERANDS_MOST arrays already. */
void ws_moved_add(struct ws_moved *moved, uint64_t address, double bytes, bool written);

#endif
