/* The bytes that a launch moves (reads and writes), derived from its parameter block (the recorded bytes of its
 * parameters).
 *
 * The kernel's name gives the types of the kernel's arrays. The parameter block gives the number of elements of each
 * array. The kernel must move each used element of each array at least once. If two parameters are the same read-only
 * array, the array counts once. An array that is read and written counts twice. Each grammar below (a family of
 * kernels with the same layout of parameters) accepts a parameter block only if the block's numbers agree with each
 * other and with the grid. If no grammar accepts the block, the cost of the launch is not known. The cost is also not
 * known if neither the kernel's name nor the block gives the types of the arrays, as in Triton's kernels. */
#ifndef WALLSHIM_ANALYSIS_COST_ARGUMENTS_H
#define WALLSHIM_ANALYSIS_COST_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/cost/chain_kernel.h"
#include "analysis/cost/operators.h"

enum ws_grammar {
    WS_GRAMMAR_NONE,      /* the kernel's name gives no types of arrays */
    WS_GRAMMAR_ITERATOR,  /* TensorIterator over contiguous arrays */
    WS_GRAMMAR_CAST,      /* like ITERATOR, but elements are cast; the parameter block holds the types */
    WS_GRAMMAR_STRIDED,   /* TensorIterator over broadcast, sliced or transposed arrays, with a table of strides */
    WS_GRAMMAR_ROWS,      /* kernels that work on rows, such as norms and softmax: argument_rows.c */
    WS_GRAMMAR_REDUCE,    /* TensorIterator's reductions: argument_reduce.c */
    WS_GRAMMAR_CAT,       /* concatenation: argument_cat.c */
    WS_GRAMMAR_ATTENTION, /* FlashAttention-2: argument_attention.c */
    WS_GRAMMAR_LIST,      /* optimizers and others that work on lists of tensors: argument_lists.c */
};

/* Kinds of parameter structures of list kernels (argument_lists.c). After the element counts, PLAIN has nothing,
 * SCALARS has a scalar per tensor, and COUNTED has the address of a counter per tensor. APEX is the structure of
 * apex, which has nothing after the element counts. */
enum ws_list_kind { WS_LIST_PLAIN, WS_LIST_SCALARS, WS_LIST_COUNTED, WS_LIST_APEX };

struct ws_attention_form {
    bool backward, causal;
    uint32_t head, block; /* largest head size; queries (in the backward pass: keys) per thread block */
};

/* Facts about a kernel's parameters, read from the kernel's name. */
struct ws_arguments_form {
    enum ws_grammar grammar;
    const struct ws_row_kernel *row_kernel;
    struct ws_iterator iterator;
    /* number of arrays, or for GRAMMAR_LIST the number of arrays read plus the number written; 0: the name does not
     * give it; ignored for GRAMMAR_STRIDED if `alike` is set */
    uint32_t arrays;
    uint32_t lists; /* for GRAMMAR_LIST: number of lists of tensors */
    enum ws_list_kind list_kind;
    struct ws_attention_form attention;
    bool optimizer; /* an optimizer of PyTorch, which also writes the gradients if the loss is scaled */
    /* element sizes of the arrays in bytes, the output first; for GRAMMAR_ROWS: of the input, then of the output */
    uint8_t bytes[WS_OPERANDS_MOST];
    bool alike; /* all arrays have the same type; for GRAMMAR_REDUCE: all outputs have the same type */
    /* for GRAMMAR_STRIDED: the kernel casts elements, and the parameter block holds the types of the arrays */
    bool casts;
    enum ws_element element;
    double flops; /* FLOPs per element; 0: not known */
};

struct ws_arguments_form ws_arguments_form_of(const char *name);

struct ws_moved_array {
    uint64_t address; /* device address of the array; 0: not known */
    double bytes;     /* bytes of the elements that the kernel uses, each element counted once */
    bool written;
};

/* The arrays that a launch moves, written arrays first. */
struct ws_moved {
    struct ws_moved_array array[WS_OPERANDS_MOST];
    uint32_t count;
    double more;      /* bytes of arrays that `array` does not list */
    double elements;  /* number of elements that the kernel computes on */
    double flops;     /* FLOPs in addition to `elements` × ws_arguments_form.flops */
    const char *note; /* assumptions behind the figures, for the report; NULL: none */
};

/* Computes the cost (bytes moved and FLOPs) of a launch. `params` is the id of the launch's parameters in the trace.
 * Returns false if the parameters do not give the cost. */
bool ws_arguments_cost(const struct ws_arguments_form *form, const struct ws_process *process,
                       const struct ws_shape *shape, uint32_t params, struct ws_operator_cost *cost);

/* Finds the device addresses among the parameters of a launch, as ws_operands_read does. Also writes the size of each
 * array to operands->bytes if the parameters give the sizes. */
bool ws_arguments_operands(const struct ws_arguments_form *form, const struct ws_process *process,
                           const struct ws_shape *shape, uint32_t params, struct ws_operands *operands);

#endif
