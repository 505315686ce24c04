#include "analysis/delays.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/times.h"
#include "base/pages.h"

/* A magnitude is the place of the highest binary digit and the six digits after it, so that a bucket is as wide as a
 * 64th of what it holds. Small streams are kept whole. */
enum { DIGITS = 6, BUCKETS = (64 - DIGITS + 1) << DIGITS, SMALL = 4 * BUCKETS };
enum { MEDIAN, P95, SOUGHT };
enum { PARTS = 4096 };

/* The delays of a stream. */
struct series {
    size_t count;
    uint32_t *buckets;       /* how many are of each magnitude; NULL: kept whole */
    uint32_t chosen[SOUGHT]; /* magnitudes of the values sought */
    size_t rank[SOUGHT];     /* of these among the values kept, in ascending order */
    int64_t *values;         /* those kept */
    size_t kept;
    int64_t max;
};

static uint32_t magnitude(int64_t value)
{
    uint64_t rest = value > 0 ? (uint64_t)value : 0;
    if (rest < 1 << DIGITS)
        return (uint32_t)rest;
    unsigned shift = 63 - DIGITS - (unsigned)__builtin_clzll(rest);
    return (shift << DIGITS) + (uint32_t)(rest >> shift);
}

static void count_one(struct series *series, int64_t value)
{
    series->max = series->count++ ? ws_most(series->max, value) : value;
}

static void count_magnitude(struct series *series, int64_t value)
{
    if (series->buckets)
        series->buckets[magnitude(value)]++;
}

static void keep(struct series *series, int64_t value)
{
    uint32_t bucket = series->buckets ? magnitude(value) : 0;
    if (bucket == series->chosen[MEDIAN] || bucket == series->chosen[P95])
        series->values[series->kept++] = value;
}

/* Shows every delay of the track to the series of its stream; the last is for those of no stream that is known. */
static inline void visit(const struct ws_process *process, const struct ws_track *track, struct series *all,
                         void (*see)(struct series *, int64_t))
{
    const struct ws_ops *ops = &process->ops;
    for (size_t i = 0; i < track->count; i++) {
        uint32_t op = track->order[i], stream = ws_process_shape(process, ops->shape[op])->stream;
        if (ws_op_has_call(ops, op))
            see(&all[stream == WS_NOWHERE ? process->streams.rows.count : stream],
                ops->begin[op] - ops->host_begin[op]);
    }
}

/* The magnitude of the value at a place of ascending order, and where its first value is among those kept. */
static uint32_t find(const struct series *series, size_t rank, size_t *first)
{
    uint32_t bucket = 0;
    for (*first = 0; rank >= *first + series->buckets[bucket]; bucket++)
        *first += series->buckets[bucket];
    return bucket;
}

/* Finds the magnitudes of the values sought and makes room for what is of them. Returns 0 or -ENOMEM. */
static int choose(struct series *series)
{
    size_t room = series->count, first;
    series->rank[MEDIAN] = (series->count - 1) / 2;
    series->rank[P95] = (series->count - 1) * 95 / 100;
    if (series->buckets) {
        uint32_t median = series->chosen[MEDIAN] = find(series, series->rank[MEDIAN], &first);
        series->rank[MEDIAN] -= first;
        uint32_t p95 = series->chosen[P95] = find(series, series->rank[P95], &first);
        series->rank[P95] -= first;
        room = series->buckets[median];
        if (p95 != median) {
            series->rank[P95] += room; /* they follow those of the median's magnitude */
            room += series->buckets[p95];
        }
    }
    series->values = ws_pages_alloc(room * sizeof(*series->values));
    return series->values ? 0 : -ENOMEM;
}

/* Moves the values of one part to the front and returns how many there are. */
static size_t gather(int64_t *values, size_t count, int64_t least, unsigned shift, size_t part)
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

/* The value at place `rank` of ascending order. Reorders the values. */
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
        count = gather(values, count, least, shift, part);
    }
    qsort(values, count, sizeof(*values), ws_ascending);
    return values[rank];
}

static int most_first(const void *a, const void *b)
{
    const struct ws_stream_delays *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->stream > y->stream) - (x->stream < y->stream);
}

static int add_row(struct ws_vector *rows, uint32_t stream, const struct series *series)
{
    struct ws_stream_delays *row = ws_vector_push(rows);
    if (!row)
        return -ENOMEM;
    *row = (struct ws_stream_delays){ .stream = stream, .count = series->count, .max = series->max };
    row->median = select_rank(series->values, series->kept, series->rank[MEDIAN]);
    row->p95 = select_rank(series->values, series->kept, series->rank[P95]);
    return 0;
}

int ws_delays_measure(const struct ws_process *process, const struct ws_track *track, struct ws_vector *rows)
{
    const struct ws_stream *streams = process->streams.rows.data;
    size_t count = process->streams.rows.count + 1;
    struct series *all = calloc(count, sizeof(*all));
    int status = all ? 0 : -ENOMEM;
    if (all)
        visit(process, track, all, count_one);
    for (size_t i = 0; i < count && !status; i++)
        if (all[i].count > SMALL && !(all[i].buckets = calloc(BUCKETS, sizeof(*all[i].buckets))))
            status = -ENOMEM;
    if (!status)
        visit(process, track, all, count_magnitude);
    for (size_t i = 0; i < count && !status; i++)
        if (all[i].count)
            status = choose(&all[i]);
    if (!status)
        visit(process, track, all, keep);
    for (size_t i = 0; i < count && !status; i++)
        if (all[i].count)
            status = add_row(rows, i + 1 < count ? streams[i].id : 0, &all[i]);
    if (!status && rows->count)
        qsort(rows->data, rows->count, sizeof(struct ws_stream_delays), most_first);
    for (size_t i = 0; all && i < count; i++) {
        free(all[i].buckets);
        free(all[i].values);
    }
    free(all);
    return status;
}
