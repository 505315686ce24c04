/* Compares a trace with the operations that truly ran.
 *
 *   check TRACE TRUTH [--median-width NS] [--busy-percent P] [--untimed-percent P] [--inside-percent P] [--show N]
 *         [--may-count]
 *
 * Every kernel, copy and memset must be in the trace, with its name, stream, size and a correlation id of its own.
 * 99.9 % (--inside-percent) of the begins and ends in the trace must be right within their stated errors. All clock
 * rows of the trace (each a device time and the host time of the same moment), and the busy time of each device, must
 * also be right within their stated errors. At most 1 % (--untimed-percent) of the begins and ends may have no time;
 * with 100, no times are compared. --median-width limits the median width (twice the stated error), --busy-percent
 * the error of the busy time. --show prints the first N times that are outside their stated errors. --may-count: the
 * trace may lack operations that it says it has only counted.
 *
 * The origin of a context's clock is arbitrary. So before times are compared, a constant is subtracted from the times
 * of each context: the constant with which most records agree. A new context or stream may get the handle of a
 * destroyed one. The trace must distinguish the two, and have each operation under the context and stream in which it
 * ran. */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pairs.h"

static double inside_percent = 99.9;

static int to_show;
static double untimed_percent = 1;

static int by_value(const void *a, const void *b)
{
    const int64_t *one = a, *two = b;
    return *one < *two ? -1 : *one > *two;
}

static int by_life(const void *a, const void *b)
{
    const struct pair *one = a, *two = b;
    if (one->traced->stream_life != two->traced->stream_life)
        return one->traced->stream_life < two->traced->stream_life ? -1 : 1;
    return (one->truth->stream_life > two->truth->stream_life) - (one->truth->stream_life < two->truth->stream_life);
}

static int by_true_life(const void *a, const void *b)
{
    const struct pair *one = a, *two = b;
    if (one->truth->stream_life != two->truth->stream_life)
        return one->truth->stream_life < two->truth->stream_life ? -1 : 1;
    return by_life(a, b);
}

/* Streams of the trace and true streams must correspond one to one, whatever their handles. */
static void check_lives(const struct pair *pairs, size_t count)
{
    struct pair *sorted = must_allocate(count, sizeof(*sorted));
    memcpy(sorted, pairs, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), by_life);
    for (size_t i = 1; i < count; i++)
        if (sorted[i].traced->stream_life == sorted[i - 1].traced->stream_life)
            EXPECT(sorted[i].truth->stream_life == sorted[i - 1].truth->stream_life,
                   "stream %u of the trace has operations of streams %" PRIu64 " and %" PRIu64,
                   sorted[i].traced->stream_life, sorted[i - 1].truth->stream_life, sorted[i].truth->stream_life);
    qsort(sorted, count, sizeof(*sorted), by_true_life);
    for (size_t i = 1; i < count; i++)
        if (sorted[i].truth->stream_life == sorted[i - 1].truth->stream_life)
            EXPECT(sorted[i].traced->stream_life == sorted[i - 1].traced->stream_life,
                   "operations of stream %" PRIu64 " are in the trace on streams %u and %u",
                   sorted[i].truth->stream_life, sorted[i - 1].traced->stream_life, sorted[i].traced->stream_life);
    free(sorted);
}

struct side {
    size_t inside, none, early, late, count, by_quality[4];
    int64_t *widths;
    int64_t worst;
};

static void show(const char *end, const struct pair *pair, int64_t is, int64_t said, uint32_t error)
{
    const struct ws_op *op = &pair->traced->row;
    if (to_show-- > 0)
        printf("outside: %s of %s %s, thread %u, stream %" PRIx64 ": %" PRId64 " ± %u, truly %+" PRId64 "; %" PRId64
               " ns long, said %" PRId64 "; flags %x, correlation %" PRIx64 "\n",
               end, ws_op_kind_name(pair->truth->kind), pair->truth->name, pair->truth->tid, pair->truth->stream,
               said, error, is - said, pair->truth->end - pair->truth->start, op->end - op->begin, op->flags,
               op->correlation);
}

