#include <errno.h>
#include <stdlib.h>

#include "analysis/activity/activity.h"
#include "analysis/comm/comm.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"

/* ns. A collective is costly if the other ranks wait at least this long for the last rank, on average. Shorter waits
 * are no evidence of a late rank, because launch times alone vary that much. If one of the ranks has measured clock
 * differences with a larger interquartile range (ws_rank_clock.spread), this range is the limit for the
 * collective. */
static const int64_t costly_ns = 10000;

/* ns. If the last operation of a matched collective begins more than this time after the first operation has ended,
 * the operations do not belong together, and the match is rejected. Clock errors are smaller than this limit. */
static const int64_t apart_ns = 1000000;

/* Limits for stragglers. The candidates are the fewest ranks that together caused CAUSED_SHARE percent of the waits.
 * If there are several candidates, they must be at most a quarter of the matched ranks, else no rank is a straggler.
 * A candidate is a straggler only if, in at least half of the steady steps (not warm-up or otherwise unusual), it
 * makes the other ranks wait, on average, for at least WAIT_SHARE percent of the step. If there are fewer than
 * FEWEST_STEPS steady steps, the other ranks must wait for WAIT_SHARE percent of the time from the straggler's first
 * matched operation to its last. In this case, the straggler must also be late in at least LATE_FEWEST collectives.
 * If less than half of the job's ranks were matched, no rank is called a straggler. */
enum { CAUSED_SHARE = 80, RANKS_SHARE = 4, WAIT_SHARE = 2, FEWEST_STEPS = 3, LATE_FEWEST = 3 };

struct ranks {
    const struct ws_report *report;
    struct ws_job_comm *job;
    struct ws_rank *list;    /* the job's ranks, by index of the rank's track */
    int64_t **delay_by_step; /* indexed by track and by step: mean ns that the other ranks waited for the rank */
};

static const struct ws_joined_entry *entries_of(const struct ranks *ranks, const struct ws_joined *joined)
{
    return (const struct ws_joined_entry *)ranks->job->entries.data + joined->first;
}

static const struct ws_comm_op *op_of(const struct ranks *ranks, const struct ws_joined_entry *entry)
{
    return (const struct ws_comm_op *)ws_report_comm(ranks->report, entry->track)->ops.data + entry->op;
}

static int64_t comm_waits_begin_of(const struct ranks *ranks, const struct ws_joined_entry *entry)
{
    return ws_rank_to_reference(&ranks->list[entry->track].clock, op_of(ranks, entry)->begin);
}

static int64_t comm_waits_end_of(const struct ranks *ranks, const struct ws_joined_entry *entry)
{
    return ws_rank_to_reference(&ranks->list[entry->track].clock, op_of(ranks, entry)->end);
}

/* Returns the ns that an operation waited, if the last rank arrived at `time` (on the clock of the operation's rank).
 */
static int64_t wait_until(const struct ws_comm_op *op, int64_t time)
{
    int64_t until = ws_min(time, op->end);
    return until > op->begin ? until - op->begin : 0;
}

static void note_rank(struct ws_rank *rank, const struct ws_comm_op *op)
{
    if (!rank->matched++ || op->begin < rank->begin)
        rank->begin = op->begin;
    if (rank->matched == 1 || op->end > rank->end)
        rank->end = op->end;
}

static const struct ws_track_steps *comm_waits_steps_of(const struct ranks *ranks, uint32_t track)
{
    return ws_report_result(ranks->report, &ws_analysis_steps, track);
}

/* Adds the waits of the other ranks in one collective to the figures of the rank that arrived last. `waits` is the
 * sum of the waits, `mean` the mean per waiting rank. If the mean is below `limit`, launch times alone may explain
 * the waits, and the rank does not count as late. */
