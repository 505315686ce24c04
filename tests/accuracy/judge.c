/* Prints the errors of a trace's times as one line of JSON.
 *
 *   judge TRACE TRUTH [--total-percent P] [--total-us U] [--busy-points P] [--inside-percent P] [--untimed-percent P]
 *         [--rows FILE]
 *
 * The exit status is 1 if a limit is given and exceeded. The total time of all kernels of one name must be right
 * within --total-percent, or within --total-us per launch. --busy-points limits the error, in percentage points, of
 * the share of time in which a device is busy. That time is from the begin of the device's first operation to the end
 * of its last. --inside-percent is the least share of begins, and of ends, whose true error must be within the error
 * stated in the trace. As in check.c, a constant is subtracted from the times of each context. Times in the printed
 * line are in ns, except kernel_us. --rows writes a line for each operation, thread by thread and in the order of the
 * calls. */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pairs.h"

enum { MOST_KERNELS = 256 };

/* A negative value means that there is no limit. But kernel_badness uses the absolute values of total_percent and
 * total_us, to find the kernel with the largest error. */
struct limits {
    double total_percent, total_us, busy_points, inside_percent, untimed_percent;
};

static const char *rows_path;

struct kernel {
    const char *name;
    uint64_t launches;
    int64_t is, said; /* total time of all launches, ns: the true one (is), and the one in the trace (said) */
};

struct side {
    size_t count, inside, untimed;
    int64_t *errors, *offs; /* of begins or ends that have a time: the error that the trace states (errors), and the
                               true error (offs) */
    size_t by_quality[4];
};

static int by_value(const void *a, const void *b)
{
    const int64_t *one = a, *two = b;
    return *one < *two ? -1 : *one > *two;
}

/* The quantile of the sorted values: for the share 0.5, the median. */
static int64_t part(const int64_t *values, size_t count, double share)
{
    size_t at = (size_t)((double)count * share);
    return count ? values[at < count ? at : count - 1] : 0;
}

static double percent(double some, double all)
{
    return all != 0 ? 100 * some / all : 0;
}

static void judge(struct side *side, int64_t is, int64_t said, uint32_t error, enum ws_quality quality)
{
    side->by_quality[quality]++;
    if (quality == WS_TIME_NONE) {
        side->untimed++;
        return;
    }
    side->errors[side->count] = error;
    side->offs[side->count++] = said - is;
    side->inside += llabs(said - is) <= (int64_t)error;
}

static void side_sort(struct side *side)
{
    if (!side->count)
        return;
    qsort(side->errors, side->count, sizeof(*side->errors), by_value);
    qsort(side->offs, side->count, sizeof(*side->offs), by_value);
}

static struct kernel *kernel_named(struct kernel *kernels, const char *name)
{
    size_t i = 0;
    while (i < MOST_KERNELS - 1 && kernels[i].name && strcmp(kernels[i].name, name) != 0)
        i++;
    kernels[i].name = name;
    return &kernels[i];
}

static double kernel_percent(const struct kernel *kernel)
{
    return percent((double)(kernel->said - kernel->is), (double)kernel->is);
}

static double kernel_us(const struct kernel *kernel)
{
    return kernel->launches ? (double)(kernel->said - kernel->is) / (double)kernel->launches / 1000 : 0;
}

/* The error of a kernel's total time, divided by the largest error that the limits allow. There are two limits, in
 * per cent and in µs per launch. It is enough to keep one of them, so the smaller quotient counts. */
static double kernel_badness(const struct kernel *kernel, const struct limits *limits)
{
    return fmin(fabs(kernel_percent(kernel)) / fabs(limits->total_percent),
                fabs(kernel_us(kernel)) / fabs(limits->total_us));
}

/* The largest error of a device's busy share, in percentage points. Sets *true_share to the true busy share of the
 * device with this error, in per cent. */
