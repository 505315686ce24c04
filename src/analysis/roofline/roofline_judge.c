#include "analysis/roofline/roofline_judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kernels/classify.h"
#include "base/minmax.h"

enum { SHORT_NS = 10000, ROOF_SLACK_PERCENT = 105, LATENCY_PERCENT = 20 };

/* Tells whether kernels of this class do little arithmetic per byte, whatever their sizes. */
static bool moves_only(enum ws_kernel_class class)
{
    switch (class) {
    case WS_CLASS_POINTWISE:
    case WS_CLASS_REDUCTION:
    case WS_CLASS_NORM:
    case WS_CLASS_SOFTMAX:
    case WS_CLASS_EMBEDDING:
    case WS_CLASS_OPTIMIZER:
    case WS_CLASS_COPY:
    case WS_CLASS_SORT:
    case WS_CLASS_RNG:
        return true;
    default:
        return false;
    }
}

/* Do kernels of this name do too little arithmetic to reach the ridge (the arithmetic intensity at which peak and
 * bandwidth limit equally) of any GPU? */
static bool is_below_any_ridge(const struct ws_roofline_row *row, enum ws_kernel_class class)
{
    return moves_only(class) || row->matmul.vector;
}

static bool roofline_judge_exceeds(double share, int percent)
{
    return share > percent / 100.0;
}

bool ws_roofline_is_impossible(const struct ws_track_roofline *result)
{
    double peak = ws_gpu_peak(&result->gpu, result->precision), limit = ws_gpu_limit(&result->gpu, result->precision);
    return roofline_judge_exceeds(result->matmul_of_peak * peak / limit, ROOF_SLACK_PERCENT);
}

/* Returns the roofline class of a kernel whose work is known. Also sets the roof that limits the kernel, and the
 * share of each roof that the kernel reaches. */
static enum ws_roof_class class_by_work(const struct ws_gpu *gpu, struct ws_roofline_row *row,
                                        enum ws_kernel_class class)
{
    double peak = ws_gpu_peak(gpu, row->precision), ridge = ws_gpu_ridge(gpu, row->precision);
    if (!(ridge > 0) || (row->known <= 0 && row->bounded <= 0))
        return WS_ROOF_UNKNOWN;
    if (row->known <= 0 || (!row->flops && !row->bytes))
        return row->intensity_most > 0 && row->intensity_most < ridge ? WS_ROOF_MEMORY : WS_ROOF_UNKNOWN;
    row->of_compute = row->flops / (double)row->known / peak;
    row->of_memory = row->bytes / (double)row->known / gpu->bytes_per_ns;
    double a_launch = row->bytes / (double)row->known_count;
    row->cached = roofline_judge_exceeds(row->of_memory, ROOF_SLACK_PERCENT) && a_launch < gpu->l2_mib * 1048576.0;
    double longest = (double)row->known / ((double)row->known + row->unsure);
    double of_limit = row->of_compute * peak / ws_gpu_limit(gpu, row->precision);
    double of_bandwidth = row->of_memory * gpu->bytes_per_ns / ws_gpu_bandwidth_limit(gpu);
    row->inconsistent = roofline_judge_exceeds(of_limit * longest, ROOF_SLACK_PERCENT) ||
                        (roofline_judge_exceeds(of_bandwidth * longest, ROOF_SLACK_PERCENT) && !row->cached);
    /* Hardware counters do not count bytes that the L2 cache serves, so the arithmetic intensity seems too high.
     * Therefore a kernel with little arithmetic is never called compute-bound by its counters. */
    row->by_compute = row->flops >= row->bytes * ridge && !(row->source == WS_WORK_COUNTER && moves_only(class));
    if (!row->flops && !moves_only(class))
        return WS_ROOF_UNKNOWN;
    bool is_small = row->total / (int64_t)row->count < SHORT_NS || 2 * row->small > row->total;
    if (is_small && !roofline_judge_exceeds(row->by_compute ? row->of_compute : row->of_memory, LATENCY_PERCENT))
        return WS_ROOF_LATENCY;
    return row->by_compute ? WS_ROOF_COMPUTE : WS_ROOF_MEMORY;
}

/* Finds the lowest and the highest ridge (FLOPs per byte) of all known GPUs at this precision. */
static void find_ridges(enum ws_precision precision, double *least, double *most)
{
    size_t count;
    const struct ws_gpu *gpus = ws_gpu_table(&count);
    *least = *most = 0;
    for (size_t i = 0; i < count; i++) {
        double ridge = ws_gpu_ridge(&gpus[i], precision);
        if (ridge > 0 && (!(*least > 0) || ridge < *least))
            *least = ridge;
        *most = ws_max(*most, ridge);
    }
}

