/* Advice on GEMMs: precision, tensor cores, and aligned sizes. */
#include <stdio.h>

#include "analysis/kernels/classify.h"
#include "analysis/kernels/kernels.h"
#include "analysis/roofline/gemms.h"
#include "analysis/roofline/roofline_report.h"
#include "analysis/roofline/unfused.h"
#include "base/minmax.h"

/* There is no advice below these shares, in percent. WORTHWHILE_PERCENT: a GEMM's share of the time of all GEMMs.
 * FEW_ROWS_PERCENT: the share of a step's time that memory-bound matrix work takes. */
enum { WORTHWHILE_PERCENT = 1, FEW_ROWS_PERCENT = 20 };

static const char *why(const struct ws_gemm_finding *finding)
{
    return finding->issue == WS_GEMM_SLOW ? "as GEMMs of good sizes and as much work show"
                                          : "on tensor cores at the share of the peak that it has now";
}

static int advise_product(const struct ws_gemm_row *row, const struct ws_gemm_finding *finding, uint32_t track,
                          struct ws_advice_list *list)
{
    char what[200], evidence[200], where[80];
    if (finding->issue == WS_GEMM_MISSES_FIT)
        snprintf(what, sizeof(what),
                 "get the GEMM onto tensor cores: its sizes are good, so look at leading dimensions, addresses "
                 "(multiples of 16 bytes) and math settings");
    else
        snprintf(what, sizeof(what), "pad the GEMM to %.0f × %.0f × %.0f, multiples of %.0f", finding->m, finding->n,
                 finding->k, finding->multiple);
    snprintf(where, sizeof(where), "%.0f × %.0f × %.0f %s", row->cost.m, row->cost.n, row->cost.k,
             ws_precision_name(row->precision));
    snprintf(evidence, sizeof(evidence), "%.4g TFLOP/s now, %.4g in reach, %s", row->flops / (double)row->total / 1e3,
             finding->rate / 1e3, why(finding));
    struct ws_advice advice = { .name = finding->issue == WS_GEMM_SLOW ? "padding" : "tensor_cores",
                                .part = WS_PART_MATMUL,
                                .saving_ns = finding->saving,
                                .what = what,
                                .where = where,
                                .evidence = evidence,
                                .track = track };
    return ws_advice_add(list, &advice);
}

/* Returns the precision to advise for fp32 GEMMs on CUDA cores. WS_PRECISION_FP32 means no advice. On a GPU with
 * TF32, the advice is TF32, unless some GEMM already uses TF32. On any other GPU, the advice is fp16, if fp16 is
 * faster than fp32. */
static enum ws_precision faster_precision(const struct ws_track_roofline *result)
{
    const struct ws_gpu *gpu = &result->gpu;
    double fp32 = ws_gpu_peak(gpu, WS_PRECISION_FP32);
    if (gpu->flops_per_ns[WS_PRECISION_TF32][WS_CORES_TENSOR] > fp32)
        return result->uses_tf32 ? WS_PRECISION_FP32 : WS_PRECISION_TF32;
    return gpu->flops_per_ns[WS_PRECISION_FP16][WS_CORES_TENSOR] > fp32 ? WS_PRECISION_FP16 : WS_PRECISION_FP32;
}

/* Returns the ns saved if the fp32 kernel ran at `precision` and reached the same share of the peak FLOP rate as now.
 * The time at `precision` is at least the time that memory bandwidth requires. Only launches with known work
 * count. */
static double saved_by(const struct ws_track_roofline *result, const struct ws_roofline_row *row,
                       enum ws_precision precision)
{
    const struct ws_gpu *gpu = &result->gpu;
    double known = (double)row->known, share = precision == WS_PRECISION_FP16 ? 0.5 : 1;
    double least = known * ws_gpu_peak(gpu, WS_PRECISION_FP32) / ws_gpu_peak(gpu, precision);
    double memory = row->bytes * share / gpu->bytes_per_ns;
    least = ws_max(memory, least);
    return least < known ? (double)row->steady * (known - least) / (double)row->total : 0;
}

