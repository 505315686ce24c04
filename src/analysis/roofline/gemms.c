#include "analysis/roofline/gemms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"

enum { ALIGNED_BITS = 128, MUCH_LESS_PERCENT = 70 };

enum { SIZES = 12 };

static void sizes_of(const struct ws_gemm_row *row, double sizes[SIZES])
{
    const struct ws_operator_cost *cost = &row->cost;
    const double all[SIZES] = { cost->m,        cost->n,       cost->k,        cost->batch,
                                cost->heads,    cost->queries, cost->keys,     cost->head_size,
                                row->precision, cost->columns, cost->backward, cost->causal };
    memcpy(sizes, all, sizeof(all));
}

static int by_sizes(const void *a, const void *b)
{
    double x[SIZES], y[SIZES];
    sizes_of(a, x);
    sizes_of(b, y);
    for (int i = 0; i < SIZES; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static int gemms_longest_first(const void *a, const void *b)
{
    const struct ws_gemm_row *x = a, *y = b;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    return by_sizes(a, b);
}

static void gemms_add_row(struct ws_gemm_row *to, const struct ws_gemm_row *row)
{
    if (row->lead > to->lead) {
        to->name = row->name;
        to->matmul = row->matmul;
        to->lead = row->lead;
    }
    to->count += row->count;
    to->flops += row->flops;
    to->total = ws_sum(to->total, row->total);
    to->unsure += row->unsure;
    to->steady = ws_sum(to->steady, row->steady);
    to->ordinary = ws_sum(to->ordinary, row->ordinary);
}

void ws_gemms_sum_up(struct ws_vector *list, size_t steps)
{
    struct ws_gemm_row *rows = list->data;
    size_t kept = 0;
    if (!list->count)
        return;
    qsort(rows, list->count, sizeof(*rows), by_sizes);
    for (size_t i = 1; i < list->count; i++) {
        if (by_sizes(&rows[kept], &rows[i]))
            rows[++kept] = rows[i];
        else
            gemms_add_row(&rows[kept], &rows[i]);
    }
    list->count = kept + 1;
    for (size_t i = 0; i < list->count; i++)
        rows[i].steady /= steps ? (int64_t)steps : 1;
    qsort(rows, list->count, sizeof(*rows), gemms_longest_first);
}

static double gemms_rate_of(const struct ws_gemm_row *row)
{
    return row->total > 0 ? row->flops / (double)row->total : 0;
}

/* Returns a lower bound of the GEMM's rate in FLOPs per ns: its FLOPs divided by the sum of its time and the error of
 * this time. */
static double sure_rate_of(const struct ws_gemm_row *row)
{
    return row->total > 0 ? row->flops / ((double)row->total + row->unsure) : 0;
}

static double gemms_padded(double size, double multiple)
{
    double rest = size - multiple * (double)(int64_t)(size / multiple);
    return rest > 0 ? size + multiple - rest : size;
}

/* Pads the GEMM's contiguous dimensions to multiples of finding->multiple. Pads all three dimensions if it is not
 * known which of them are contiguous. The kernel takes column-major matrices, as all of BLAS does. If the caller's
 * matrices are row-major (cost.columns is false), the kernel computes A·B as Bᵀ·Aᵀ. Returns the FLOPs with padding
 * divided by the FLOPs without padding. */
static double pad_sizes(const struct ws_gemm_row *row, struct ws_gemm_finding *finding)
{
    char first = row->matmul.a, second = row->matmul.b;
    const struct ws_operator_cost *cost = &row->cost;
    bool all = !first, k = all || first == 't' || second == 'n';
    bool m = all || (cost->columns ? true : second == 't');
    bool n = all || (cost->columns ? second == 't' : true);
    finding->m = m ? gemms_padded(cost->m, finding->multiple) : cost->m;
    finding->n = n ? gemms_padded(cost->n, finding->multiple) : cost->n;
    finding->k = k ? gemms_padded(cost->k, finding->multiple) : cost->k;
    return finding->m / cost->m * (finding->n / cost->n) * (finding->k / cost->k);
}

static struct ws_gemm_finding finding_of(const struct ws_gemm_row *row)
{
    return (struct ws_gemm_finding){ .multiple = (double)ALIGNED_BITS / ws_precision_bits(row->precision),
                                     .m = row->cost.m,
                                     .n = row->cost.n,
                                     .k = row->cost.k };
}

/* Does the kernel load less than 16 bytes at a time? The kernel's name may tell the size of a load. If the name does
 * not tell it, the answer is yes if the GEMM's sizes are unaligned. */
static bool is_misaligned(const struct ws_gemm_row *row)
{
    struct ws_gemm_finding finding = finding_of(row);
    if (row->matmul.load)
        return row->matmul.load * ws_precision_bits(row->precision) < ALIGNED_BITS;
    return pad_sizes(row, &finding) > 1;
}

/* Is the GEMM a product of two matrices? A product with a vector gains nothing from tensor cores. */
static bool is_product_of_matrices(const struct ws_gemm_row *row)
{
    return row->cost.m > 1 && row->cost.n > 1 && row->cost.k > 1;
}

static double work_of(const struct ws_gemm_row *row)
{
    return row->flops / (double)row->count;
}

static int by_work(const void *a, const void *b)
{
    const struct ws_gemm_row *x = *(struct ws_gemm_row *const *)a, *y = *(struct ws_gemm_row *const *)b;
    if (x->precision != y->precision)
        return x->precision < y->precision ? -1 : 1;
    return (work_of(x) > work_of(y)) - (work_of(x) < work_of(y));
}

/* A sliding window over the aligned GEMMs with half to twice the work of the current GEMM. GEMMs are added in order
 * of increasing work. The fastest GEMM in the window is first. A slower GEMM is kept only if it has more work than
 * all faster GEMMs in the window. Such a GEMM becomes the fastest when all faster GEMMs have left the window. */
struct window {
    struct ws_gemm_row **rows;
    size_t first, end;
};

static void gemms_widen(struct window *window, struct ws_gemm_row *row)
{
    while (window->end > window->first && sure_rate_of(window->rows[window->end - 1]) <= sure_rate_of(row))
        window->end--;
    window->rows[window->end++] = row;
}

static double best_of(struct window *window, double least_work)
{
    while (window->first < window->end && work_of(window->rows[window->first]) < least_work)
        window->first++;
    return window->first < window->end ? sure_rate_of(window->rows[window->first]) : 0;
}

int ws_gemms_compare(struct ws_track_roofline *result)
{
    struct ws_gemm_row *rows = result->gemms.data;
    size_t count = result->gemms.count, next = 0;
    struct ws_gemm_row **sorted = malloc((2 * count + 1) * sizeof(struct ws_gemm_row *));
    if (!sorted)
        return -ENOMEM;
    struct window window = { .rows = sorted + count };
    for (size_t i = 0; i < count; i++) {
        sorted[i] = &rows[i];
        result->uses_tf32 = result->uses_tf32 || rows[i].precision == WS_PRECISION_TF32;
    }
    qsort(sorted, count, sizeof(struct ws_gemm_row *), by_work);
    for (size_t i = 0; i < count; i++) {
        struct ws_gemm_row *row = sorted[i];
        if (i && sorted[i - 1]->precision != row->precision)
            window.first = window.end = next = i;
        for (; next < count && sorted[next]->precision == row->precision && work_of(sorted[next]) <= 2 * work_of(row);
             next++)
            if (!is_misaligned(sorted[next]))
                gemms_widen(&window, sorted[next]);
        row->alike = best_of(&window, work_of(row) / 2);
    }
    free(sorted);
    return 0;
}

/* Returns the most FLOPs per ns that the GEMM can reach at the GPU's memory bandwidth. */
static double rate_of_memory(const struct ws_track_roofline *result, const struct ws_gemm_row *row)
{
    return row->cost.bytes > 0 ? row->cost.flops / row->cost.bytes * result->gpu.bytes_per_ns : 0;
}

static double less(double a, double b)
{
    return a < b ? a : b;
}

static void set_saving(const struct ws_gemm_row *row, double padding, struct ws_gemm_finding *finding)
{
    double saved = 1 - gemms_rate_of(row) * padding / finding->rate;
    finding->saving = saved > 0 ? (int64_t)((double)row->steady * saved) : 0;
}

/* Returns the peak rate, in FLOPs per ns, of a GEMM on CUDA cores. On CUDA cores, fp16 GEMMs mostly compute in fp32
 * ("fp16_sgemm"). */
static double ordinary_peak(const struct ws_gpu *gpu, enum ws_precision precision)
{
    double own = gpu->flops_per_ns[precision][WS_CORES_ORDINARY];
    double fp32 = gpu->flops_per_ns[WS_PRECISION_FP32][WS_CORES_ORDINARY];
    return precision == WS_PRECISION_FP64 ? own : fp32;
}

static struct ws_gemm_finding judge_ordinary(const struct ws_track_roofline *result, const struct ws_gemm_row *row)
{
    struct ws_gemm_finding finding = finding_of(row);
    enum ws_precision precision = row->precision == WS_PRECISION_FP32 ? WS_PRECISION_TF32 : row->precision;
    double peak = result->gpu.flops_per_ns[precision][WS_CORES_TENSOR], padding = 1;
    double now = ordinary_peak(&result->gpu, row->precision);
    if (!(peak > now) || !(now > 0))
        return finding;
    if (row->precision == WS_PRECISION_FP32 && !result->uses_tf32) {
        finding.issue = WS_GEMM_NO_TF32;
    } else {
        padding = pad_sizes(row, &finding);
        finding.issue = padding > 1 ? WS_GEMM_MISSES : WS_GEMM_MISSES_FIT;
    }
    finding.judge = WS_JUDGED_BY_SHARE;
    finding.rate = less(less(gemms_rate_of(row) * peak / now, peak), rate_of_memory(result, row));
    set_saving(row, padding, &finding);
    return finding;
}

static struct ws_gemm_finding judge_sizes(const struct ws_track_roofline *result, const struct ws_gemm_row *row)
{
    struct ws_gemm_finding finding = finding_of(row);
    double padding = pad_sizes(row, &finding), alike = row->alike;
    double roof = less(ws_gpu_peak(&result->gpu, row->precision), rate_of_memory(result, row));
    if (!is_misaligned(row) || padding <= 1)
        return finding;
    /* Unaligned sizes alone do not prove that the GEMM is slow. Either an aligned GEMM to compare with must exist, or
     * the kernel's name must tell the size of a load. */
    if (!(alike > 0) && !row->matmul.load)
        return finding;
    finding.judge = alike > 0 ? WS_JUDGED_BY_ALIKE : WS_JUDGED_BY_ROOF;
    finding.rate = alike > 0 ? less(alike, roof) : roof;
    if (gemms_rate_of(row) * padding >= finding.rate * MUCH_LESS_PERCENT / 100)
        return finding;
    finding.issue = WS_GEMM_SLOW;
    set_saving(row, padding, &finding);
    return finding;
}

struct ws_gemm_finding ws_gemm_judge(const struct ws_track_roofline *result, const struct ws_gemm_row *row)
{
    bool is_ordinary = 2 * (double)row->ordinary > (double)row->total;
    if (!is_product_of_matrices(row) || !(gemms_rate_of(row) > 0))
        return finding_of(row);
    if (is_ordinary)
        return judge_ordinary(result, row);
    /* On GPUs without tensor cores for this precision, and for fp64, alignment of sizes does not matter. */
    if (!(result->gpu.flops_per_ns[row->precision][WS_CORES_TENSOR] > 0) || row->precision == WS_PRECISION_FP64)
        return finding_of(row);
    return judge_sizes(result, row);
}

const char *ws_gemm_issue_name(enum ws_gemm_issue issue)
{
    static const char *const names[WS_GEMM_ISSUES] = { "none", "no_tf32", "misses_tensor_cores",
                                                       "misses_tensor_cores_sizes_fit", "slow_sizes" };
    return names[issue];
}

const char *ws_gemm_judge_name(enum ws_gemm_judge judge)
{
    static const char *const names[] = { "same_share_of_peak", "products_alike", "roof" };
    return names[judge];
}