static void charge_last_rank(const struct ranks *ranks, const struct ws_joined_entry *entry, int64_t waits,
                             int64_t mean, int64_t limit)
{
    struct ws_rank *late = &ranks->list[entry->track];
    const struct ws_step *step = ws_steps_at(comm_waits_steps_of(ranks, entry->track), op_of(ranks, entry)->begin);
    late->last++;
    late->caused = ws_sum(late->caused, waits);
    late->delay = ws_sum(late->delay, mean);
    if (step) {
        const struct ws_step *first = comm_waits_steps_of(ranks, entry->track)->steps.data;
        int64_t *delay = &ranks->delay_by_step[entry->track][step - first];
        *delay = ws_sum(*delay, mean);
    }
    if (mean >= limit) {
        late->late++;
        ranks->job->costly++;
    }
}

/* Finds the rank that arrived last in a collective, and how long the other ranks waited for that rank. */
static void comm_waits_judge(const struct ranks *ranks, const struct ws_joined *joined)
{
    const struct ws_joined_entry *entries = entries_of(ranks, joined);
    uint32_t last = 0;
    int64_t last_begin = INT64_MIN, first_end = INT64_MAX, waits = 0, limit = costly_ns;
    for (uint32_t i = 0; i < joined->count; i++) {
        int64_t begin = comm_waits_begin_of(ranks, &entries[i]), end = comm_waits_end_of(ranks, &entries[i]);
        if (begin > last_begin) {
            last_begin = begin;
            last = i;
        }
        first_end = ws_min(end, first_end);
    }
    if (last_begin - first_end > apart_ns) {
        ranks->job->apart++;
        for (uint32_t i = 0; i < joined->count; i++)
            ranks->list[entries[i].track].apart++;
        return;
    }
    ranks->job->by_method[joined->method]++;
    for (uint32_t i = 0; i < joined->count; i++) {
        struct ws_rank *rank = &ranks->list[entries[i].track];
        const struct ws_comm_op *op = op_of(ranks, &entries[i]);
        int64_t own = ws_rank_from_reference(&rank->clock, last_begin);
        rank->arrivals[entries[i].op].last = i == last ? op->begin : own;
        note_rank(rank, op);
        limit = ws_max(rank->clock.spread, limit);
        int64_t wait = i == last ? 0 : wait_until(op, own);
        rank->waited = ws_sum(rank->waited, wait);
        waits = ws_sum(waits, wait);
    }
    charge_last_rank(ranks, &entries[last], waits, joined->count > 1 ? waits / (joined->count - 1) : 0, limit);
}

/* Finds when the last rank that is not a straggler arrived. */
static void find_fair_arrivals(const struct ranks *ranks, const struct ws_joined *joined)
{
    const struct ws_joined_entry *entries = entries_of(ranks, joined);
    int64_t fair = INT64_MIN;
    for (uint32_t i = 0; i < joined->count; i++) {
        int64_t begin = comm_waits_begin_of(ranks, &entries[i]);
        if (!ranks->list[entries[i].track].straggler && begin > fair)
            fair = begin;
    }
    for (uint32_t i = 0; i < joined->count && fair > INT64_MIN; i++) {
        const struct ws_rank *rank = &ranks->list[entries[i].track];
        struct ws_arrival *arrival = &rank->arrivals[entries[i].op];
        if (arrival->last != INT64_MIN)
            arrival->fair = ws_rank_from_reference(&rank->clock, fair);
    }
}

static int most_caused_first(const void *a, const void *b)
{
    const struct ws_rank *x = *(struct ws_rank *const *)a, *y = *(struct ws_rank *const *)b;
    if (x->caused != y->caused)
        return x->caused < y->caused ? 1 : -1;
    return (x > y) - (x < y);
}

