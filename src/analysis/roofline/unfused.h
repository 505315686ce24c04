/* Attention that is written as two matrix products with a softmax between them.
 *
 * The first product writes a matrix of scores, one for each query and key. Scaling, masks, the softmax and dropout
 * read and write it again, and the second product reads it. A fused kernel (FlashAttention, Dao et al. 2022) keeps
 * the scores on the chip: all these bytes are saved, and so is the time of the kernels between the products. The two
 * products become faster, too, but by how much is not known.
 *
 * On one stream, a GEMM, then exactly one softmax and at most WS_UNFUSED_BETWEEN other kernels that may work on
 * scores (pointwise, copies, dropout), then a GEMM. If the sizes of both products are known, they must fit: the same
 * batch of more than one, and the second product sums over queries or keys of the first one's result. So a classifier
 * with a softmax is not taken for attention. The backward pass has the same form, with the gradient of the softmax. A
 * kernel between counts if it moves at least half of the scores' bytes. If no sizes are known, names and order alone
 * suggest attention, at least twice a step, since a model has several layers but one loss.
 */
#ifndef WALLSHIM_ANALYSIS_ROOFLINE_UNFUSED_H
#define WALLSHIM_ANALYSIS_ROOFLINE_UNFUSED_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/cost/operators.h"
#include "base/vector.h"
#include "report/analysis.h"

enum { WS_UNFUSED_BETWEEN = 8, WS_UNFUSED_PATTERNS = 256 };

/* Occurrences with the same products and the same softmax kernel, in steady steps, or in the recording if there are
 * none. */
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

/* Is the pattern more than a suspicion by names? Patterns that are not get neither advice nor a place in JSON. */
bool ws_unfused_counts(const struct ws_track_unfused *result, const struct ws_unfused *pattern);

/* Would fusion replace this product, or chains with this kernel? There is no other advice on them then. */
bool ws_unfused_has_product(const struct ws_track_unfused *result, const struct ws_operator_cost *product);
bool ws_unfused_has_kernel(const struct ws_track_unfused *result, uint32_t name);

/* defined in unfused_report.c */
int ws_unfused_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);
int ws_unfused_advise(const struct ws_report *report, size_t subject, const void *result,
                      struct ws_advice_list *list);

#endif
