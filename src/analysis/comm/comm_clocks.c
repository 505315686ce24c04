#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/comm/comm.h"
#include "base/minmax.h"

/* At most SAMPLES clock differences are kept per rank, evenly spread over the recording. A clock with fewer than
 * FEWEST samples is not corrected. With fewer than FEWEST_FOR_DRIFT samples, no drift is computed. */
enum { SAMPLES = 2048, FEWEST = 3, FEWEST_FOR_DRIFT = 30 };

/* In ns. Offsets below same_host_limit (for ranks on one machine) or below other_host_limit (for ranks on different
 * machines) are not corrected. Ranks on one machine normally share a clock, so only a large offset is evidence of two
 * clocks. other_host_limit also applies if the trace does not give the machine. No drift is computed for recordings
 * shorter than shortest_for_drift. */
static const int64_t same_host_limit = 1000000, other_host_limit = 20000, shortest_for_drift = 1000000000;

struct sample {
    int64_t time; /* ns, on the rank's clock */
    int64_t difference;
};

/* The samples of a rank's clock differences. Only every stride-th sample is kept. The stride doubles whenever more
 * than SAMPLES samples would be kept. */
struct samples {
    struct sample *items;
    uint32_t count, stride, seen;
};

struct walk {
    const struct ws_report *report;
    struct ws_job_comm *job;
    struct samples *samples; /* by index of a rank's track: its clock differences */
    /* tracks (one per rank) whose clocks are known; those from index `head` on have not been compared with other
     * tracks yet (compare_with) */
    uint32_t *queue;
    size_t head, tail;
    bool *known;    /* by index of a rank's track: the rank's clock has been estimated */
    size_t unknown; /* number of ranks' tracks with collectives whose clock has not been estimated yet */
    /* by track and operation: index of the operation's collective in job->joined, plus 1; 0: not matched */
    uint32_t **joined;
};

/* Limits a time to ±WS_TIME_MOST, so that the difference of two times cannot overflow. */
static int64_t within_reason(int64_t time)
{
    return time > WS_TIME_MOST ? WS_TIME_MOST : time < -WS_TIME_MOST ? -WS_TIME_MOST : time;
}

/* Returns the ns that a clock with this drift gains between two times. */
static int64_t gained(double drift, int64_t from, int64_t to)
{
    double gain = drift * (double)(to - from);
    return gain > -1e18 && gain < 1e18 ? (int64_t)gain : 0;
}

int64_t ws_rank_to_reference(const struct ws_rank_clock *clock, int64_t time)
{
    if (!clock->applied)
        return time;
    return within_reason(time - clock->offset - gained(clock->drift, clock->at, time));
}

int64_t ws_rank_from_reference(const struct ws_rank_clock *clock, int64_t time)
{
    if (!clock->applied)
        return time;
    return within_reason(time + clock->offset + gained(clock->drift, clock->at, time));
}

static int add_sample(struct samples *samples, int64_t time, int64_t difference)
{
    if (!samples->items) {
        samples->items = malloc(SAMPLES * sizeof(*samples->items));
        samples->stride = 1;
    }
    if (!samples->items)
        return -ENOMEM;
    if (samples->seen++ % samples->stride)
        return 0;
    if (samples->count == SAMPLES) {
        for (uint32_t i = 0; i < SAMPLES / 2; i++)
            samples->items[i] = samples->items[2 * i];
        samples->count = SAMPLES / 2;
        samples->stride *= 2;
    }
    samples->items[samples->count++] = (struct sample){ time, within_reason(difference) };
    return 0;
}

/* Subtracts the drift from the samples with indices `from` to `to` - 1. Computes the median and the interquartile
 * range of the results. */
static void quartiles(const struct samples *samples, uint32_t from, uint32_t to, double drift, int64_t at,
                      int64_t *median, int64_t *spread)
{
    int64_t values[SAMPLES];
    uint32_t count = to - from;
    for (uint32_t i = 0; i < count; i++) {
        const struct sample *sample = &samples->items[from + i];
        values[i] = within_reason(sample->difference - gained(drift, at, sample->time));
    }
    qsort(values, count, sizeof(*values), ws_ascending);
    *median = values[count / 2];
    *spread = values[count * 3 / 4] - values[count / 4];
}

/* Fits a line through the medians of the first and the last third of the samples. Uses the slope of this line as the
 * drift if subtracting this drift at least halves the interquartile range of the samples. */
static void find_drift(const struct samples *samples, struct ws_rank_clock *clock)
{
    uint32_t third = samples->count / 3, last = samples->count - third;
    const struct sample *items = samples->items;
    int64_t early, late, median, spread;
    if (samples->count < FEWEST_FOR_DRIFT)
        return;
    int64_t time = items[last + third / 2].time - items[third / 2].time;
    if (time < shortest_for_drift)
        return;
    quartiles(samples, 0, third, 0, 0, &early, &spread);
    quartiles(samples, last, samples->count, 0, 0, &late, &spread);
    double drift = (double)(late - early) / (double)time;
    quartiles(samples, 0, samples->count, drift, clock->at, &median, &spread);
    if (spread > clock->spread / 2)
        return;
    clock->drift = drift;
    clock->offset = median;
    clock->spread = spread;
}

static void estimate(const struct samples *samples, struct ws_rank_clock *clock)
{
    clock->samples = samples->seen;
    clock->at = samples->items[samples->count / 2].time;
    quartiles(samples, 0, samples->count, 0, 0, &clock->offset, &clock->spread);
    find_drift(samples, clock);
    int64_t effect = clock->offset < 0 ? -clock->offset : clock->offset;
    int64_t limit = clock->shared_host ? same_host_limit : other_host_limit;
    clock->applied = samples->count >= FEWEST && effect > clock->spread && effect > limit;
}