static double busy_points(const struct pair *pairs, size_t count, const int64_t *shifts, double *true_share)
{
    double worst = 0;
    struct span *is = must_allocate(count, sizeof(*is)), *said = must_allocate(count, sizeof(*said));
    *true_share = 0;
    for (uint32_t device = 0; device < TRUTH_DEVICES; device++) {
        size_t used = 0;
        int64_t first[2] = { INT64_MAX, INT64_MAX }, last[2] = { INT64_MIN, INT64_MIN }, error;
        for (size_t i = 0; i < count; i++) {
            const struct ws_op *op = &pairs[i].traced->row;
            if (pairs[i].truth->device != device || !has_begin(op) || !has_end(op))
                continue;
            int64_t shift = shifts[pairs[i].traced->context];
            is[used] = (struct span){ .begin = pairs[i].truth->start, .end = pairs[i].truth->end };
            said[used] = (struct span){ .begin = op->begin - shift, .end = op->end - shift };
            const struct span *both[2] = { &is[used], &said[used] };
            for (int side = 0; side < 2; side++) {
                first[side] = both[side]->begin < first[side] ? both[side]->begin : first[side];
                last[side] = both[side]->end > last[side] ? both[side]->end : last[side];
            }
            used++;
        }
        if (!used)
            continue;
        double is_busy = percent((double)spans_union(is, used, &error), (double)(last[0] - first[0]));
        double points = percent((double)spans_union(said, used, &error), (double)(last[1] - first[1])) - is_busy;
        if (!*true_share || fabs(points) > fabs(worst)) {
            worst = points;
            *true_share = is_busy;
        }
    }
    free(is);
    free(said);
    return worst;
}

static void side_print(const char *name, const struct side *side)
{
    printf(", \"%s_inside_percent\": %.3f, \"%s_untimed\": %zu, \"%s_error\": %" PRId64 ", \"%s_error_90\": %" PRId64
           ", \"%s_off\": %" PRId64 ", \"%s_off_5\": %" PRId64 ", \"%s_off_95\": %" PRId64
           ", \"%s_measured\": %zu, \"%s_bounded\": %zu, \"%s_inferred\": %zu",
           name, percent((double)side->inside, (double)side->count), name, side->untimed, name,
           part(side->errors, side->count, 0.5), name, part(side->errors, side->count, 0.9), name,
           part(side->offs, side->count, 0.5), name, part(side->offs, side->count, 0.05), name,
           part(side->offs, side->count, 0.95), name, side->by_quality[WS_TIME_MEASURED], name,
           side->by_quality[WS_TIME_BOUNDED], name, side->by_quality[WS_TIME_INFERRED]);
}

static void side_check(const char *name, const struct side *side, const struct limits *limits)
{
    double inside = percent((double)side->inside, (double)side->count);
    double untimed = percent((double)side->untimed, (double)(side->count + side->untimed));
    if (limits->inside_percent >= 0)
        EXPECT(inside >= limits->inside_percent, "%.3f %% of the %ss are inside their errors", inside, name);
    if (limits->untimed_percent >= 0)
        EXPECT(untimed <= limits->untimed_percent, "%.3f %% of the %ss are not known", untimed, name);
}

/* Writes the file of --rows. Times are on the trace's clock. */
static void rows_write(const struct pair *pairs, size_t count, const int64_t *shifts)
{
    FILE *file = fopen(rows_path, "w");
    if (!file) {
        perror(rows_path);
        exit(2);
    }
    fprintf(file,
            "tid\tstream\tname\thost_begin\thost_end\tbegin\tend\tsaid_begin\tsaid_end\tbegin_off\tbegin_error\t"
            "end_off\tend_error\tlonger\tflags\n");
    for (size_t i = 0; i < count; i++) {
        const struct truth_op *is = pairs[i].truth;
        const struct ws_op *op = &pairs[i].traced->row;
        int64_t begin = is->start + shifts[pairs[i].traced->context],
                end = is->end + shifts[pairs[i].traced->context];
        fprintf(file,
                "%u\t%" PRIx64 "\t%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64
                "\t%" PRId64 "\t%u\t%" PRId64 "\t%u\t%" PRId64 "\t%x\n",
                is->tid, is->stream, is->name, op->host_begin, op->host_end, begin, end, op->begin, op->end,
                op->begin - begin, op->begin_error, op->end - end, op->end_error,
                (op->end - op->begin) - (end - begin), op->flags);
    }
    fclose(file);
}

static void kernels_check(const struct kernel *kernels, const struct limits *limits)
{
    for (size_t i = 0; i < MOST_KERNELS && kernels[i].name; i++)
        EXPECT(kernel_badness(&kernels[i], limits) <= 1,
               "%s takes %+.2f %% or %+.3f us a launch more than is true, in %" PRIu64 " launches", kernels[i].name,
               kernel_percent(&kernels[i]), kernel_us(&kernels[i]), kernels[i].launches);
}

