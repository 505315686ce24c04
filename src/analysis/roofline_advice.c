/* Advice on matrix products: precision, and sizes that tensor cores like. */
#include <stdio.h>
#include <string.h>

#include "analysis/roofline.h"
#include "analysis/roofline_report.h"

/* A size that is no multiple of 16 bytes is what tensor cores are slower with (NVIDIA, Matrix Multiplication
 * Background User's Guide: "Tensor Core Requirements"). Advice is given where a product reaches less than 70 % of
 * what products of good sizes reach in the same recording: that limit is ours. */
enum { ALIGNED_BYTES = 16, MUCH_LESS_PERCENT = 70 };

static double rate_of(const struct ws_product_row *row)
{
    return row->total > 0 ? row->flops / (double)row->total : 0;
}

static double multiple_of(enum ws_precision precision)
{
    return ALIGNED_BYTES * 8.0 / ws_precision_bits(precision);
}

static double padded(double size, double multiple)
{
    double rest = size - multiple * (double)(int64_t)(size / multiple);
    return rest > 0 ? size + multiple - rest : size;
}

/* Work with every size padded, over the work as it is. */
static double padding_of(const struct ws_product_row *row)
{
    double multiple = multiple_of(row->precision);
    const struct ws_operator_cost *cost = &row->cost;
    return padded(cost->m, multiple) / cost->m * padded(cost->n, multiple) / cost->n * padded(cost->k, multiple) /
           cost->k;
}

/* A matrix and a vector: no tensor core helps. */
static bool is_product_of_matrices(const struct ws_product_row *row)
{
    return row->cost.m > 1 && row->cost.n > 1 && row->cost.k > 1;
}

/* What products of good sizes reach of the same precision and at least half the work; 0: there are none. */
static double rate_of_good_sizes(const struct ws_track_roofline *result, const struct ws_product_row *like)
{
    const struct ws_product_row *rows = result->products.data;
    double best = 0, work = like->flops / (double)like->count;
    for (size_t i = 0; i < result->products.count; i++)
        if (rows[i].precision == like->precision && padding_of(&rows[i]) <= 1 && rate_of(&rows[i]) > best &&
            rows[i].flops / (double)rows[i].count >= work / 2 && rows[i].flops / (double)rows[i].count <= work * 2)
            best = rate_of(&rows[i]);
    return best;
}

/* What the padded product could reach: as much as good sizes do, or what memory allows. */
static double rate_in_reach(const struct ws_track_roofline *result, const struct ws_product_row *row)
{
    double good = rate_of_good_sizes(result, row);
    double memory = row->cost.bytes > 0 ? row->cost.flops / row->cost.bytes * result->gpu.bytes_per_ns : 0;
    return memory < good ? memory : good;
}

static int advise_padding(const struct ws_track_roofline *result, const struct ws_product_row *row, uint32_t track,
                          struct ws_advice_list *list)
{
    char what[200], evidence[200], where[80];
    double multiple = multiple_of(row->precision), padding = padding_of(row), good = rate_in_reach(result, row);
    double rate = rate_of(row);
    if (padding <= 1 || !(good > 0) || rate * padding >= good * MUCH_LESS_PERCENT / 100)
        return 0;
    snprintf(what, sizeof(what), "pad the product to %.0f × %.0f × %.0f, multiples of %.0f",
             padded(row->cost.m, multiple), padded(row->cost.n, multiple), padded(row->cost.k, multiple), multiple);
    snprintf(where, sizeof(where), "%.0f × %.0f × %.0f %s", row->cost.m, row->cost.n, row->cost.k,
             ws_precision_name(row->precision));
    snprintf(evidence, sizeof(evidence),
             "%.4g TFLOP/s now, %.4g in reach, as products of good sizes and as much work show", rate / 1e3,
             good / 1e3);
    struct ws_advice advice = { .name = "padding",
                                .part = WS_PART_MATMUL,
                                .saving_ns = (int64_t)((double)row->steady * (1 - rate * padding / good)),
                                .what = what,
                                .where = where,
                                .evidence = evidence,
                                .track = track };
    return ws_advice_add(list, &advice);
}

/* The least that a product can take at TF32, where it runs at fp32 now. */
static double saved_by_tf32(const struct ws_gpu *gpu, const struct ws_product_row *row)
{
    double fp32 = ws_gpu_peak(gpu, WS_PRECISION_FP32), tf32 = ws_gpu_peak(gpu, WS_PRECISION_TF32);
    double memory = gpu->bytes_per_ns > 0 ? row->cost.bytes * (double)row->count / gpu->bytes_per_ns : 0;
    double least = (double)row->total * fp32 / tf32;
    if (least < memory)
        least = memory;
    return least < (double)row->total ? 1 - least / (double)row->total : 0;
}

static int advise_tf32(const struct ws_track_roofline *result, uint32_t track, struct ws_advice_list *list)
{
    const struct ws_product_row *rows = result->products.data;
    char what[] = "let fp32 products run as TF32 where its 10 bits of mantissa are enough: "
                  "torch.set_float32_matmul_precision(\"high\")";
    char where[] = "", evidence[120];
    double saving = 0;
    size_t sizes = 0;
    if (ws_gpu_peak(&result->gpu, WS_PRECISION_TF32) <= ws_gpu_peak(&result->gpu, WS_PRECISION_FP32))
        return 0;
    for (size_t i = 0; i < result->products.count; i++)
        if (rows[i].precision == WS_PRECISION_FP32 && is_product_of_matrices(&rows[i])) {
            saving += (double)rows[i].steady * saved_by_tf32(&result->gpu, &rows[i]);
            sizes++;
        }
    if (!(saving >= 1))
        return 0;
    snprintf(evidence, sizeof(evidence), "%zu sizes of fp32 products run without tensor cores", sizes);
    struct ws_advice advice = { .name = "precision",
                                .part = WS_PART_MATMUL,
                                .saving_ns = (int64_t)saving,
                                .what = what,
                                .where = where,
                                .evidence = evidence,
                                .track = track };
    return ws_advice_add(list, &advice);
}

int ws_roofline_advise(const struct ws_report *report, size_t subject, const void *memory,
                       struct ws_advice_list *list)
{
    const struct ws_track_roofline *result = memory;
    const struct ws_product_row *rows = result->products.data;
    int64_t matmul = 0;
    (void)report;
    int status = result->match ? advise_tf32(result, (uint32_t)subject, list) : 0;
    for (size_t i = 0; i < result->products.count; i++)
        matmul += rows[i].steady;
    /* Ordinary cores do not mind sizes. */
    for (size_t i = 0; i < result->products.count && !status; i++)
        if (is_product_of_matrices(&rows[i]) && rows[i].precision != WS_PRECISION_FP32 &&
            rows[i].precision != WS_PRECISION_FP64 && rows[i].steady >= matmul / 100)
            status = advise_padding(result, &rows[i], (uint32_t)subject, list);
    return status;
}