/* Returns the class of a kernel on an unknown GPU: the class that its work would have on every known GPU. Short
 * kernels get no class, because without the GPU's roofs it is not known whether they are latency-bound. */
static enum ws_roof_class class_on_any_gpu(struct ws_roofline_row *row)
{
    double least, most;
    find_ridges(row->precision, &least, &most);
    if (row->total / (int64_t)row->count < SHORT_NS)
        return WS_ROOF_UNKNOWN;
    if (!(row->flops > 0 && row->bytes > 0))
        return row->intensity_most > 0 && row->intensity_most < least ? WS_ROOF_MEMORY : WS_ROOF_UNKNOWN;
    row->by_compute = row->flops > row->bytes * most;
    if (row->by_compute)
        return WS_ROOF_COMPUTE;
    return row->flops < row->bytes * least ? WS_ROOF_MEMORY : WS_ROOF_UNKNOWN;
}

static enum ws_roof_class roofline_judge_judge(const struct ws_track_roofline *result, struct ws_roofline_row *row,
                                               enum ws_kernel_class class)
{
    if (class == WS_CLASS_COMM)
        return WS_ROOF_COMMUNICATION;
    if (row->source != WS_WORK_NONE && (result->match != WS_GPU_UNKNOWN || !is_below_any_ridge(row, class)))
        return result->match == WS_GPU_UNKNOWN ? class_on_any_gpu(row) : class_by_work(&result->gpu, row, class);
    if (!is_below_any_ridge(row, class) || row->total / (int64_t)row->count < SHORT_NS)
        return WS_ROOF_UNKNOWN;
    if (row->source == WS_WORK_NONE)
        row->source = WS_WORK_NAME;
    return WS_ROOF_MEMORY;
}

/* Returns the ns of the launches that the kernel's class covers. A class from hardware counters covers all launches,
 * because the few launches with counters represent all other launches of the kernel. If a kernel with little
 * arithmetic per byte is memory-bound, this class covers all of its launches too. */
static int64_t classed_of(const struct ws_roofline_row *row, enum ws_kernel_class class)
{
    if (row->class == WS_ROOF_UNKNOWN)
        return 0;
    if (row->class == WS_ROOF_COMMUNICATION || row->source == WS_WORK_COUNTER ||
        (row->class == WS_ROOF_MEMORY && is_below_any_ridge(row, class)))
        return row->total;
    return ws_min(row->class == WS_ROOF_MEMORY ? ws_sum(row->known, row->bounded) : row->known, row->total);
}

static void add_to_classes(struct ws_track_roofline *result, const struct ws_roofline_row *row)
{
    double share = row->total > 0 ? (double)row->classed / (double)row->total : 0;
    int64_t steady = row->classed == row->total ? row->steady : (int64_t)(share * (double)row->steady);
    result->by_class[row->class] = ws_sum(result->by_class[row->class], row->classed);
    result->by_class[WS_ROOF_UNKNOWN] = ws_sum(result->by_class[WS_ROOF_UNKNOWN], row->total - row->classed);
    result->step_by_class[row->class] = ws_sum(result->step_by_class[row->class], steady);
    result->step_by_class[WS_ROOF_UNKNOWN] = ws_sum(result->step_by_class[WS_ROOF_UNKNOWN], row->steady - steady);
}

static int longest_row(const void *a, const void *b)
{
    const struct ws_roofline_row *x = a, *y = b;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    return (x->name > y->name) - (x->name < y->name);
}

/* Returns the precision to assume if the FLOPs of no matrix kernel are known. The report shows the peak of this
 * precision. */
static enum ws_precision usual_precision(const struct ws_gpu *gpu)
{
    static const enum ws_precision usual[] = { WS_PRECISION_BF16, WS_PRECISION_FP16, WS_PRECISION_TF32 };
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        if (ws_gpu_peak(gpu, usual[i]) > 0)
            return usual[i];
    return WS_PRECISION_FP32;
}

static void add_to_matmuls(struct ws_track_roofline *result, const struct ws_roofline_row *row)
{
    int64_t known = row->flops > 0 ? row->known : 0;
    result->matmul_flops += row->flops;
    result->matmul_known = ws_sum(result->matmul_known, known);
    result->matmul_total = ws_sum(result->matmul_total, row->total);
    result->matmul_in_graphs = ws_sum(result->matmul_in_graphs, row->in_graphs);
    result->matmul_by_cores[row->matmul.cores] = ws_sum(result->matmul_by_cores[row->matmul.cores], row->total);
    result->matmul_of_peak += row->of_compute * (double)known;
}

