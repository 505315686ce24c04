/* Finds attention that a program computes as two matrix products with a softmax between them.
 *
 * The first product writes a matrix of scores, one for each query and key. Scaling, masks, the softmax and dropout
 * read and write the scores again, and the second product reads them. A fused kernel (FlashAttention, Dao et al.
 * 2022) keeps the scores on the chip. The fused kernel saves the bytes of all these reads and writes of scores, and
 * the time of the kernels between the products. The two products become faster, too; this saving is not known and not
 * counted.
 *
 * The search looks for this sequence on one stream: a GEMM, up to WS_UNFUSED_BETWEEN kernels, and another GEMM.
 * Exactly one kernel between the GEMMs must be a softmax. All other kernels between them must be of a class that may
 * work on scores (pointwise, copies, dropout). If the sizes of a product are known, the two products must have the
 * same batch size, above 1, and the second product must sum over the rows or columns of the first product's result.
 * This rule excludes the sequence GEMM, softmax, GEMM of a classifier. The backward pass has the same sequence, with
 * the gradient of the softmax in place of the softmax. The time of a kernel between the GEMMs counts if the kernel
 * reads and writes at least half as many bytes as the scores have. If the bytes of such a kernel are not known, its
 * time counts unless it is a copy. If no sizes of the products are known, only names and order of kernels suggest
 * attention. In that case the sequence must occur at least twice per step: a model has several layers with attention,
 * but only one loss. */
#ifndef WALLSHIM_ANALYSIS_ROOFLINE_UNFUSED_H
#define WALLSHIM_ANALYSIS_ROOFLINE_UNFUSED_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/cost/operators.h"
#include "base/vector.h"
#include "report/analysis.h"

enum { WS_UNFUSED_BETWEEN = 8, WS_UNFUSED_PATTERNS = 256 };

/* All occurrences of attention with the same two matrix products and the same softmax kernel. If there are steady
 * steps, only occurrences in steady steps count. */
struct ws_unfused {
    uint32_t softmax;                      /* index in ws_model.names of the softmax kernel */
    struct ws_operator_cost first, second; /* sizes and cost of the two products; all fields 0: not known */
    uint64_t count;
    int64_t between;  /* ns of those kernels between the products that work on scores */
    int64_t products; /* ns of the two products */
    double bytes; /* bytes of scores that the products and the kernels between them write and read; 0: not known */
    uint32_t example; /* index in ws_process.ops of the softmax kernel of the first occurrence */
};

struct ws_track_unfused {
    struct ws_vector patterns; /* struct ws_unfused, longest time between the products first */
    size_t steps;              /* number of steady steps */
};

extern const struct ws_analysis ws_analysis_unfused;

/* Are the sizes of the pattern's products known, or does the pattern occur at least twice per step? All other
 * patterns are too uncertain and appear neither in the advice nor in JSON. */
bool ws_unfused_counts(const struct ws_track_unfused *result, const struct ws_unfused *pattern);

/* ws_unfused_has_product: would a fused attention kernel replace this matrix product? ws_unfused_has_kernel: is
 * `name` the softmax kernel of a pattern that ws_unfused_counts accepts? A fused attention kernel would then also
 * replace the chains (chains.h) that contain this softmax kernel. If the answer is yes, other analyses give no advice
 * on the product or the chains. */
bool ws_unfused_has_product(const struct ws_track_unfused *result, const struct ws_operator_cost *product);
bool ws_unfused_has_kernel(const struct ws_track_unfused *result, uint32_t name);

/* defined in unfused_report.c */
int ws_unfused_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);
int ws_unfused_advise(const struct ws_report *report, size_t subject, const void *result,
                      struct ws_advice_list *list);

#endif
