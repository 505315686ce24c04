#include <errno.h>
#include <stdlib.h>

#include "analysis/comm/comm.h"
#include "base/minmax.h"

/* Two operations end at about the same time if their ends differ by at most 50 µs or a twentieth of the shorter
 * operation, whichever is longer. Collectives without sequence numbers are recognized by such ends. For half of
 * NCCL's collectives, the ends differ by less than 20 µs. */
enum { ENDS_WITHIN_NS = 50000, ENDS_SHARE = 20 };

/* A communicator is matched by order (the n-th operations of all ranks are one collective) if at least this
 * percentage of the n-th operations end at about the same time on the compared ranks. */
enum { AGREEING = 90 };

/* A side is one rank's list of operations in one communicator. */
struct side {
    const struct ws_comm_member *member;
    uint32_t track;
    const struct ws_comm_op *ops; /* all communication operations of the track */
    const uint32_t *list; /* indices in `ops` of the operations in this communicator, in order of sequence numbers */
    uint32_t count, at;   /* `count`: length of `list`; `at`: index in `list` of the next operation to match */
};

struct matcher {
    const struct ws_report *report;
    struct ws_job_comm *job;
    struct ws_vector sides; /* struct side; sides of the same communicator are adjacent */
    /* by track: indices of the track's operations, grouped by communicator; side.list points into this array */
    uint32_t **lists;
};

const char *ws_match_name(enum ws_match_method method)
{
    static const char *const names[WS_MATCH_COUNT] = { "sequence", "order", "time" };
    return names[method];
}

/* ---- the sides (one rank's operations in one communicator) of all communicators */

/* Makes the sides of one rank: groups the operations of the rank's track by communicator, with a counting sort. Each
 * group stays in order of time. */
static int add_sides(struct matcher *matcher, uint32_t track)
{
    const struct ws_track_comm *comm = ws_report_comm(matcher->report, track);
    const struct ws_comm_op *ops = comm->ops.data;
    const struct ws_comm_member *members = comm->members.data;
    if (!comm->members.count)
        return 0;
    uint32_t *list = matcher->lists[track] = malloc((comm->ops.count + 1) * sizeof(*list));
    size_t first = matcher->sides.count, used = 0;
    if (!list || ws_vector_reach(&matcher->sides, first + comm->members.count))
        return -ENOMEM;
    struct side *sides = (struct side *)matcher->sides.data + first;
    for (size_t i = 0; i < comm->members.count; i++) {
        sides[i] = (struct side){ .member = &members[i], .track = track, .ops = ops, .list = list + used };
        used += members[i].joint;
    }
    for (uint32_t i = 0; i < comm->ops.count; i++)
        if (ops[i].member != WS_NOWHERE)
            list[(sides[ops[i].member].list - list) + sides[ops[i].member].count++] = i;
    return 0;
}