static int advise_precision(const struct ws_track_roofline *result, uint32_t track, struct ws_advice_list *list)
{
    static char by_tf32[] = "use tf32 (torch.set_float32_matmul_precision(\"high\")) where 10 bits of mantissa are "
                            "enough: tensor cores do not run fp32";
    static char by_fp16[] = "use fp16 (torch.autocast) where it is exact enough: tensor cores do not run fp32";
    const struct ws_roofline_row *rows = result->rows.data;
    enum ws_precision precision = faster_precision(result);
    char where[] = "", evidence[160], time[WS_FORMAT_SIZE];
    double saving = 0;
    int64_t ordinary = 0;
    for (size_t i = 0; i < result->rows.count && precision != WS_PRECISION_FP32; i++)
        if (rows[i].matmul.cores == WS_MATMUL_CORES_ORDINARY && rows[i].precision == WS_PRECISION_FP32 &&
            rows[i].flops > 0) {
            saving += saved_by(result, &rows[i], precision) / (result->steps ? (double)result->steps : 1);
            ordinary = ws_sum(ordinary, rows[i].steady);
        }
    if (!(saving >= 1))
        return 0;
    snprintf(evidence, sizeof(evidence), "%s%s of fp32 matrix work on ordinary cores, by the names of its kernels",
             ws_format_time(time, ordinary / (int64_t)(result->steps ? result->steps : 1)),
             result->steps ? " a step" : "");
    struct ws_advice advice = { .name = "precision",
                                .part = WS_PART_MATMUL,
                                .saving_ns = (int64_t)saving,
                                .what = precision == WS_PRECISION_TF32 ? by_tf32 : by_fp16,
                                .where = where,
                                .evidence = evidence,
                                .track = track };
    return ws_advice_add(list, &advice);
}

/* Gives advice on memory-bound matrix work in inference. Decoding multiplies each weight by few rows, so the time to
 * read the weights limits the speed. With larger batches, each read of a weight serves more requests. Weights of half
 * the size take half the time to read, so the advice names half of this time as the saving. The weights are small
 * already if the names of the kernels that take most of the time tell of elements with fewer than 16 bits. In that
 * case the advice is only on batches. */
static int advise_few_rows(const struct ws_report *report, size_t subject, const struct ws_track_roofline *result,
                           struct ws_advice_list *list)
{
    static char batches[] = "serve larger batches: memory limits products of few rows";
    static char fewer_bits[] =
        "serve larger batches, or quantise 16-bit weights to FP8 or INT4: memory limits products "
        "of few rows";
    const struct ws_roofline_row *rows = result->rows.data;
    int64_t limited = 0, quantised = 0, steps = (int64_t)(result->steps ? result->steps : 1);
    char evidence[160], time[WS_FORMAT_SIZE];
    if (ws_report_trains(report, subject))
        return 0;
    for (size_t i = 0; i < result->rows.count; i++)
        if (rows[i].class == WS_ROOF_MEMORY && ws_class_is_matmul(ws_report_class(report, rows[i].name))) {
            limited = ws_sum(limited, rows[i].steady);
            if (rows[i].matmul.element > 0 && rows[i].matmul.element < 2)
                quantised = ws_sum(quantised, rows[i].steady);
        }
    limited /= steps;
    quantised /= steps;
    if ((double)limited * 100 < result->step_length * FEW_ROWS_PERCENT)
        return 0;
    snprintf(evidence, sizeof(evidence),
             "%s%s of matrix work that memory limits; the saving is that of half the bytes",
             ws_format_time(time, limited), result->steps ? " a step" : "");
    return ws_advice_add(list, &(struct ws_advice){ .name = "few_rows",
                                                    .part = WS_PART_MATMUL,
                                                    .saving_ns = limited / 2,
                                                    .what = 2 * quantised > limited ? batches : fewer_bits,
                                                    .evidence = evidence,
                                                    .track = (uint32_t)subject });
}

int ws_roofline_advise(const struct ws_report *report, size_t subject, const void *memory,
                       struct ws_advice_list *list)
{
    const struct ws_track_roofline *result = memory;
    const struct ws_gemm_row *rows = result->gemms.data;
    const struct ws_track_unfused *unfused = ws_report_result(report, &ws_analysis_unfused, subject);
    int64_t matmul = 0;
    if (!result->match)
        return 0;
    int status = advise_precision(result, (uint32_t)subject, list);
    if (!status)
        status = advise_few_rows(report, subject, result, list);
    for (size_t i = 0; i < result->gemms.count; i++)
        matmul = ws_sum(matmul, rows[i].steady);
    for (size_t i = 0; i < result->gemms.count && !status; i++) {
        struct ws_gemm_finding finding = ws_gemm_judge(result, &rows[i]);
        if (ws_unfused_has_product(unfused, &rows[i].cost) || finding.issue == WS_GEMM_FINE ||
            finding.issue == WS_GEMM_NO_TF32 || finding.judge == WS_JUDGED_BY_ROOF ||
            rows[i].steady < matmul / 100 * WORTHWHILE_PERCENT)
            continue;
        status = advise_product(&rows[i], &finding, (uint32_t)subject, list);
    }
    return status;
}
