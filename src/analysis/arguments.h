/* What kernels move, from the blocks of their parameters.
 *
 * Names of kernels spell the types of their arrays, parameter blocks hold how many elements these have: the least
 * that such a kernel must move is each array once. An array that is read under two parameters counts once, one that
 * is read and written twice. Known are PyTorch's kernels of TensorIterator over contiguous arrays, and those over
 * rows in the table of arguments.c: norms and softmax. Where arrays may be broadcast, sliced or cast, or types are
 * not in the name (Triton's), nothing is claimed.
 */
#ifndef WALLSHIM_ANALYSIS_ARGUMENTS_H
#define WALLSHIM_ANALYSIS_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/chain_kernel.h"
#include "analysis/operators.h"

/* What a kernel's name says of its parameters. */
struct ws_arguments_form {
    const struct ws_row_kernel *rows; /* NULL: a kernel of TensorIterator */
    struct ws_iterator iterator;
    uint32_t arrays;                 /* 0: the name says nothing */
    uint8_t bytes[WS_OPERANDS_MOST]; /* of an element of each array, the output first; over rows: input, output */
    enum ws_element element;
    double flops; /* an element; 0: not known */
};

struct ws_arguments_form ws_arguments_form_of(const char *name);

/* What a launch with these parameters (an identifier) costs. Returns false where they do not say. */
bool ws_arguments_cost(const struct ws_arguments_form *form, const struct ws_process *process,
                       const struct ws_shape *shape, uint32_t params, struct ws_operator_cost *cost);

#endif
