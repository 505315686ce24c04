#include <errno.h>
#include <stdlib.h>

#include "analysis/activity.h"
#include "analysis/comm.h"
#include "analysis/comm_room.h"
#include "analysis/steps.h"
#include "analysis/times.h"

/* Operations follow one another without a pause where the stream had the next one waiting. */
enum { PAUSE_NS = 10000 };

/* The time of a communication kernel that no earlier one has: parts do not overlap. Within it, how long compute ran:
 * in all, before the last rank came, and from when the last that is no straggler had come until then. */
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
    struct part *parts; /* in order of time */
    size_t count, at;
};

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static int64_t common(int64_t a_begin, int64_t a_end, int64_t b_begin, int64_t b_end)
{
    int64_t begin = a_begin > b_begin ? a_begin : b_begin, end = a_end < b_end ? a_end : b_end;
    return end > begin ? end - begin : 0;
}

static struct ws_arrival arrival_of(const struct cost *cost, uint32_t comm_op)
{
    return cost->rank->arrivals ? cost->rank->arrivals[comm_op] : (struct ws_arrival){ INT64_MIN, INT64_MIN };
}

/* Only what counts as communication in the device's activity, so that sums agree with it. */
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
        int64_t begin = ws_most(ws_op_begin(ops, op), reach), end = ws_op_end(ops, op);
        uint32_t name = ws_process_shape(cost->process, ops->shape[op])->name;
        if (end <= begin || ws_report_group(cost->report, name) != WS_GROUP_COMM)
            continue;
        struct ws_arrival arrival = arrival_of(cost, launches[i].comm_op);
        int64_t last = clamp(arrival.last, begin, end);
        cost->parts[cost->count++] =
            (struct part){ .begin = begin,
                           .fair = arrival.fair == INT64_MIN ? last : clamp(arrival.fair, begin, last),
                           .last = last,
                           .end = end,
                           .comm_op = launches[i].comm_op };
        reach = end;
    }
    return 0;
}

/* Compute ran in [begin, end), a time that lies behind all earlier ones. */
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

/* Sweeps over all operations of the device: the union of its compute against the parts. */
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
        busy += common(begin > reach ? begin : reach, end, from, to);
        reach = end > reach ? end : reach;
        if (!is_compute[ops->shape[op]])
            continue;
        cost->result->kernels += begin >= from && begin < to;
        begin = begin > compute_reach ? begin : compute_reach;
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

static void add_exposure(struct ws_comm_cost *cost, const struct part *part)
{
    cost->exposed += part->end - part->begin - part->under;
    cost->overlap += part->under;
    cost->exposed_wait += part->last - part->begin - part->under_wait;
}

static void add_times(struct ws_comm_cost *cost, const struct ws_comm_op *op, struct ws_arrival arrival)
{
    cost->total = ws_sum(cost->total, op->end - op->begin);
    if (arrival.last == INT64_MIN)
        return;
    int64_t waited = clamp(arrival.last, op->begin, op->end) - op->begin;
    cost->matched++;
    cost->matched_bytes += op->bytes <= INT64_MAX - cost->matched_bytes ? op->bytes : 0;
    cost->waited = ws_sum(cost->waited, waited);
    cost->transfer = ws_sum(cost->transfer, op->end - op->begin - waited);
}

/* Operations that follow one another without a pause, waited for together at their end. */
struct stretch {
    size_t count;
    int64_t exposed, exposed_wait, under;
    int64_t waited_for_stragglers;
    int64_t last_transfer; /* the last one's, outside compute: it stays where it is, whatever the others do */
};

/* If stragglers came with the others, what is exposed would shrink by what was waited for them. If communication
 * began as soon as its data is there, all could go under compute but the last piece; one operation that nothing
 * runs beside might be cut into pieces. */
static void add_stretch(struct ws_track_collectives *result, const struct stretch *stretch)
{
    bool one_piece = stretch->count == 1 && !stretch->under;
    int64_t transfer = stretch->exposed - stretch->exposed_wait;
    result->waited_for_stragglers += stretch->waited_for_stragglers;
    result->caused_by_stragglers +=
        clamp(stretch->exposed - stretch->last_transfer, 0, stretch->waited_for_stragglers);
    result->uncovered += transfer;
    result->hideable += one_piece ? transfer : transfer - stretch->last_transfer;
}

/* Figures of steps where there are steady ones, of all that was recorded where there are none. */
static void add_stretches(const struct cost *cost, const struct ws_track_steps *steps)
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
            add_stretch(cost->result, &stretch);
        stretch = (struct stretch){ 0 };
    }
}

static int longest_first(const void *a, const void *b, void *user)
{
    const struct ws_comm_cost *costs = user, *x = &costs[*(const uint32_t *)a], *y = &costs[*(const uint32_t *)b];
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    return (*(const uint32_t *)a > *(const uint32_t *)b) - (*(const uint32_t *)a < *(const uint32_t *)b);
}

