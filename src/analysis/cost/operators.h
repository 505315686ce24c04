/* The cost of a framework's operators, from the types and sizes of their inputs.
 *
 * A multiply and an add count as two FLOPs, a function of one element (exp, rsqrt …) as one. Bytes are a lower limit:
 * every input is read once and every output written once; an input that is broadcast also counts only once. The cost
 * is not known if the table of operators (operators.c) lacks the operator, or if the trace lacks the sizes of the
 * operator's inputs. */
#ifndef WALLSHIM_ANALYSIS_COST_OPERATORS_H
#define WALLSHIM_ANALYSIS_COST_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/kernels/classify.h"
#include "hardware/gpu.h"
#include "model/tensors.h"

struct ws_operator;

/* In causal attention a query sees only earlier keys. If there are as many keys as queries, only half of the FLOPs
 * are needed, and only this half is counted (HALVED). If the numbers differ, all FLOPs are counted (NOT_HALVED). */
enum ws_causal { WS_CAUSAL_UNKNOWN, WS_CAUSAL_NO, WS_CAUSAL_HALVED, WS_CAUSAL_NOT_HALVED };

struct ws_operator_cost {
    double flops;          /* FLOPs per call of the operator; 0: not known */
    double bytes;          /* bytes read and written per call; 0: not known */
    double written;        /* bytes written; `bytes` includes them; 0: not known */
    double intensity_most; /* upper limit of FLOPs per byte, if `flops` is not known; else 0 */
    /* element type of the operands of a matrix product; for other operators, of the largest tensor */
    enum ws_element element;
    double m, n, k, batch;                  /* sizes of a GEMM; 0: not a GEMM */
    bool columns;                           /* the GEMM's matrices are column-major as in BLAS; false: row-major */
    double heads, queries, keys, head_size; /* sizes of attention, in addition to `batch`; 0: not attention */
    bool backward;                          /* the operator computes gradients */
    enum ws_causal causal;
    const char *note; /* assumptions behind the figures, for the report; NULL: none */
};

/* Returns the operator with this name, such as "aten::mm"; NULL: the table of operators (operators.c) lacks it. */
const struct ws_operator *ws_operator_find(const char *name, size_t length);

/* Do kernels of this class do the operator's main work? Kernels of all other classes only prepare or finish the main
 * work. */
bool ws_operator_is_done_by(const struct ws_operator *entry, enum ws_kernel_class class);

/* Computes the cost of a call of the operator from its inputs. Returns false if the inputs do not give the cost. */
bool ws_operator_cost(const struct ws_operator *entry, const struct ws_tensor *tensors, size_t count,
                      struct ws_operator_cost *cost);

#endif
