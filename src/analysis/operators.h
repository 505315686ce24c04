/* What a framework's operators cost, from the types and sizes of what they were given.
 *
 * FLOPs count a multiply and an add as two; a function of one element (exp, rsqrt …) counts as one. Bytes are the
 * least that must move: every input read once, every output written once, broadcast inputs not repeated. An
 * operator that is not in the table, or whose sizes the trace does not hold, costs nothing that we would know.
 */
#ifndef WALLSHIM_ANALYSIS_OPERATORS_H
#define WALLSHIM_ANALYSIS_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/classify.h"
#include "hardware/gpu.h"
#include "model/tensors.h"

struct ws_operator;

/* Does attention look at earlier keys only? Then half of the FLOPs are needed, where it is as long as it is wide. */
enum ws_causal { WS_CAUSAL_UNKNOWN, WS_CAUSAL_NO, WS_CAUSAL_HALVED, WS_CAUSAL_NOT_HALVED };

struct ws_operator_cost {
    double flops;            /* 0: not known */
    double bytes;            /* 0: not known */
    double written;          /* of these; 0: not known */
    double intensity_most;   /* FLOPs per byte at most, where neither is known but their ratio has a bound; else 0 */
    enum ws_element element; /* of what is multiplied, or of the first tensor */
    double m, n, k, batch;   /* of a matrix product; 0: it is none */
    bool columns;            /* its matrices lie in memory column by column, as BLAS has it; else row by row */
    double heads, queries, keys, head_size; /* of attention, and batch; 0: it is none */
    bool backward;                          /* its gradients */
    enum ws_causal causal;
    const char *note; /* what was taken for granted; NULL: nothing */
};

/* The operator of this name: "aten::mm"; NULL when the table has none. */
const struct ws_operator *ws_operator_find(const char *name, size_t length);

/* Do kernels of this class do the operator's work, rather than help with it? */
bool ws_operator_is_done_by(const struct ws_operator *entry, enum ws_kernel_class class);

/* Returns false where the inputs do not say. */
bool ws_operator_cost(const struct ws_operator *entry, const struct ws_tensor *tensors, size_t count,
                      struct ws_operator_cost *cost);

#endif
