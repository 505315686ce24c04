/* Matrix products that tensor cores could do and do not, or that they do slowly for their sizes.
 *
 * Tensor cores want what they load to lie at multiples of 16 bytes: 8 elements of 16 bits, 16 of fp8 and int8, 4 of
 * TF32, 2 of fp64. cuBLAS asks it of the size that lies in memory first of each of the three matrices, as it is or
 * transposed, and of leading dimensions and addresses (cuBLAS Library, "Tensor Core Usage"; NVIDIA, Matrix
 * Multiplication Background User's Guide, "Tensor Core Requirements", by which multiples of 128 bytes, 64 elements of
 * 16 bits, are best from the A100 on). Before version 11 cuBLAS did other products on ordinary cores, since then it
 * loads fewer bytes at a time. Which size lies first is known where a kernel's name tells which operands are
 * transposed; results are taken to lie as the caller's matrices do. Else all three sizes count. Where the name tells
 * the elements of a load, it is believed.
 *
 * What is to win, at most:
 * - of a product on ordinary cores: at the same share of the tensor cores' peak as it has now of the ordinary ones',
 * and no faster than memory allows;
 * - of one whose sizes are slow: at the rate that products of good sizes reach in this recording, of the same
 * precision and between half and twice the work; where there are none, at the roof. Where fp32 products are
 * multiplied as TF32 elsewhere in the recording, it is allowed, and what keeps others from it are sizes or the
 * library's choice. A product is slow for its sizes only below 70 % of that rate: the limit is ours.
 */
#ifndef WALLSHIM_ANALYSIS_PRODUCTS_H
#define WALLSHIM_ANALYSIS_PRODUCTS_H

#include "analysis/roofline.h"

enum ws_product_issue {
    WS_PRODUCT_FINE,
    WS_PRODUCT_NO_TF32,    /* fp32 on ordinary cores, though the chip has TF32, which nothing uses */
    WS_PRODUCT_MISSES,     /* on ordinary cores; sizes that tensor cores do not like */
    WS_PRODUCT_MISSES_FIT, /* on ordinary cores, though the sizes are good: leading dimensions, addresses, settings */
    WS_PRODUCT_SLOW,       /* slower than others, with sizes that tensor cores do not like */
    WS_PRODUCT_ISSUES
};

enum ws_product_judge { WS_JUDGED_BY_SHARE, WS_JUDGED_BY_ALIKE, WS_JUDGED_BY_ROOF };

struct ws_product_finding {
    enum ws_product_issue issue;
    enum ws_product_judge judge;
    double multiple; /* of elements, that sizes should be of */
    double m, n, k;  /* padded to that, those that matter; else as they are */
    double rate;     /* FLOPs a ns in reach */
    int64_t saving;  /* ns of a steady step, at most; of the recording where there are none */
};

/* Makes one row of those of the same sizes and precision, whatever operators they come from; times of steady steps
 * become those of one of so many (0: of the recording); longest first. */
void ws_products_sum_up(struct ws_vector *rows, size_t steps);

/* Finds what products of good sizes reach beside each, and whether some fp32 products are multiplied as TF32, so that
 * it is allowed. Returns 0 or -ENOMEM. */
int ws_products_compare(struct ws_track_roofline *result);

/* The GPU of the result must be known. */
struct ws_product_finding ws_product_judge(const struct ws_track_roofline *result, const struct ws_product_row *row);

const char *ws_product_issue_name(enum ws_product_issue issue); /* in JSON */
const char *ws_product_judge_name(enum ws_product_judge judge); /* in JSON */

#endif
