/* What kernels move, from the blocks of their parameters.
 *
 * Names of kernels spell the types of their arrays, parameter blocks hold how many elements these have: the least
 * that such a kernel must move is each array once, as many of its elements as are used. An array that is read under
 * two parameters counts once, one that is read and written twice. Each grammar below believes a block only where
 * everything in it fits together (and the grid with it): what does not claims nothing. Where types are neither in the
 * name nor in the block (Triton's), nothing is claimed.
 */
#ifndef WALLSHIM_ANALYSIS_ARGUMENTS_H
#define WALLSHIM_ANALYSIS_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/chain_kernel.h"
#include "analysis/operators.h"

enum ws_grammar {
    WS_GRAMMAR_NONE,      /* the name says nothing */
    WS_GRAMMAR_ITERATOR,  /* TensorIterator over contiguous arrays */
    WS_GRAMMAR_CAST,      /* the same, with elements cast as they are read or written: types are in the block */
    WS_GRAMMAR_STRIDED,   /* TensorIterator over broadcast, sliced or transposed arrays, by a table of strides */
    WS_GRAMMAR_ROWS,      /* norms, softmax … : argument_rows.c */
    WS_GRAMMAR_REDUCE,    /* TensorIterator's reductions: argument_reduce.c */
    WS_GRAMMAR_CAT,       /* arrays joined into one: argument_cat.c */
    WS_GRAMMAR_ATTENTION, /* FlashAttention-2: argument_attention.c */
    WS_GRAMMAR_LIST,      /* optimizers and others over lists of tensors: argument_lists.c */
};

/* What follows the numbers of elements in a structure of lists of tensors. */
enum ws_list_kind { WS_LIST_PLAIN, WS_LIST_SCALARS, WS_LIST_COUNTED, WS_LIST_APEX };

struct ws_attention_form {
    bool backward, causal;
    uint32_t head, block; /* elements of a head at most; queries of a block, in backward keys */
};

/* What a kernel's name says of its parameters. */
struct ws_arguments_form {
    enum ws_grammar grammar;
    const struct ws_row_kernel *row_kernel;
    struct ws_iterator iterator;
    uint32_t arrays; /* 0: the name says nothing; of GRAMMAR_STRIDED, where alike: not how many */
    uint32_t lists;  /* of GRAMMAR_LIST */
    enum ws_list_kind list_kind;
    struct ws_attention_form attention;
    bool optimizer;                  /* of PyTorch's: gradients are written too where the loss is scaled */
    uint8_t bytes[WS_OPERANDS_MOST]; /* of an element of each array, the output first; over rows: input, output */
    bool alike;                      /* all arrays are of the first one's type */
    bool casts;                      /* of GRAMMAR_STRIDED: types are in the block */
    enum ws_element element;
    double flops; /* an element; 0: not known */
};

struct ws_arguments_form ws_arguments_form_of(const char *name);

struct ws_moved_array {
    uint64_t address; /* 0: not known */
    double bytes;     /* of its elements that are used */
    bool written;
};

/* What a launch moves: its arrays, those that are written first. */
struct ws_moved {
    struct ws_moved_array array[WS_OPERANDS_MOST];
    uint32_t count;
    double more;      /* bytes of arrays that are not listed */
    double elements;  /* that are computed on */
    double flops;     /* beside those for each element */
    const char *note; /* what was taken for granted; NULL: nothing */
};

/* Returns false where a launch's parameters (an identifier) do not say. */
bool ws_arguments_moved(const struct ws_arguments_form *form, const struct ws_process *process,
                        const struct ws_shape *shape, uint32_t params, struct ws_moved *moved);

/* What a launch with these parameters costs. Returns false where they do not say. */
bool ws_arguments_cost(const struct ws_arguments_form *form, const struct ws_process *process,
                       const struct ws_shape *shape, uint32_t params, struct ws_operator_cost *cost);

/* As ws_operands_read, with how much each array holds where parameters say so. */
bool ws_arguments_operands(const struct ws_arguments_form *form, const struct ws_process *process,
                           const struct ws_shape *shape, uint32_t params, struct ws_operands *operands);

#endif