static int add_up(struct cost *cost)
{
    struct ws_track_collectives *result = cost->result;
    const struct ws_comm_op *ops = cost->comm->ops.data;
    const struct ws_comm_kind *kinds = cost->comm->kinds.data;
    if (ws_vector_reach(&result->costs, cost->comm->kinds.count))
        return -ENOMEM;
    struct ws_comm_cost *costs = result->costs.data;
    for (size_t i = 0; i < cost->comm->ops.count; i++) {
        struct ws_arrival arrival = arrival_of(cost, (uint32_t)i);
        add_times(&costs[ops[i].kind], &ops[i], arrival);
        add_times(&result->all, &ops[i], arrival);
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
        qsort_r(result->order.data, result->order.count, sizeof(uint32_t), longest_first, costs);
    return 0;
}

static int run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_job_comm *job = ws_report_result(report, &ws_analysis_comm_match, 0);
    struct ws_track_collectives *result = memory;
    struct cost cost = { .report = report,
                         .track = ws_model_track(report->model, subject),
                         .comm = ws_report_comm(report, subject),
                         .rank = (const struct ws_rank *)job->ranks.data + subject,
                         .result = result };
    cost.process = ws_model_process(report->model, cost.track->process);
    *result = (struct ws_track_collectives){ .costs = WS_VECTOR(struct ws_comm_cost), .order = WS_VECTOR(uint32_t) };
    int status = make_parts(&cost);
    if (!status && (cost.count || cost.rank->matched))
        status = sweep(&cost);
    if (!status)
        status = add_up(&cost);
    if (!status)
        add_stretches(&cost, ws_report_result(report, &ws_analysis_steps, subject));
    free(cost.parts);
    return status;
}

static void finish(void *memory)
{
    struct ws_track_collectives *result = memory;
    ws_vector_finish(&result->costs);
    ws_vector_finish(&result->order);
}

static double rate(uint64_t bytes, int64_t time)
{
    return time > 0 ? (double)bytes / (double)time : 0;
}

static void rate_cell(struct ws_table *table, uint64_t bytes, int64_t time, double factor)
{
    if (bytes && time > 0)
        ws_table_cell(table, "%.2f GB/s", rate(bytes, time) * factor);
    else
        ws_table_cell(table, "?");
}

static void print_row(struct ws_table *table, const struct ws_comm_kind *kind, const struct ws_comm_cost *cost)
{
    double factor = ws_comm_bus_factor(kind->operation, kind->ranks);
    char share[WS_FORMAT_SIZE];
    ws_table_cell(table, "%s%s", ws_comm_name(kind->operation), kind->by_name ? " *" : "");
    if (kind->ranks)
        ws_table_cell(table, "%u", kind->ranks);
    else
        ws_table_cell(table, "?");
    ws_table_count(table, kind->calls);
    if (kind->by_name)
        ws_table_cell(table, "?");
    else
        ws_table_bytes(table, kind->bytes);
    if (!kind->timed) {
        for (int column = 0; column < 6; column++)
            ws_table_cell(table, "?");
        return;
    }
    ws_table_time(table, cost->total);
    ws_table_time(table, cost->exposed);
    ws_table_cell(table, "%s", ws_format_share(share, cost->overlap, cost->overlap + cost->exposed));
    if (cost->matched)
        ws_table_time(table, cost->waited);
    else
        ws_table_cell(table, "?");
    if (cost->matched)
        rate_cell(table, cost->matched_bytes, cost->transfer, 1);
    else
        rate_cell(table, kind->timed_bytes, cost->total, 1);
    if (cost->matched)
        rate_cell(table, cost->matched_bytes, cost->transfer, factor);
    else
        rate_cell(table, kind->timed_bytes, cost->total, factor);
}

static void text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "operation", true, 0 },
        { "ranks", false, WS_NARROW_LEAVE_OUT },
        { "calls", false, 0 },
        { "bytes", false, WS_NARROW_LEAVE_OUT },
        { "total", false, 0 },
        { "exposed", false, 0 },
        { "under", false, WS_NARROW_LEAVE_OUT },
        { "waiting", false, WS_NARROW_LEAVE_OUT },
        { "algorithm", false, WS_NARROW_LEAVE_OUT },
        { "bus", false, WS_NARROW_LEAVE_OUT },
    };
    const struct ws_track_collectives *result = memory;
    const struct ws_comm_kind *kinds = ws_report_comm(report, subject)->kinds.data;
    const struct ws_comm_cost *costs = result->costs.data;
    const uint32_t *order = result->order.data;
    bool by_name = false, by_call = false;
    uint64_t untimed = 0;
    char count[WS_FORMAT_SIZE];
    struct ws_table table;
    if (!result->order.count) {
        ws_page_text(page, "None.");
        return;
    }
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < result->order.count; i++) {
        print_row(&table, &kinds[order[i]], &costs[order[i]]);
        by_name |= kinds[order[i]].by_name;
        by_call |= !kinds[order[i]].by_name;
        untimed += kinds[order[i]].calls - kinds[order[i]].timed;
    }
    ws_table_finish(&table);
    ws_page_text(page, "exposed: outside compute; under: the share that ran while compute did.%s",
                 result->all.matched ? " waiting: until the last rank that was recorded had come." : "");
    if (by_call)
        ws_page_text(page,
                     "Bandwidths as nccl-tests define them, over the time after the last rank had come where that "
                     "is known, else over the whole time of a call. Calls of one group count as one.");
    if (untimed)
        ws_page_text(page, "%s calls have no device times: captured into graphs, or not timed.",
                     ws_format_count(count, untimed));
    if (by_name)
        ws_page_text(page, "* by the kernels' names: the trace holds no calls for them, so sizes are not known.");
}