static void figures(const struct truth *truth, const struct traced *traced, const struct pair *pairs, size_t count,
                    const struct limits *limits)
{
    struct kernel *kernels = must_allocate(MOST_KERNELS, sizeof(*kernels));
    int64_t *shifts = must_allocate(traced->most_context + 1, sizeof(*shifts));
    struct side sides[2] = { 0 };
    for (int i = 0; i < 2; i++) {
        sides[i].errors = must_allocate(count, sizeof(int64_t));
        sides[i].offs = must_allocate(count, sizeof(int64_t));
    }
    for (uint32_t context = 0; context <= traced->most_context; context++)
        shifts[context] = pairs_shift(pairs, count, context);
    for (size_t i = 0; i < count; i++) {
        const struct ws_op *op = &pairs[i].traced->row;
        const struct truth_op *is = pairs[i].truth;
        int64_t shift = shifts[pairs[i].traced->context];
        judge(&sides[0], is->start + shift, op->begin, op->begin_error, ws_op_begin_quality(op));
        judge(&sides[1], is->end + shift, op->end, op->end_error, ws_op_end_quality(op));
        if (is->kind != WS_OP_KERNEL || !has_begin(op) || !has_end(op))
            continue;
        struct kernel *kernel = kernel_named(kernels, is->name);
        kernel->launches++;
        kernel->is += is->end - is->start;
        kernel->said += op->end - op->begin;
    }
    if (rows_path)
        rows_write(pairs, count, shifts);
    const struct kernel *worst = kernels;
    for (size_t i = 0; i < MOST_KERNELS && kernels[i].name; i++)
        if (kernel_badness(&kernels[i], limits) > kernel_badness(worst, limits))
            worst = &kernels[i];
    double true_share, points = busy_points(pairs, count, shifts, &true_share);
    side_sort(&sides[0]);
    side_sort(&sides[1]);
    printf("{\"operations\": %zu, \"traced\": %zu, \"lost\": %" PRIu64 ", \"counted\": %" PRIu64
           ", \"kernel\": \"%s\", \"kernel_percent\": %.2f"
           ", \"kernel_us\": %.3f, \"busy_percent\": %.2f, \"busy_points\": %.2f",
           truth->count, traced->count, traced->lost, traced->counted, worst->name ? worst->name : "",
           kernel_percent(worst), kernel_us(worst), true_share, points);
    side_print("begin", &sides[0]);
    side_print("end", &sides[1]);
    printf("}\n");

    if (limits->total_percent >= 0 || limits->total_us >= 0)
        kernels_check(kernels, limits);
    if (limits->busy_points >= 0)
        EXPECT(fabs(points) <= limits->busy_points, "the busy share is off by %+.2f points", points);
    side_check("begin", &sides[0], limits);
    side_check("end", &sides[1], limits);
    for (int i = 0; i < 2; i++) {
        free(sides[i].errors);
        free(sides[i].offs);
    }
    free(kernels);
    free(shifts);
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "total-percent", required_argument, NULL, 't' },
                                             { "total-us", required_argument, NULL, 'l' },
                                             { "busy-points", required_argument, NULL, 'b' },
                                             { "inside-percent", required_argument, NULL, 'i' },
                                             { "untimed-percent", required_argument, NULL, 'u' },
                                             { "rows", required_argument, NULL, 'r' },
                                             { NULL, 0, NULL, 0 } };
    struct limits limits = { -5, -0.2, -1, -1, -1 };
    struct truth truth;
    struct traced traced;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 't')
            limits.total_percent = atof(optarg);
        else if (option == 'l')
            limits.total_us = atof(optarg);
        else if (option == 'b')
            limits.busy_points = atof(optarg);
        else if (option == 'i')
            limits.inside_percent = atof(optarg);
        else if (option == 'u')
            limits.untimed_percent = atof(optarg);
        else if (option == 'r')
            rows_path = optarg;
        else
            return 2;
    }
    if (argc - optind != 2 || truth_load(&truth, argv[optind + 1]) || traced_load(&traced, argv[optind]))
        return 2;
    size_t count;
    struct pair *pairs = pairs_match(&truth, &traced, true, &count);
    EXPECT(count > 0, "nothing to compare");
    figures(&truth, &traced, pairs, count, &limits);
    free(pairs);
    truth_finish(&truth);
    traced_finish(&traced);
    return verdict();
}
