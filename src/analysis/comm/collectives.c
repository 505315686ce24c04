#include "analysis/comm/collectives.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/activity/activity.h"
#include "analysis/comm/comm.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"

/* ns. If the pause between two communication kernels is shorter than this, we assume that the second kernel was
 * queued before the first ended. */
enum { PAUSE_NS = 10000 };

/* The part of a communication kernel's interval that no earlier communication kernel covers. So the parts of one
 * device do not overlap each other. `begin`, `fair`, `last` and `end` are ns on the host clock: `last` is the time at
 * which the last rank began the collective, `fair` the time at which the last rank that is not a straggler (a rank
 * for which the others often wait) began it. If the last rank is not known, `fair` and `last` equal `begin`. `under`
 * is the ns of compute during the part, `under_wait` the ns of compute between `begin` and `last`. */
struct part {
    int64_t begin, fair, last, end;
    int64_t under, under_wait;
    uint32_t comm_op;
};

struct cost {
    const struct ws_report *report;
    const struct ws_process *process;
    const struct ws_track *track;
    const struct ws_track_comm *comm;
    const struct ws_rank *rank;
    struct ws_track_collectives *result;
    struct part *parts; /* the device's parts, in order of time */
    /* `count`: number of parts; `at`: index of the first part that ends after the start of the compute interval that
     * cover() works on */
    size_t count, at;
};

static int64_t common(int64_t a_begin, int64_t a_end, int64_t b_begin, int64_t b_end)
{
    int64_t begin = ws_max(a_begin, b_begin), end = ws_min(a_end, b_end);
    return end > begin ? end - begin : 0;
}

static struct ws_arrival arrival_of(const struct cost *cost, uint32_t comm_op)
{
    return cost->rank->arrivals ? cost->rank->arrivals[comm_op] : (struct ws_arrival){ INT64_MIN, INT64_MIN };
}

/* Makes a part (struct part) for each communication kernel, which is a kernel in WS_GROUP_COMM. Ignores other
 * kernels, so that the sums agree with those of the analysis of the device's activity (activity.h). */
static int make_parts(struct cost *cost)
{
    const struct ws_comm_launch *launches = cost->comm->launches.data;
    const struct ws_ops *ops = &cost->process->ops;
    int64_t reach = INT64_MIN;
    cost->parts = malloc((cost->comm->launches.count + 1) * sizeof(*cost->parts));
    if (!cost->parts)
        return -ENOMEM;
    for (size_t i = 0; i < cost->comm->launches.count; i++) {
        uint32_t op = launches[i].op;
        int64_t begin = ws_max(ws_op_begin(ops, op), reach), end = ws_op_end(ops, op);
        uint32_t name = ws_process_shape(cost->process, ops->shape[op])->name;
        if (end <= begin || ws_report_group(cost->report, name) != WS_GROUP_COMM)
            continue;
        struct ws_arrival arrival = arrival_of(cost, launches[i].comm_op);
        int64_t last = ws_clamp(arrival.last, begin, end);
        cost->parts[cost->count++] =
            (struct part){ .begin = begin,
                           .fair = arrival.fair == INT64_MIN ? last : ws_clamp(arrival.fair, begin, last),
                           .last = last,
                           .end = end,
                           .comm_op = launches[i].comm_op };
        reach = end;
    }
    return 0;
}

/* Adds the length of the overlap with the compute interval [begin, end) to each part that overlaps with this
 * interval. The intervals of successive calls must be in order of time and must not overlap. */
static void cover(struct cost *cost, int64_t begin, int64_t end)
{
    struct part *parts = cost->parts;
    while (cost->at < cost->count && parts[cost->at].end <= begin)
        cost->at++;
    for (size_t i = cost->at; i < cost->count && parts[i].begin < end; i++) {
        parts[i].under += common(begin, end, parts[i].begin, parts[i].end);
        parts[i].under_wait += common(begin, end, parts[i].begin, parts[i].last);
    }
}

/* Adds up the device's compute and idle time, and the compute during each part (struct part). */
static int sweep(struct cost *cost)
{
    const struct ws_ops *ops = &cost->process->ops;
    int64_t from = cost->rank->begin, to = cost->rank->end, busy = 0, reach = INT64_MIN, compute_reach = INT64_MIN;
    bool *is_compute = malloc(cost->process->shapes.count + 1);
    if (!is_compute)
        return -ENOMEM;
    for (size_t i = 0; i < cost->process->shapes.count; i++)
        is_compute[i] = ws_report_group(cost->report, ws_process_shape(cost->process, i)->name) == WS_GROUP_COMPUTE;
    for (size_t i = 0; i < cost->track->count; i++) {
        uint32_t op = cost->track->order[i];
        int64_t begin = ws_op_begin(ops, op), end = ws_op_end(ops, op);
        busy += common(ws_max(begin, reach), end, from, to);
        reach = ws_max(end, reach);
        if (!is_compute[ops->shape[op]])
            continue;
        cost->result->kernels += begin >= from && begin < to;
        begin = ws_max(begin, compute_reach);
        if (end <= begin)
            continue;
        compute_reach = end;
        cost->result->compute += common(begin, end, from, to);
        cover(cost, begin, end);
    }
    free(is_compute);
    cost->result->idle = to - from - busy;
    return 0;
}

