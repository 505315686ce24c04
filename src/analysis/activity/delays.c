#include "analysis/activity/delays.h"

#include <errno.h>
#include <stdlib.h>

#include "base/minmax.h"

/* The highest set bit of a delay (in ns) and the eight bits after it choose the delay's bucket. So the width of a
 * bucket is at most 1/256 of the smallest delay in it, and few delays share a bucket. Each delay of 0 to 255 ns has a
 * bucket of its own. Negative delays are in the bucket of 0. A stream with up to SMALL launches is called small: it
 * needs no buckets, because all its delays are kept. */
enum { DIGITS = 8, BUCKETS = (64 - DIGITS + 1) << DIGITS, SMALL = 4096 };
enum { MEDIAN, P95, SOUGHT };
enum { PARTS = 4096 };

/* The launch delays of a stream, in ns. */
struct series {
    size_t count;
    int64_t max;
    struct ws_vector values; /* int64_t: all delays of a small stream; for other streams, only the delays in
                                the buckets `chosen` */
    uint32_t *buckets;       /* number of delays per bucket; NULL for a small stream */
    uint32_t chosen[SOUGHT]; /* numbers of the buckets that hold the median and the 95th percentile */
    size_t rank[SOUGHT];     /* ranks of the median and of the 95th percentile among `values` (smallest: 0) */
};

static uint32_t magnitude(int64_t value)
{
    uint64_t rest = value > 0 ? (uint64_t)value : 0;
    if (rest < 1 << DIGITS)
        return (uint32_t)rest;
    unsigned shift = 63 - DIGITS - (unsigned)__builtin_clzll(rest);
    return (shift << DIGITS) + (uint32_t)(rest >> shift);
}

static int delays_store(struct series *series, int64_t value)
{
    int64_t *place = ws_vector_push(&series->values);
    if (!place)
        return -ENOMEM;
    *place = value;
    return 0;
}

/* Called at launch SMALL + 1 of the stream. From this launch on, the stream's delays are only counted by bucket. */
static int outgrow(struct series *series)
{
    series->buckets = calloc(BUCKETS, sizeof(*series->buckets));
    if (!series->buckets)
        return -ENOMEM;
    for (size_t i = 0; i < series->values.count; i++)
        series->buckets[magnitude(((const int64_t *)series->values.data)[i])]++;
    ws_vector_finish(&series->values);
    series->values = WS_VECTOR(int64_t);
    return 0;
}

static int count_one(struct series *series, int64_t value)
{
    series->max = ws_max(series->max, value);
    if (++series->count <= SMALL)
        return delays_store(series, value);
    int status = series->buckets ? 0 : outgrow(series);
    if (!status)
        series->buckets[magnitude(value)]++;
    return status;
}

static int store_chosen(struct series *series, int64_t value)
{
    if (!series->buckets)
        return 0;
    uint32_t bucket = magnitude(value);
    return bucket == series->chosen[MEDIAN] || bucket == series->chosen[P95] ? delays_store(series, value) : 0;
}

/* Returns an array: entry i is the series of the stream that the launches of shape i use. (A shape is a set of
 * launches with the same static properties, such as kernel and stream.) The last entry of `all` is the series of all
 * launches whose stream is unknown. Returns NULL if memory runs out. */
static struct series **assign(const struct ws_process *process, struct series *all)
{
    struct series **of_shape = malloc((process->shapes.count + 1) * sizeof(struct series *));
    for (size_t i = 0; of_shape && i < process->shapes.count; i++) {
        uint32_t stream = ws_process_shape(process, i)->stream;
        of_shape[i] = &all[stream == WS_NOWHERE ? process->streams.rows.count : stream];
    }
    return of_shape;
}

/* Calls see() for the launch delay of each operation of the track (one device as used by one process). Passes the
 * series of the operation's stream, and the delay. */
static inline int visit(const struct ws_process *process, const struct ws_track *track, struct series **of_shape,
                        int (*see)(struct series *, int64_t))
{
    const struct ws_ops *ops = &process->ops;
    int status = 0;
    for (size_t i = 0; i < track->count && !status; i++) {
        uint32_t op = track->order[i];
        if (ws_op_has_call(ops, op))
            status = see(of_shape[ops->shape[op]], ws_op_begin(ops, op) - ws_op_host_begin(ops, op));
    }
    return status;
}