static struct ws_rank *comm_clocks_rank_at(const struct walk *walk, uint32_t track)
{
    return (struct ws_rank *)walk->job->ranks.data + track;
}

static const struct ws_comm_op *comm_clocks_op_at(const struct walk *walk, const struct ws_joined_entry *entry)
{
    return (const struct ws_comm_op *)ws_report_comm(walk->report, entry->track)->ops.data + entry->op;
}

/* Collects samples for the ranks that share collectives with rank `parent` and whose clocks are not known yet. A
 * sample is the rank's clock minus the reference clock at the end of a collective. The reference time is computed
 * from the clock of `parent`, which is already known. */
static int compare_with(struct walk *walk, uint32_t parent)
{
    const struct ws_rank_clock *clock = &comm_clocks_rank_at(walk, parent)->clock;
    const struct ws_comm_op *ops = ws_report_comm(walk->report, parent)->ops.data;
    size_t count = ws_report_comm(walk->report, parent)->ops.count;
    for (size_t i = 0; walk->joined[parent] && i < count; i++) {
        if (!walk->joined[parent][i])
            continue;
        const struct ws_joined *joined = (struct ws_joined *)walk->job->joined.data + (walk->joined[parent][i] - 1);
        const struct ws_joined_entry *entries = (struct ws_joined_entry *)walk->job->entries.data + joined->first;
        int64_t end = ws_rank_to_reference(clock, ops[i].end);
        for (uint32_t other = 0; other < joined->count; other++) {
            const struct ws_comm_op *op = comm_clocks_op_at(walk, &entries[other]);
            if (!walk->known[entries[other].track] &&
                add_sample(&walk->samples[entries[other].track], op->end, op->end - end))
                return -ENOMEM;
        }
    }
    return 0;
}

static const char *comm_clocks_host_of(const struct ws_report *report, uint32_t track)
{
    const struct ws_process *process = ws_model_process(report->model, ws_model_track(report->model, track)->process);
    return ws_process_meta(process, "host");
}

/* Two ranks share a clock if they are on one host or in one trace file. */
static bool share_a_clock(const struct ws_report *report, uint32_t a, uint32_t b)
{
    const char *host = comm_clocks_host_of(report, a), *other = comm_clocks_host_of(report, b);
    const struct ws_process *x = ws_model_process(report->model, ws_model_track(report->model, a)->process);
    const struct ws_process *y = ws_model_process(report->model, ws_model_track(report->model, b)->process);
    return (host && other && !strcmp(host, other)) || !strcmp(x->path, y->path);
}

/* Estimates the clocks of all ranks that share collectives with the reference, directly or through other ranks. */
static int walk_from(struct walk *walk, uint32_t reference)
{
    size_t tracks = walk->job->ranks.count;
    walk->known[reference] = true;
    walk->unknown--;
    walk->queue[walk->tail++] = reference;
    /* Usually the reference rank shares collectives with all other ranks, so all clocks are known after the first
     * pass of this loop. */
    while (walk->head < walk->tail && walk->unknown) {
        if (compare_with(walk, walk->queue[walk->head++]))
            return -ENOMEM;
        for (uint32_t track = 0; track < tracks; track++) {
            struct samples *samples = &walk->samples[track];
            if (walk->known[track] || !samples->count)
                continue;
            struct ws_rank_clock *clock = &comm_clocks_rank_at(walk, track)->clock;
            clock->shared_host = share_a_clock(walk->report, reference, track);
            estimate(samples, clock);
            free(samples->items);
            *samples = (struct samples){ 0 };
            walk->known[track] = true;
            walk->unknown--;
            walk->queue[walk->tail++] = track;
        }
    }
    return 0;
}

static int index_joined(struct walk *walk)
{
    const struct ws_joined *joined = walk->job->joined.data;
    const struct ws_joined_entry *entries = walk->job->entries.data;
    for (size_t i = 0; i < walk->job->joined.count; i++) {
        for (uint32_t at = joined[i].first; at < joined[i].first + joined[i].count; at++) {
            uint32_t **list = &walk->joined[entries[at].track];
            if (!*list)
                *list = calloc(ws_report_comm(walk->report, entries[at].track)->ops.count, sizeof(**list));
            if (!*list)
                return -ENOMEM;
            (*list)[entries[at].op] = (uint32_t)i + 1;
        }
    }
    return 0;
}

int ws_comm_clocks(const struct ws_report *report, struct ws_job_comm *job)
{
    size_t tracks = job->ranks.count;
    struct walk walk = { .report = report, .job = job };
    walk.samples = calloc(tracks + 1, sizeof(*walk.samples));
    walk.queue = calloc(tracks + 1, sizeof(*walk.queue));
    walk.known = calloc(tracks + 1, sizeof(*walk.known));
    walk.joined = calloc(tracks + 1, sizeof(*walk.joined));
    int status = walk.samples && walk.queue && walk.known && walk.joined ? index_joined(&walk) : -ENOMEM;
    for (size_t track = 0; track < tracks && !status; track++)
        walk.unknown += walk.joined[track] != NULL;
    for (uint32_t track = 0; track < tracks && !status; track++)
        if (!walk.known[track] && walk.joined[track])
            status = walk_from(&walk, track);
    for (size_t track = 0; track < tracks; track++) {
        if (walk.samples)
            free(walk.samples[track].items);
        if (walk.joined)
            free(walk.joined[track]);
    }
    free(walk.samples);
    free(walk.queue);
    free(walk.known);
    free(walk.joined);
    return status;
}