/* Stores, for each operation, the ns of its transfer (the time after the last rank began the collective) in which no
 * compute ran on this device. */
static int comm_collectives_expose(const struct cost *cost)
{
    if (ws_vector_reach(&cost->result->exposed, cost->comm->ops.count))
        return -ENOMEM;
    int64_t *exposed = cost->result->exposed.data;
    for (size_t i = 0; i < cost->count; i++) {
        const struct part *part = &cost->parts[i];
        int64_t transfer = part->end - part->last - (part->under - part->under_wait);
        exposed[part->comm_op] = ws_sum(exposed[part->comm_op], transfer);
    }
    return 0;
}

static void add_exposure(struct ws_comm_cost *cost, const struct part *part)
{
    cost->exposed += part->end - part->begin - part->under;
    cost->overlap += part->under;
    cost->exposed_wait += part->last - part->begin - part->under_wait;
}

/* Sets cost->fastest (the highest bus bandwidth so far) to the operation's bus bandwidth if this is higher. Ignores
 * small operations, because their time depends on latency and not on the link's bandwidth. */
static void comm_collectives_add_speed(struct ws_comm_cost *cost, const struct ws_comm_op *op,
                                       const struct ws_comm_kind *kind, int64_t transfer)
{
    enum { LARGE = 1 << 20 };
    if (op->bytes >= LARGE && op->bytes <= INT64_MAX && transfer > 0) {
        double speed = (double)op->bytes / (double)transfer * ws_comm_bus_factor(kind->operation, kind->ranks);
        cost->fastest = ws_max(cost->fastest, speed);
    }
}

static void comm_collectives_add_times(struct ws_comm_cost *cost, const struct ws_comm_op *op,
                                       const struct ws_comm_kind *kind, struct ws_arrival arrival)
{
    int64_t length = op->end - op->begin;
    cost->total = ws_sum(cost->total, length);
    if (arrival.last == INT64_MIN) {
        comm_collectives_add_speed(cost, op, kind, length);
        return;
    }
    int64_t waited = ws_clamp(arrival.last, op->begin, op->end) - op->begin;
    /* If the rank waits for at least half of the operation's time, the transfer is too short to give a bandwidth:
     * clock errors between ranks may be as long as the transfer. */
    if (waited < length / 2)
        comm_collectives_add_speed(cost, op, kind, length - waited);
    cost->matched++;
    cost->matched_bytes += op->bytes <= INT64_MAX - cost->matched_bytes ? op->bytes : 0;
    cost->waited = ws_sum(cost->waited, waited);
    cost->transfer = ws_sum(cost->transfer, op->end - op->begin - waited);
}

/* Consecutive communication kernels without a pause (PAUSE_NS) between them. We assume that the program needs the
 * results of these kernels only when the last one ends. */
struct stretch {
    size_t count;
    int64_t exposed, exposed_wait, under;
    int64_t waited_for_stragglers;
    /* ns of the last operation's transfer in which no compute ran; we assume that no compute can overlap this
     * transfer */
    int64_t last_transfer;
};

/* Adds up what the stretch (communication kernels without a pause between them) could save. If the stragglers were on
 * time, the exposed time (communication while no compute runs) would shrink by the waits for the stragglers, but not
 * below `last_transfer`. We treat the operations of a stretch as pieces of one transfer. If the program sent each
 * piece as soon as its data is ready, all pieces except the last could run during compute. If a stretch is a single
 * operation that overlaps with no compute, the program could split it into pieces, so its whole transfer counts as
 * hideable. */
static void comm_collectives_add_stretch(struct ws_track_collectives *result, const struct stretch *stretch)
{
    bool one_piece = stretch->count == 1 && !stretch->under;
    int64_t transfer = stretch->exposed - stretch->exposed_wait;
    result->waited_for_stragglers += stretch->waited_for_stragglers;
    result->caused_by_stragglers +=
        ws_clamp(stretch->exposed - stretch->last_transfer, (int64_t)0, stretch->waited_for_stragglers);
    result->uncovered += transfer;
    result->hideable += one_piece ? transfer : transfer - stretch->last_transfer;
}

/* Finds the stretches (series of communication kernels without a pause between them). Adds up the stretches that
 * begin in a steady step (not warm-up or otherwise unusual, steps.h). If there are no steady steps, adds up all
 * stretches. */