/* Returns the bucket of the value with this rank. Sets *first to the rank of the smallest value in the bucket. */
static uint32_t delays_find(const struct series *series, size_t rank, size_t *first)
{
    uint32_t bucket = 0;
    for (*first = 0; rank >= *first + series->buckets[bucket]; bucket++)
        *first += series->buckets[bucket];
    return bucket;
}

/* Finds the buckets of the median and the 95th percentile. */
static void delays_choose(struct series *series)
{
    size_t first;
    series->rank[MEDIAN] = (series->count - 1) / 2;
    series->rank[P95] = (series->count - 1) * 95 / 100;
    if (!series->buckets)
        return;
    uint32_t median = series->chosen[MEDIAN] = delays_find(series, series->rank[MEDIAN], &first);
    series->rank[MEDIAN] -= first;
    uint32_t p95 = series->chosen[P95] = delays_find(series, series->rank[P95], &first);
    series->rank[P95] -= first;
    if (p95 != median)
        series->rank[P95] +=
            series->buckets[median]; /* `values` also holds the delays of the median's bucket, which are smaller */
}

/* Part i is the range of 1 << shift values that starts at `least` + (i << shift). Moves the values in part `part` to
 * the front of the array and returns the number of these values. */
static size_t delays_gather(int64_t *values, size_t count, int64_t least, unsigned shift, size_t part)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t value = values[i];
        if (((uint64_t)value - (uint64_t)least) >> shift != part)
            continue;
        values[i] = values[found];
        values[found++] = value;
    }
    return found;
}

/* Returns the value with this rank; the smallest value has rank 0. Reorders the values. */
static int64_t select_rank(int64_t *values, size_t count, size_t rank)
{
    while (count > 256) {
        uint32_t parts[PARTS] = { 0 };
        int64_t least = values[0], most = values[0];
        for (size_t i = 1; i < count; i++) {
            least = values[i] < least ? values[i] : least;
            most = values[i] > most ? values[i] : most;
        }
        uint64_t range = (uint64_t)most - (uint64_t)least;
        unsigned shift = 0;
        while (range >> shift >= PARTS)
            shift++;
        for (size_t i = 0; i < count; i++)
            parts[((uint64_t)values[i] - (uint64_t)least) >> shift]++;
        size_t part = 0;
        for (; rank >= parts[part]; part++)
            rank -= parts[part];
        if (!shift)
            return least + (int64_t)part;
        count = delays_gather(values, count, least, shift, part);
    }
    qsort(values, count, sizeof(*values), ws_ascending);
    return values[rank];
}

static int delays_most_first(const void *a, const void *b)
{
    const struct ws_stream_delays *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->stream > y->stream) - (x->stream < y->stream);
}

static int delays_add_row(struct ws_vector *rows, uint32_t stream, const struct series *series)
{
    struct ws_stream_delays *row = ws_vector_push(rows);
    if (!row)
        return -ENOMEM;
    *row = (struct ws_stream_delays){ .stream = stream, .count = series->count, .max = series->max };
    row->median = select_rank(series->values.data, series->values.count, series->rank[MEDIAN]);
    row->p95 = select_rank(series->values.data, series->values.count, series->rank[P95]);
    return 0;
}

int ws_delays_measure(const struct ws_process *process, const struct ws_track *track, struct ws_vector *rows)
{
    const struct ws_stream *streams = process->streams.rows.data;
    size_t count = process->streams.rows.count + 1;
    struct series *all = calloc(count, sizeof(*all)), **of_shape = all ? assign(process, all) : NULL;
    int status = all && of_shape ? 0 : -ENOMEM;
    for (size_t i = 0; all && i < count; i++)
        all[i] = (struct series){ .max = INT64_MIN, .values = WS_VECTOR(int64_t) };
    if (!status)
        status = visit(process, track, of_shape, count_one);
    for (size_t i = 0; i < count && !status; i++)
        if (all[i].count)
            delays_choose(&all[i]);
    if (!status)
        status = visit(process, track, of_shape, store_chosen);
    for (size_t i = 0; i < count && !status; i++)
        if (all[i].count)
            status = delays_add_row(rows, i + 1 < count ? streams[i].id : 0, &all[i]);
    if (!status && rows->count)
        qsort(rows->data, rows->count, sizeof(struct ws_stream_delays), delays_most_first);
    for (size_t i = 0; all && i < count; i++) {
        free(all[i].buckets);
        ws_vector_finish(&all[i].values);
    }
    free(of_shape);
    free(all);
    return status;
}
