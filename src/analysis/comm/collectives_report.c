#include "analysis/comm/collectives.h"

#include <errno.h>

#include "analysis/comm/buffer_broadcasts.h"
#include "analysis/comm/comm.h"
#include "analysis/comm/overlap_limit.h"
#include "analysis/comm/slow_link.h"
#include "analysis/kernels/kernels.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"

static double rate(uint64_t bytes, int64_t time)
{
    return time > 0 ? (double)bytes / (double)time : 0;
}

static void comm_collectives_rate_cell(struct ws_table *table, uint64_t bytes, int64_t time, double factor)
{
    if (bytes && time > 0)
        ws_table_cell(table, "%.2f GB/s", rate(bytes, time) * factor);
    else
        ws_table_cell(table, "?");
}

static void comm_collectives_print_row(struct ws_table *table, const struct ws_comm_kind *kind,
                                       const struct ws_comm_cost *cost)
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
        comm_collectives_rate_cell(table, cost->matched_bytes, cost->transfer, 1);
    else
        comm_collectives_rate_cell(table, kind->timed_bytes, cost->total, 1);
    if (cost->matched)
        comm_collectives_rate_cell(table, cost->matched_bytes, cost->transfer, factor);
    else
        comm_collectives_rate_cell(table, kind->timed_bytes, cost->total, factor);
}

void ws_comm_collectives_text(const struct ws_report *report, size_t subject, const void *memory,
                              struct ws_page *page)
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
        comm_collectives_print_row(&table, &kinds[order[i]], &costs[order[i]]);
        by_name |= kinds[order[i]].by_name;
        by_call |= !kinds[order[i]].by_name;
        untimed += kinds[order[i]].calls - kinds[order[i]].timed;
    }
    ws_table_finish(&table);
    ws_page_text(page, "exposed: time outside compute; under: share that ran during compute.%s",
                 result->all.matched ? " waiting: until the last recorded rank arrived." : "");
    if (by_call)
        ws_page_text(page, "Bandwidths as nccl-tests define them, over the time after the last rank arrived if that "
                           "is known, else over the whole call. Calls of one group count as one.");
    ws_slow_link_text(report, subject, page);
    if (untimed)
        ws_page_text(page, "%s calls have no device times: captured into graphs, or not timed.",
                     ws_format_count(count, untimed));
    if (by_name)
        ws_page_text(page, "* by the kernels' names: the trace holds no calls for them, so sizes are not known.");
}

static int comm_collectives_row_json(json_t *list, const struct ws_comm_kind *kind, const struct ws_comm_cost *cost)
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
    if (cost->fastest > 0)
        status |= json_object_set_new(row, "fastest_bus_gb_per_s", json_real(cost->fastest));
    if (cost->matched && cost->matched_bytes && cost->transfer > 0)
        status |= json_object_set_new(row, "transfer_bus_gb_per_s",
                                      json_real(rate(cost->matched_bytes, cost->transfer) * factor));
    return status ? -ENOMEM : 0;
}

int ws_comm_collectives_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_collectives *result = memory;
    const struct ws_comm_kind *kinds = ws_report_comm(report, subject)->kinds.data;
    const struct ws_comm_cost *costs = result->costs.data;
    const uint32_t *order = result->order.data;
    json_t *list = json_array();
    int status = json_object_set_new(object, "collectives", list);
    for (size_t i = 0; i < result->order.count && !status; i++)
        status = comm_collectives_row_json(list, &kinds[order[i]], &costs[order[i]]);
    return status ? -ENOMEM : 0;
}

static int advise_overlap(const struct ws_report *report, size_t subject, const struct ws_track_collectives *result,
                          int64_t broadcasts, struct ws_advice_list *list)
{
    static char what[] =
        "overlap communication with compute: use a stream of its own, and send each piece as soon as its "
        "data is ready";
    int64_t hideable = ws_comm_per_step(report, subject, result->hideable), saving = hideable;
    int64_t uncovered = ws_comm_per_step(report, subject, result->uncovered);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    char time[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE], evidence[256];
    /* In inference with tensor parallelism, the next layer needs the result at once, so no compute can overlap the
     * transfer. */
    if (ws_report_infers(report, subject))
        return 0;
    int64_t room = saving > 0 ? ws_overlap_limit(report, subject) : 0;
    if (room == INT64_MIN)
        return -ENOMEM;
    /* The advice of ws_buffer_broadcasts_advise already counts the time of the broadcasts of buffers as saved, so the
     * advice made here must not count this time again. */
    saving = ws_min(ws_min(saving, uncovered - broadcasts), room);
    if (saving <= 0)
        return 0;
    snprintf(evidence, sizeof(evidence), "%s%s outside compute%s; %s of all communication is hidden under compute%s",
             ws_format_time(time, uncovered), steps->kinds[WS_STEP_STEADY] ? " a step" : " in all",
             result->all.matched ? " without waiting for other ranks" : ", waiting for other ranks included",
             ws_format_share(share, result->all.overlap, result->all.overlap + result->all.exposed),
             room < hideable        ? "; limited by the compute that can hide it"
             : hideable < uncovered ? "; the last operation of each run cannot be hidden"
                                    : "");
    return ws_advice_add(list, &(struct ws_advice){ .part = WS_PART_EXPOSED_COMM,
                                                    .saving_ns = saving,
                                                    .what = what,
                                                    .evidence = evidence,
                                                    .track = (uint32_t)subject });
}

int ws_comm_collectives_advise(const struct ws_report *report, size_t subject, const void *memory,
                               struct ws_advice_list *list)
{
    int64_t broadcasts = 0;
    int status = ws_stragglers_advise(report, subject, list);
    if (!status)
        status = ws_slow_link_advise(report, subject, list);
    if (!status)
        status = ws_buffer_broadcasts_advise(report, subject, list, &broadcasts);
    return status ? status : advise_overlap(report, subject, memory, broadcasts, list);
}