static void comm_collectives_add_stretches(const struct cost *cost, const struct ws_track_steps *steps)
{
    struct stretch stretch = { 0 };
    size_t cursor = 0;
    bool counts = true;
    for (size_t i = 0; i < cost->count; i++) {
        const struct part *part = &cost->parts[i];
        if (!stretch.count && steps->kinds[WS_STEP_STEADY])
            counts = ws_step_is_steady(ws_steps_next(steps, &cursor, part->begin));
        stretch.count++;
        stretch.exposed += part->end - part->begin - part->under;
        stretch.exposed_wait += part->last - part->begin - part->under_wait;
        stretch.under += part->under;
        stretch.waited_for_stragglers += part->last - part->fair;
        if (i + 1 < cost->count && part[1].begin - part->end < PAUSE_NS)
            continue;
        stretch.last_transfer = part->end - part->last - (part->under - part->under_wait);
        if (counts)
            comm_collectives_add_stretch(cost->result, &stretch);
        stretch = (struct stretch){ 0 };
    }
}

static int comm_collectives_longest_first(const void *a, const void *b, void *user)
{
    const struct ws_comm_cost *costs = user, *x = &costs[*(const uint32_t *)a], *y = &costs[*(const uint32_t *)b];
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    return (*(const uint32_t *)a > *(const uint32_t *)b) - (*(const uint32_t *)a < *(const uint32_t *)b);
}

static int comm_collectives_add_up(struct cost *cost)
{
    struct ws_track_collectives *result = cost->result;
    const struct ws_comm_op *ops = cost->comm->ops.data;
    const struct ws_comm_kind *kinds = cost->comm->kinds.data;
    if (ws_vector_reach(&result->costs, cost->comm->kinds.count))
        return -ENOMEM;
    struct ws_comm_cost *costs = result->costs.data;
    for (size_t i = 0; i < cost->comm->ops.count; i++) {
        struct ws_arrival arrival = arrival_of(cost, (uint32_t)i);
        comm_collectives_add_times(&costs[ops[i].kind], &ops[i], &kinds[ops[i].kind], arrival);
        comm_collectives_add_times(&result->all, &ops[i], &kinds[ops[i].kind], arrival);
    }
    for (size_t i = 0; i < cost->count; i++) {
        add_exposure(&costs[ops[cost->parts[i].comm_op].kind], &cost->parts[i]);
        add_exposure(&result->all, &cost->parts[i]);
    }
    for (uint32_t i = 0; i < cost->comm->kinds.count; i++) {
        uint32_t *place = kinds[i].calls || kinds[i].timed ? ws_vector_push(&result->order) : NULL;
        if (place)
            *place = i;
        else if (kinds[i].calls || kinds[i].timed)
            return -ENOMEM;
    }
    if (result->order.count)
        qsort_r(result->order.data, result->order.count, sizeof(uint32_t), comm_collectives_longest_first, costs);
    return 0;
}

static int comm_collectives_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_job_comm *job = ws_report_result(report, &ws_analysis_comm_match, 0);
    struct ws_track_collectives *result = memory;
    struct cost cost = { .report = report,
                         .track = ws_model_track(report->model, subject),
                         .comm = ws_report_comm(report, subject),
                         .rank = (const struct ws_rank *)job->ranks.data + subject,
                         .result = result };
    cost.process = ws_model_process(report->model, cost.track->process);
    *result = (struct ws_track_collectives){ .costs = WS_VECTOR(struct ws_comm_cost),
                                             .order = WS_VECTOR(uint32_t),
                                             .exposed = WS_VECTOR(int64_t) };
    int status = make_parts(&cost);
    if (!status && (cost.count || cost.rank->matched))
        status = sweep(&cost);
    if (!status)
        status = comm_collectives_expose(&cost);
    if (!status)
        status = comm_collectives_add_up(&cost);
    if (!status)
        comm_collectives_add_stretches(&cost, ws_report_result(report, &ws_analysis_steps, subject));
    free(cost.parts);
    return status;
}

static void comm_collectives_finish(void *memory)
{
    struct ws_track_collectives *result = memory;
    ws_vector_finish(&result->costs);
    ws_vector_finish(&result->order);
    ws_vector_finish(&result->exposed);
}

const struct ws_analysis ws_analysis_collectives = {
    .name = "collectives",
    .title = "Communication",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_collectives),
    .needs = { &ws_analysis_activity, &ws_analysis_steps, &ws_analysis_comm_ops, &ws_analysis_comm_match },
    .run = comm_collectives_run,
    .finish = comm_collectives_finish,
    .text = ws_comm_collectives_text,
    .advise = ws_comm_collectives_advise,
    .json = ws_comm_collectives_json,
};