static void judge(struct side *side, const char *end, const struct pair *pair, int64_t is, int64_t said,
                  uint32_t error, enum ws_quality quality)
{
    side->count++;
    side->by_quality[quality]++;
    if (quality == WS_TIME_NONE) {
        side->none++;
        return;
    }
    int64_t off = is - said, beyond = llabs(off) - (int64_t)error;
    side->widths[side->inside + side->early + side->late] = 2 * (int64_t)error;
    if (beyond <= 0) {
        side->inside++;
        return;
    }
    if (off < 0)
        side->early++;
    else
        side->late++;
    if (beyond > side->worst)
        side->worst = beyond;
    show(end, pair, is, said, error);
}

static int64_t report_side(const char *name, struct side *side)
{
    size_t timed = side->inside + side->early + side->late;
    if (timed)
        qsort(side->widths, timed, sizeof(*side->widths), by_value);
    int64_t median = timed ? side->widths[timed / 2] : 0;
    printf("%-6s %zu of %zu inside (%.3f %%), %zu true times too early, %zu too late (by %" PRId64
           " ns at most), %zu without; width: median %" PRId64 ", 90 %% %" PRId64 ", most %" PRId64
           " ns; measured %zu, bounded %zu, inferred %zu\n",
           name, side->inside, side->count, side->count ? 100.0 * (double)side->inside / (double)side->count : 0,
           side->early, side->late, side->worst, side->none, median, timed ? side->widths[timed * 9 / 10] : 0,
           timed ? side->widths[timed - 1] : 0, side->by_quality[WS_TIME_MEASURED], side->by_quality[WS_TIME_BOUNDED],
           side->by_quality[WS_TIME_INFERRED]);
    EXPECT(timed && (double)side->inside * 100 >= (double)timed * inside_percent,
           "fewer than %.1f %% of the %ss are inside", inside_percent, name);
    EXPECT((double)side->none * 100 <= (double)side->count * untimed_percent, "%zu %ss are not known", side->none,
           name);
    return median;
}

/* Compares a device's busy time, over all its contexts. Each context has its own clock, and so its own shift
 * (pairs_shift). */
static void check_busy(const struct pair *pairs, size_t count, uint32_t device, const int64_t *shifts, double percent)
{
    struct span *is = must_allocate(count, sizeof(*is)), *said = must_allocate(count, sizeof(*said));
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct ws_op *op = &pairs[i].traced->row;
        if (pairs[i].truth->device != device || !has_begin(op) || !has_end(op))
            continue;
        is[used] = (struct span){ pairs[i].truth->start, pairs[i].truth->end, 0, 0 };
        int64_t shift = shifts[pairs[i].traced->context];
        said[used++] = (struct span){ op->begin - shift, op->end - shift, op->begin_error, op->end_error };
    }
    int64_t error, none;
    int64_t true_busy = spans_union(is, used, &none), said_busy = spans_union(said, used, &error);
    double off = true_busy ? 100.0 * (double)(said_busy - true_busy) / (double)true_busy : 0;
    printf("device %u: busy %" PRId64 " ns, true %" PRId64 " (%+.3f %%), stated error %" PRId64 "\n", device,
           said_busy, true_busy, off, error);
    EXPECT(llabs(said_busy - true_busy) <= error, "device %u: busy time is outside its stated error", device);
    if (percent > 0)
        EXPECT(fabs(off) <= percent, "device %u: busy time is off by %.3f %%", device, off);
    free(is);
    free(said);
}

static void check_clock(const struct truth *truth, const struct traced *traced, uint32_t device, uint32_t context,
                        int64_t shift)
{
    const struct truth_clock *clock = &truth->clocks[device];
    size_t rows = 0, inside = 0;
    int64_t worst = 0;
    uint32_t widest = 0;
    for (size_t i = 0; i < traced->clock_count; i++) {
        const struct ws_clock *row = &traced->clocks[i].row;
        if (traced->clocks[i].context != context)
            continue;
        double since = (double)(row->device_ns - shift - clock->offset_ns) / (1 + clock->drift);
        int64_t off = clock->origin_host_ns + (int64_t)since - row->host_ns;
        rows++;
        inside += llabs(off) <= (int64_t)row->error_ns;
        if (llabs(off) > llabs(worst))
            worst = off;
        if (row->error_ns > widest)
            widest = row->error_ns;
    }
    printf("device %u, context %u: %zu clock rows, %zu inside their error; off by %" PRId64
           " ns at most, stated %u at most\n",
           device, context, rows, inside, worst, widest);
    EXPECT(rows > 0, "context %u has no clock row", context);
    EXPECT(inside == rows, "context %u: %zu clock rows are outside their error", context, rows - inside);
}

