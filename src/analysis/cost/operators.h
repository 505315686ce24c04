/* The cost of a framework's operators, from the types and sizes of their inputs.
 *
 * A multiply and an add count as two FLOPs, a function of one element (exp, rsqrt …) as one. Bytes are a lower limit:
 * every input is read once and every output written once; broadcast inputs are not repeated. The cost is not known if
 * the operator is not in the table or if the trace lacks the sizes of the operator's inputs.
 */
#ifndef WALLSHIM_ANALYSIS_COST_OPERATORS_H
#define WALLSHIM_ANALYSIS_COST_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/kernels/classify.h"
#include "hardware/gpu.h"
#include "model/tensors.h"

struct ws_operator;

/* In causal attention a query sees only earlier keys. If there are as many keys as queries, half of the FLOPs are
 * needed, and only these are counted (HALVED). Otherwise all FLOPs are counted (NOT_HALVED). */
enum ws_causal { WS_CAUSAL_UNKNOWN, WS_CAUSAL_NO, WS_CAUSAL_HALVED, WS_CAUSAL_NOT_HALVED };

struct ws_operator_cost {
    double flops;                           /* 0: not known */
    double bytes;                           /* 0: not known */
    double written;                         /* bytes written; `bytes` includes them; 0: not known */
    double intensity_most;                  /* upper limit of FLOPs per byte, if nothing else is known; else 0 */
    enum ws_element element;                /* type of a product's operands, else of the largest tensor */
    double m, n, k, batch;                  /* sizes of a GEMM; 0: not a GEMM */
    bool columns;                           /* the GEMM's matrices are column-major as in BLAS; false: row-major */
    double heads, queries, keys, head_size; /* sizes of attention, with `batch`; 0: not attention */
    bool backward;                          /* computes gradients */
    enum ws_causal causal;
    const char *note; /* assumptions made; NULL: none */
};

/* Returns the operator with this name, such as "aten::mm"; NULL: not in the table. */
const struct ws_operator *ws_operator_find(const char *name, size_t length);

/* Do kernels of this class do the operator's main work? Kernels of other classes only prepare or finish this work. */
bool ws_operator_is_done_by(const struct ws_operator *entry, enum ws_kernel_class class);

/* Returns false if the inputs do not give the cost. */
bool ws_operator_cost(const struct ws_operator *entry, const struct ws_tensor *tensors, size_t count,
                      struct ws_operator_cost *cost);

#endif