static int by_sequence(const void *a, const void *b, void *user)
{
    const struct ws_comm_op *ops = user, *x = &ops[*(const uint32_t *)a], *y = &ops[*(const uint32_t *)b];
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Sorts the operations of a side (one rank's operations in one communicator) by sequence number. Operations in order
 * of time normally have ascending numbers, so most traces need no sorting. */
static void sort_side(struct side *side, uint32_t *list)
{
    uint32_t *own = list + (side->list - list);
    for (uint32_t i = 1; i < side->count; i++)
        if (by_sequence(&own[i - 1], &own[i], (void *)side->ops) > 0) {
            qsort_r(own, side->count, sizeof(*own), by_sequence, (void *)side->ops);
            return;
        }
}

static int by_group(const void *a, const void *b)
{
    const struct side *x = a, *y = b;
    if (x->member->group != y->member->group)
        return x->member->group < y->member->group ? -1 : 1;
    if (x->member->rank != y->member->rank)
        return x->member->rank < y->member->rank ? -1 : 1;
    return (x->track > y->track) - (x->track < y->track);
}

/* ---- matching in one communicator */

static const struct ws_comm_op *head(const struct side *side)
{
    return side->at < side->count ? &side->ops[side->list[side->at]] : NULL;
}

static int push_entry(struct matcher *matcher, const struct side *side)
{
    struct ws_joined_entry *entry = ws_vector_push(&matcher->job->entries);
    if (!entry)
        return -ENOMEM;
    *entry = (struct ws_joined_entry){ side->track, side->list[side->at] };
    return 0;
}

/* Makes one collective of all entries of job->entries from index `first` on. If there is only one such entry, removes
 * it instead, because a collective needs two ranks. */
static int push_joined(struct matcher *matcher, size_t first, enum ws_match_method method)
{
    struct ws_job_comm *job = matcher->job;
    if (job->entries.count - first < 2) {
        job->entries.count = first;
        return 0;
    }
    struct ws_joined *joined = ws_vector_push(&job->joined);
    if (!joined)
        return -ENOMEM;
    *joined = (struct ws_joined){ (uint32_t)first, (uint32_t)(job->entries.count - first), method };
    return 0;
}

/* Looks at the next operation of each rank (each side), and makes one collective of the operations that have the
 * lowest sequence number. Repeats this until no operation is left. */
static int match_by_sequence(struct matcher *matcher, struct side *sides, size_t count, enum ws_match_method method)
{
    for (;;) {
        uint64_t lowest = UINT64_MAX;
        bool any = false;
        for (size_t i = 0; i < count; i++) {
            const struct ws_comm_op *op = head(&sides[i]);
            any |= op != NULL;
            if (op && op->sequence < lowest)
                lowest = op->sequence;
        }
        if (!any)
            return 0;
        size_t first = matcher->job->entries.count;
        for (size_t i = 0; i < count; i++) {
            const struct ws_comm_op *op = head(&sides[i]);
            if (!op || op->sequence != lowest)
                continue;
            if (push_entry(matcher, &sides[i]))
                return -ENOMEM;
            /* If a rank has several operations with this sequence number, only the first is matched. */
            for (; op && op->sequence == lowest; op = head(&sides[i]))
                sides[i].at++;
        }
        if (push_joined(matcher, first, method))
            return -ENOMEM;
    }
}

static int64_t comm_match_length_of(const struct ws_comm_op *op)
{
    return op->end - op->begin;
}

/* Do two operations overlap, and do their ends differ by no more than the limit (ENDS_WITHIN_NS, ENDS_SHARE)?
 * `offset`: the clock of b's rank minus the clock of a's rank, ns. */
static bool end_together(const struct ws_comm_op *a, const struct ws_comm_op *b, int64_t offset)
{
    int64_t shortest =
        comm_match_length_of(a) < comm_match_length_of(b) ? comm_match_length_of(a) : comm_match_length_of(b);
    int64_t within = shortest / ENDS_SHARE > ENDS_WITHIN_NS ? shortest / ENDS_SHARE : ENDS_WITHIN_NS;
    int64_t apart = b->end - offset - a->end;
    return apart <= within && -apart <= within && a->begin <= b->end - offset && b->begin - offset <= a->end;
}

/* Looks at the next operation of each rank (each side). Makes one collective of the operation that ends first and of
 * all other ranks' next operations that end at about the same time. Repeats this until no operation is left. */
static int match_by_time(struct matcher *matcher, struct side *sides, size_t count)
{
    for (;;) {
        const struct ws_comm_op *first_to_end = NULL;
        for (size_t i = 0; i < count; i++) {
            const struct ws_comm_op *op = head(&sides[i]);
            if (op && (!first_to_end || op->end < first_to_end->end))
                first_to_end = op;
        }
        if (!first_to_end)
            return 0;
        size_t first = matcher->job->entries.count;
        for (size_t i = 0; i < count; i++) {
            const struct ws_comm_op *op = head(&sides[i]);
            if (!op || !end_together(first_to_end, op, 0))
                continue;
            if (push_entry(matcher, &sides[i]))
                return -ENOMEM;
            sides[i].at++;
        }
        if (push_joined(matcher, first, WS_MATCH_TIME))
            return -ENOMEM;
    }
}

/* Compares the ends of the n-th operations of `first` and `side`, for up to SAMPLES values of n. Returns the median
 * of the end in `side` minus the end in `first`, ns. */
static int64_t side_offset(const struct side *first, const struct side *side)
{
    enum { SAMPLES = 255 };
    int64_t differences[SAMPLES];
    uint32_t stride = first->count / SAMPLES + 1, count = 0;
    for (uint32_t i = 0; i < first->count; i += stride)
        differences[count++] = side->ops[side->list[i]].end - first->ops[first->list[i]].end;
    qsort(differences, count, sizeof(*differences), ws_ascending);
    int64_t median = differences[count / 2];
    return median > WS_TIME_MOST ? WS_TIME_MOST : median < -WS_TIME_MOST ? -WS_TIME_MOST : median;
}

/* Do the n-th operations of all ranks form one collective, for every n? Returns true if all ranks have the same
 * number of operations, and if at least AGREEING percent of the n-th operations end at about the same time after the
 * clocks are aligned (side_offset). */
static bool agree_in_order(struct side *sides, size_t count)
{
    uint64_t agreeing = 0;
    for (size_t i = 0; i < count; i++)
        if (!sides[i].count || sides[i].count != sides[0].count)
            return false;
    for (size_t i = 1; i < count; i++) {
        int64_t offset = side_offset(&sides[0], &sides[i]);
        for (uint32_t at = 0; at < sides[0].count; at++)
            agreeing += end_together(&sides[0].ops[sides[0].list[at]], &sides[i].ops[sides[i].list[at]], offset);
    }
    return agreeing * 100 >= (uint64_t)(count - 1) * sides[0].count * AGREEING;
}

/* Two devices cannot be the same rank of a communicator. If several sides (lists of operations of a device) have the
 * same rank, keeps only the first. Returns the number of sides that are left. */
static size_t drop_twice(struct matcher *matcher, struct side *sides, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept && sides[i].member->size && sides[i].member->rank == sides[kept - 1].member->rank)
            matcher->job->twice++;
        else
            sides[kept++] = sides[i];
    }
    return kept;
}