/* Divides the times of the classes (result->step_by_class) by the number of steady steps. Rounds these quotients so
 * that they add up to the rounded quotient of their sum. */
static void divide_among_steps(struct ws_track_roofline *result)
{
    int64_t so_far = 0, steps = result->steps ? (int64_t)result->steps : 1;
    for (int i = 0; i < WS_ROOF_CLASS_COUNT; i++) {
        int64_t before = so_far / steps;
        so_far = ws_sum(so_far, result->step_by_class[i]);
        result->step_by_class[i] = so_far / steps - before;
    }
    result->step_total = so_far / steps;
}

enum ws_precision ws_roofline_precision(enum ws_element element, const char *kernel)
{
    switch (element) {
    case WS_ELEMENT_FP64:
        return WS_PRECISION_FP64;
    case WS_ELEMENT_FP16:
        return WS_PRECISION_FP16;
    case WS_ELEMENT_BF16:
        return WS_PRECISION_BF16;
    case WS_ELEMENT_FP8:
        return WS_PRECISION_FP8;
    case WS_ELEMENT_INT8:
        return WS_PRECISION_INT8;
    default:
        return strstr(kernel, "tf32") || strstr(kernel, "TF32") || strstr(kernel, "s1688") ? WS_PRECISION_TF32
                                                                                           : WS_PRECISION_FP32;
    }
}

int ws_roofline_judge(const struct ws_report *report, struct ws_roofline_row *rows, struct ws_track_roofline *result)
{
    double flops[WS_PRECISION_COUNT] = { 0 };
    for (size_t i = 0; i < report->model->names.count; i++) {
        struct ws_roofline_row *row = &rows[i];
        if (!row->count)
            continue;
        enum ws_kernel_class class = ws_report_class(report, i);
        row->class = roofline_judge_judge(result, row, class);
        result->total = ws_sum(result->total, row->total);
        if (row->class == WS_ROOF_UNKNOWN && row->source == WS_WORK_TOKENS) {
            /* the step has so many tokens that memory need not be the limit, so the number of tokens gives no
             * class */
            row->source = WS_WORK_NONE;
            row->note = NULL;
        }
        row->classed = classed_of(row, class);
        add_to_classes(result, row);
        if (ws_class_is_matmul(class))
            flops[row->precision] += row->flops;
        if (ws_class_is_matmul(class))
            add_to_matmuls(result, row);
        struct ws_roofline_row *kept = ws_vector_push(&result->rows);
        if (!kept)
            return -ENOMEM;
        *kept = *row;
    }
    if (result->matmul_known > 0)
        result->matmul_of_peak /= (double)result->matmul_known;
    divide_among_steps(result);
    /* If the FLOPs of no matrix kernel are known, the usual precision is assumed. If the kernels' names tell that
     * most matrix work runs on CUDA cores, fp32 is assumed instead. */
    bool ordinary = result->matmul_by_cores[WS_MATMUL_CORES_ORDINARY] > result->matmul_total / 2;
    result->precision = ordinary && ws_gpu_peak(&result->gpu, WS_PRECISION_FP32) > 0 ? WS_PRECISION_FP32
                                                                                     : usual_precision(&result->gpu);
    for (int i = 0; i < WS_PRECISION_COUNT; i++)
        if (flops[i] > flops[result->precision])
            result->precision = (enum ws_precision)i;
    if (result->rows.count)
        qsort(result->rows.data, result->rows.count, sizeof(struct ws_roofline_row), longest_row);
    return 0;
}

void ws_roofline_count_steps(const struct ws_track_steps *all, const struct ws_track_activity *activity,
                             struct ws_track_roofline *result)
{
    double steps = result->steps ? (double)result->steps : 1;
    double peak = result->match ? ws_gpu_peak(&result->gpu, result->precision) : 0;
    result->step_length = (double)(result->steps ? all->mean : ws_activity_known(activity));
    for (int i = 0; i < WS_WORK_SOURCES; i++) {
        result->step_flops_from[i] /= steps;
        result->step_flops += result->step_flops_from[i];
    }
    if (result->step_length > 0 && peak > 0 && 2 * result->matmul_known >= result->matmul_total)
        result->mfu = result->step_flops / result->step_length / peak;
}