static void check_times(const struct truth *truth, const struct traced *traced, const struct pair *pairs,
                        size_t count, int64_t width, double percent)
{
    struct side begins = { .widths = must_allocate(count, sizeof(int64_t)) };
    struct side ends = { .widths = must_allocate(count, sizeof(int64_t)) };
    int64_t *shifts = must_allocate((size_t)traced->most_context + 1, sizeof(*shifts));
    bool devices[TRUTH_DEVICES] = { false };
    for (uint32_t context = 1; context <= traced->most_context; context++) {
        size_t timed = begins.inside + begins.early + begins.late;
        uint32_t device = TRUTH_DEVICES;
        shifts[context] = pairs_shift(pairs, count, context);
        for (size_t i = 0; i < count; i++) {
            const struct ws_op *op = &pairs[i].traced->row;
            if (pairs[i].traced->context != context)
                continue;
            device = pairs[i].truth->device;
            judge(&begins, "begin", &pairs[i], pairs[i].truth->start + shifts[context], op->begin, op->begin_error,
                  ws_op_begin_quality(op));
            judge(&ends, "end", &pairs[i], pairs[i].truth->end + shifts[context], op->end, op->end_error,
                  ws_op_end_quality(op));
        }
        if (device >= TRUTH_DEVICES || begins.inside + begins.early + begins.late == timed)
            continue;
        devices[device] = true;
        check_clock(truth, traced, device, context, shifts[context]);
    }
    for (uint32_t device = 0; device < TRUTH_DEVICES; device++)
        if (devices[device])
            check_busy(pairs, count, device, shifts, percent);
    free(shifts);
    int64_t begin_width = report_side("begin", &begins), end_width = report_side("end", &ends);
    if (width > 0) {
        EXPECT(begin_width <= width, "the median width of begins is %" PRId64 " ns", begin_width);
        EXPECT(end_width <= width, "the median width of ends is %" PRId64 " ns", end_width);
    }
    free(begins.widths);
    free(ends.widths);
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "median-width", required_argument, NULL, 'w' },
                                             { "busy-percent", required_argument, NULL, 'b' },
                                             { "untimed-percent", required_argument, NULL, 'u' },
                                             { "inside-percent", required_argument, NULL, 'i' },
                                             { "show", required_argument, NULL, 's' },
                                             { "may-count", no_argument, NULL, 'c' },
                                             { NULL, 0, NULL, 0 } };
    struct truth truth;
    struct traced traced;
    int64_t width = 0;
    double percent = 0;
    bool may_count = false;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'w')
            width = atoll(optarg);
        else if (option == 'b')
            percent = atof(optarg);
        else if (option == 'u')
            untimed_percent = atof(optarg);
        else if (option == 'i')
            inside_percent = atof(optarg);
        else if (option == 's')
            to_show = atoi(optarg);
        else if (option == 'c')
            may_count = true;
        else
            return 2;
    }
    if (argc - optind != 2 || truth_load(&truth, argv[optind + 1]) || traced_load(&traced, argv[optind]))
        return 2;
    size_t count;
    struct pair *pairs = pairs_match(&truth, &traced, may_count, &count);
    printf("%zu operations happened, %zu are in the trace, %zu agree; %" PRIu64 " losses stated\n", truth.count,
           traced.count, count, traced.lost);
    EXPECT(count > 0, "nothing to compare");
    check_lives(pairs, count);
    if (untimed_percent < 100)
        check_times(&truth, &traced, pairs, count, width, percent);
    free(pairs);
    truth_finish(&truth);
    traced_finish(&traced);
    return verdict();
}