static int match_one(struct matcher *matcher, struct side *sides, size_t count)
{
    if (count < 2)
        return 0;
    bool guess = false; /* true: at least one rank has operations without a sequence number */
    for (size_t i = 0; i < count; i++)
        guess |= sides[i].member->by_name || sides[i].member->unnumbered;
    if (!guess)
        return match_by_sequence(matcher, sides, count, WS_MATCH_SEQUENCE);
    if (agree_in_order(sides, count))
        return match_by_sequence(matcher, sides, count, WS_MATCH_ORDER);
    return match_by_time(matcher, sides, count);
}

static int match_all(struct matcher *matcher)
{
    struct side *sides = matcher->sides.data;
    size_t count = matcher->sides.count;
    int status = 0;
    if (count)
        qsort(sides, count, sizeof(*sides), by_group);
    for (size_t from = 0, to; from < count && !status; from = to) {
        for (to = from + 1; to < count && sides[to].member->group == sides[from].member->group; to++)
            ;
        status = match_one(matcher, &sides[from], drop_twice(matcher, &sides[from], to - from));
    }
    return status;
}

int ws_comm_match(const struct ws_report *report, struct ws_job_comm *job)
{
    size_t tracks = report->model->tracks.count;
    struct matcher matcher = { report, job, WS_VECTOR(struct side), calloc(tracks + 1, sizeof(uint32_t *)) };
    int status = matcher.lists ? 0 : -ENOMEM;
    for (uint32_t track = 0; track < tracks && !status; track++)
        status = add_sides(&matcher, track);
    struct side *sides = matcher.sides.data;
    for (size_t i = 0; i < matcher.sides.count && !status; i++)
        sort_side(&sides[i], matcher.lists[sides[i].track]);
    if (!status)
        status = match_all(&matcher);
    for (size_t track = 0; matcher.lists && track < tracks; track++)
        free(matcher.lists[track]);
    free(matcher.lists);
    ws_vector_finish(&matcher.sides);
    return status;
}