static int row_json(json_t *list, const struct ws_comm_kind *kind, const struct ws_comm_cost *cost)
{
    double factor = ws_comm_bus_factor(kind->operation, kind->ranks);
    json_t *row = json_object();
    int status = json_array_append_new(list, row);
    status |= json_object_set_new(row, "operation", json_string(ws_comm_name(kind->operation)));
    status |= json_object_set_new(row, "source", json_string(kind->by_name ? "kernel names" : "calls"));
    status |= ws_json_set(row, "ranks", kind->ranks);
    status |= ws_json_set(row, "count", (int64_t)kind->calls);
    if (!kind->by_name)
        status |= ws_json_set(row, "bytes", (int64_t)kind->bytes);
    status |= ws_json_set(row, "timed", (int64_t)kind->timed);
    status |= ws_json_set(row, "total_ns", cost->total);
    status |= ws_json_set(row, "exposed_ns", cost->exposed);
    status |= ws_json_set(row, "overlap_ns", cost->overlap);
    status |= ws_json_set(row, "matched", (int64_t)cost->matched);
    if (cost->total > 0 && !kind->by_name) {
        double algorithm = rate(kind->timed_bytes, cost->total);
        status |= json_object_set_new(row, "algorithm_gb_per_s", json_real(algorithm));
        status |= json_object_set_new(row, "bus_gb_per_s", json_real(algorithm * factor));
    }
    if (cost->matched) {
        status |= ws_json_set(row, "waited_ns", cost->waited);
        status |= ws_json_set(row, "transfer_ns", cost->transfer);
        status |= ws_json_set(row, "exposed_wait_ns", cost->exposed_wait);
    }
    if (cost->matched && cost->matched_bytes && cost->transfer > 0)
        status |= json_object_set_new(row, "transfer_bus_gb_per_s",
                                      json_real(rate(cost->matched_bytes, cost->transfer) * factor));
    return status ? -ENOMEM : 0;
}

static int json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_collectives *result = memory;
    const struct ws_comm_kind *kinds = ws_report_comm(report, subject)->kinds.data;
    const struct ws_comm_cost *costs = result->costs.data;
    const uint32_t *order = result->order.data;
    json_t *list = json_array();
    int status = json_object_set_new(object, "collectives", list);
    for (size_t i = 0; i < result->order.count && !status; i++)
        status = row_json(list, &kinds[order[i]], &costs[order[i]]);
    return status ? -ENOMEM : 0;
}

static int advise_overlap(const struct ws_report *report, size_t subject, const struct ws_track_collectives *result,
                          struct ws_advice_list *list)
{
    static char what[] =
        "let communication run beside compute: on a stream of its own, in pieces, each as soon as its "
        "data is there";
    int64_t hideable = ws_comm_per_step(report, subject, result->hideable), saving = hideable;
    int64_t uncovered = ws_comm_per_step(report, subject, result->uncovered);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    char time[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE], evidence[256];
    int64_t room = saving > 0 ? ws_comm_room(report, subject) : 0;
    if (room == INT64_MIN)
        return -ENOMEM;
    saving = saving < room ? saving : room;
    if (saving <= 0)
        return 0;
    snprintf(evidence, sizeof(evidence), "%s%s outside compute%s; %s of all communication is hidden under compute%s",
             ws_format_time(time, uncovered), steps->kinds[WS_STEP_STEADY] ? " a step" : " in all",
             result->all.matched ? " without the waiting for other ranks" : ", waiting for other ranks included",
             ws_format_share(share, result->all.overlap, result->all.overlap + result->all.exposed),
             room < hideable        ? "; limited by the compute that there is to hide it under"
             : hideable < uncovered ? "; the last operation of each run cannot be hidden"
                                    : "");
    return ws_advice_add(list, &(struct ws_advice){ .part = WS_PART_EXPOSED_COMM,
                                                    .saving_ns = saving,
                                                    .what = what,
                                                    .evidence = evidence,
                                                    .track = (uint32_t)subject });
}

static int advise(const struct ws_report *report, size_t subject, const void *memory, struct ws_advice_list *list)
{
    int status = ws_stragglers_advise(report, subject, list);
    return status ? status : advise_overlap(report, subject, memory, list);
}

const struct ws_analysis ws_analysis_collectives = {
    .name = "collectives",
    .title = "Communication",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_collectives),
    .needs = { &ws_analysis_activity, &ws_analysis_steps, &ws_analysis_comm_ops, &ws_analysis_comm_match },
    .run = run,
    .finish = finish,
    .text = text,
    .advise = advise,
    .json = json,
};
