/* Attention that is written as two matrix products with a softmax between them.
 *
 * The first product writes a matrix of scores, one for each query and key. Scaling, masks, the softmax and dropout
 * read and write the scores again, and the second product reads them. A fused kernel (FlashAttention, Dao et al.
 * 2022) keeps the scores on the chip. This saves all these bytes, and the time of the kernels between the products.
 * The two products become faster, too; by how much is not known.
 *
 * The search looks for this sequence on one stream: a GEMM, up to WS_UNFUSED_BETWEEN kernels, and another GEMM.
 * Exactly one kernel between the GEMMs is a softmax; the others may work on scores (pointwise, copies, dropout). If
 * the sizes of a product are known, both products must have the same batch size, above 1, and the second product must
 * sum over the rows or columns of the first product's result. So a classifier with a softmax is not taken for
 * attention. The backward pass has the same sequence, with the gradient of the softmax. A kernel between the GEMMs
 * counts if it moves at least half of the scores' bytes. If its bytes are not known, it counts unless it is a copy.
 * If no sizes are known, only names and order suggest attention. The sequence must then occur at least twice per
 * step, because a model has several layers but one loss.
 */
#ifndef WALLSHIM_ANALYSIS_ROOFLINE_UNFUSED_H
#define WALLSHIM_ANALYSIS_ROOFLINE_UNFUSED_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/cost/operators.h"
#include "base/vector.h"
#include "report/analysis.h"

enum { WS_UNFUSED_BETWEEN = 8, WS_UNFUSED_PATTERNS = 256 };

/* All occurrences with the same products and the same softmax kernel. If there are steady steps, only occurrences in
 * these count. */
struct ws_unfused {
    uint32_t softmax;                      /* index into ws_model.names */
    struct ws_operator_cost first, second; /* the products; all 0: not known */
    uint64_t count;
    int64_t between;  /* ns of the kernels that work on scores */
    int64_t products; /* ns of the two products */
    double bytes;     /* bytes of scores that are written and read; 0: not known */
    uint32_t example; /* index of the softmax of the first occurrence */
};

struct ws_track_unfused {
    struct ws_vector patterns; /* struct ws_unfused, longest time between the products first */
    size_t steps;              /* number of steady steps; 0: none */
};

extern const struct ws_analysis ws_analysis_unfused;

/* Are the sizes of the pattern known, or does it occur at least twice per step? Other patterns are too uncertain and
 * appear neither in the advice nor in JSON. */
bool ws_unfused_counts(const struct ws_track_unfused *result, const struct ws_unfused *pattern);

/* Would a fused attention kernel replace this product, or chains with this kernel? If so, no other advice is given on
 * them. */
bool ws_unfused_has_product(const struct ws_track_unfused *result, const struct ws_operator_cost *product);
bool ws_unfused_has_kernel(const struct ws_track_unfused *result, uint32_t name);

/* defined in unfused_report.c */
int ws_unfused_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);
int ws_unfused_advise(const struct ws_report *report, size_t subject, const void *result,
                      struct ws_advice_list *list);

#endif