static void count_late_steps(const struct ranks *ranks, uint32_t track)
{
    const struct ws_step *steps = comm_waits_steps_of(ranks, track)->steps.data;
    struct ws_rank *rank = &ranks->list[track];
    const int64_t *delays = ranks->delay_by_step[track];
    for (size_t i = 0; delays && i < comm_waits_steps_of(ranks, track)->steps.count; i++) {
        double length = (double)(steps[i].end - steps[i].begin);
        rank->steps += ws_step_is_steady(&steps[i]);
        rank->steady_delay = ws_sum(rank->steady_delay, ws_step_is_steady(&steps[i]) ? delays[i] : 0);
        rank->late_steps += ws_step_is_steady(&steps[i]) && (double)delays[i] * 100 >= length * WAIT_SHARE;
    }
}

static bool is_late_often(const struct ws_rank *rank)
{
    if (rank->steps >= FEWEST_STEPS)
        return (uint64_t)rank->late_steps * 2 >= rank->steps;
    return rank->late >= LATE_FEWEST && (double)rank->delay * 100 >= (double)(rank->end - rank->begin) * WAIT_SHARE;
}

static int find_stragglers(const struct ranks *ranks)
{
    size_t count = ranks->job->ranks.count, met = 0, chosen = 0;
    struct ws_rank **sorted = malloc((count + 1) * sizeof(struct ws_rank *));
    double caused = 0, by_chosen = 0;
    if (!sorted)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        if (!ranks->list[i].matched)
            continue;
        count_late_steps(ranks, i);
        sorted[met++] = &ranks->list[i];
        caused += (double)ranks->list[i].caused;
    }
    qsort(sorted, met, sizeof(*sorted), most_caused_first);
    while (chosen < met && by_chosen * 100 < caused * CAUSED_SHARE)
        by_chosen += (double)sorted[chosen++]->caused;
    bool few = chosen == 1 || chosen <= met / RANKS_SHARE;
    for (size_t i = 0; i < chosen && few && met * 2 >= ranks->job->largest; i++) {
        sorted[i]->straggler = is_late_often(sorted[i]);
        ranks->job->stragglers += sorted[i]->straggler;
    }
    free(sorted);
    return 0;
}

static int make_arrivals(const struct ranks *ranks)
{
    for (uint32_t i = 0; i < ranks->job->ranks.count; i++) {
        const struct ws_track_comm *comm = ws_report_comm(ranks->report, i);
        const struct ws_comm_member *members = comm->members.data;
        struct ws_rank *rank = &ranks->list[i];
        for (size_t member = 0; member < comm->members.count; member++)
            rank->joint += members[member].joint;
        if (!comm->ops.count)
            continue;
        ranks->delay_by_step[i] =
            calloc(comm_waits_steps_of(ranks, i)->steps.count + 1, sizeof(**ranks->delay_by_step));
        rank->arrivals = malloc(comm->ops.count * sizeof(*rank->arrivals));
        if (!rank->arrivals || !ranks->delay_by_step[i])
            return -ENOMEM;
        for (size_t op = 0; op < comm->ops.count; op++)
            rank->arrivals[op] = (struct ws_arrival){ INT64_MIN, INT64_MIN };
    }
    return 0;
}

int ws_comm_waits(const struct ws_report *report, struct ws_job_comm *job)
{
    struct ranks ranks = { report, job, job->ranks.data, calloc(job->ranks.count + 1, sizeof(int64_t *)) };
    const struct ws_joined *joined = job->joined.data;
    int status = ranks.delay_by_step ? make_arrivals(&ranks) : -ENOMEM;
    for (size_t i = 0; i < job->joined.count && !status; i++)
        comm_waits_judge(&ranks, &joined[i]);
    if (!status)
        status = find_stragglers(&ranks);
    for (size_t i = 0; i < job->joined.count && !status && job->stragglers; i++)
        find_fair_arrivals(&ranks, &joined[i]);
    for (size_t i = 0; i < job->ranks.count; i++) {
        job->unmatched += ranks.list[i].joint - ranks.list[i].matched - ranks.list[i].apart;
        if (ranks.delay_by_step)
            free(ranks.delay_by_step[i]);
    }
    free(ranks.delay_by_step);
    return status;
}
