#include "analysis/comm/ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/comm/comm.h"
#include "base/minmax.h"

static void print_rank(const struct ws_report *report, uint32_t track, bool with_host, struct ws_table *table)
{
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, track);
    const struct ws_rank *rank = ws_ranks_at(report, track);
    uint32_t device = ws_model_track(report->model, track)->device;
    char time[WS_FORMAT_SIZE];
    ws_table_cell(table, rank->known ? "%" PRIu32 "%s" : "(%" PRIu32 ")%s", rank->number,
                  rank->straggler ? " !" : "");
    if (with_host)
        ws_table_cell(table, "%s", *ws_ranks_host(report, track) ? ws_ranks_host(report, track) : "?");
    if (device)
        ws_table_cell(table, "%" PRIu32, device - 1);
    else
        ws_table_cell(table, "?");
    ws_table_time(table, activity->busy);
    ws_table_time(table, activity->group[WS_GROUP_COMPUTE]);
    ws_table_time(table, activity->exposed_comm);
    if (!rank->matched) {
        for (int column = 0; column < 5; column++)
            ws_table_cell(table, "?");
        return;
    }
    ws_table_count(table, rank->matched);
    ws_table_count(table, rank->late);
    ws_table_time(table, rank->waited);
    ws_table_time(table, rank->caused);
    if (rank->clock.applied)
        ws_table_cell(table, "%s%s", rank->clock.offset < 0 ? "-" : "+",
                      ws_format_time(time, rank->clock.offset < 0 ? -rank->clock.offset : rank->clock.offset));
    else
        ws_table_cell(table, "as is");
}

static void ranks_print_table(const struct ws_report *report, const struct ws_job_ranks *result, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "rank", false, 0 },
        { "GPU", false, WS_NARROW_LEAVE_OUT },
        { "busy", false, WS_NARROW_LEAVE_OUT },
        { "compute", false, WS_NARROW_LEAVE_OUT },
        { "exposed", false, 0 },
        { "matched", false, WS_NARROW_LEAVE_OUT },
        { "late", false, 0 },
        { "waited", false, 0 },
        { "caused", false, 0 },
        { "clock", false, WS_NARROW_LEAVE_OUT },
    };
    struct ws_table_column with_host[sizeof(columns) / sizeof(columns[0]) + 1];
    size_t count = sizeof(columns) / sizeof(columns[0]);
    struct ws_table table;
    memcpy(with_host + 1, columns, sizeof(columns));
    with_host[0] = columns[0];
    with_host[1] = (struct ws_table_column){ "host", true, WS_NARROW_SHORTEN | WS_NARROW_LEAVE_OUT };
    ws_table_init(&table, page, result->hosts > 1 ? with_host : columns, count + (result->hosts > 1));
    for (size_t i = 0; i < ws_page_rows(page, result->count); i++)
        print_rank(report, result->order[i], result->hosts > 1, &table);
    ws_table_finish(&table);
    ws_page_more(page, result->count, "rank");
    if (ws_ranks_job(report)->joined.count)
        ws_page_text(page,
                     "late: collectives in which the others waited for this rank, on average at least 10 µs and "
                     "longer than the clock error; waited: its waits for the last rank; caused: the others' waits "
                     "for this rank, added up.");
}

static void print_matching(const struct ws_report *report, struct ws_page *page)
{
    static const char *const how[WS_MATCH_COUNT] = {
        "by communicator and number of the call",
        "by the order of kernels of one name on a stream, whose ends agree",
        "by kernels of one name that overlap and end together",
    };
    const struct ws_job_comm *job = ws_ranks_job(report);
    char count[WS_FORMAT_SIZE];
    for (int method = 0; method < WS_MATCH_COUNT; method++)
        if (job->by_method[method])
            ws_page_text(page, "%s collectives matched %s.", ws_format_count(count, job->by_method[method]),
                         how[method]);
    if (job->unmatched)
        ws_page_text(page, "%s operations that all ranks join, or may join, were found on one rank only.",
                     ws_format_count(count, job->unmatched));
    if (job->apart)
        ws_page_text(page, "Collectives left out because their operations do not overlap in time: %s.",
                     ws_format_count(count, job->apart));
}

static void print_odd_ranks(const struct ws_report *report, const struct ws_job_ranks *result, struct ws_page *page)
{
    const struct ws_job_comm *job = ws_ranks_job(report);
    for (size_t i = 0, said = 0; i < result->count && said < 8; i++)
        if (ws_ranks_at(report, result->order[i])->twice) {
            ws_page_text(
                page, "Rank %" PRIu32 " was recorded more than once: %s is a duplicate, or belongs to another job.",
                ws_ranks_at(report, result->order[i])->number, ws_ranks_process(report, result->order[i])->path);
            said++;
        }
    if (job->twice)
        ws_page_text(page, "%" PRIu32 " of the communicators' ranks were recorded more than once; the first counts.",
                     job->twice);
    if (job->largest > result->recorded)
        ws_page_text(page, "%zu of %" PRIu32 " ranks were recorded: the last to arrive may be one of the others.",
                     result->recorded, job->largest);
}

static void print_clocks(const struct ws_report *report, const struct ws_job_ranks *result, struct ws_page *page)
{
    char spread[WS_FORMAT_SIZE], offset[WS_FORMAT_SIZE];
    int64_t widest = 0, largest = 0;
    size_t applied = 0, compared = 0;
    for (size_t i = 0; i < result->count; i++) {
        const struct ws_rank_clock *clock = &ws_ranks_at(report, result->order[i])->clock;
        int64_t size = clock->offset < 0 ? -clock->offset : clock->offset;
        compared += clock->samples > 0;
        applied += clock->applied;
        widest = ws_max(clock->spread, widest);
        largest = ws_max(size, largest);
    }
    if (!compared)
        return;
    if (applied)
        ws_page_text(
            page,
            "Clocks are aligned by the ends of collectives, which ranks leave together: %zu of %zu clocks by "
            "up to %s, with a spread of %s (estimates).",
            applied, compared + 1, ws_format_time(offset, largest), ws_format_time(spread, widest));
    else
        ws_page_text(
            page,
            "The ranks leave collectives within %s of one another, with a spread of %s: their clocks agree, and "
            "times are not corrected.",
            ws_format_time(offset, largest), ws_format_time(spread, widest));
}

static void print_straggler(const struct ws_report *report, uint32_t track, struct ws_page *page)
{
    const struct ws_rank *rank = ws_ranks_at(report, track);
    struct ws_lateness lateness = ws_lateness_of(report, track);
    char late[WS_FORMAT_SIZE], costly[WS_FORMAT_SIZE], steps[64] = "", delay[WS_FORMAT_SIZE];
    char why[WS_LATENESS_TEXT];
    if (rank->steps > 1)
        snprintf(steps, sizeof(steps), ", in %" PRIu32 " of %" PRIu32 " steps", rank->late_steps, rank->steps);
    ws_lateness_describe(report, track, &lateness, why);
    ws_page_text(page,
                 "! rank %" PRIu32 " is late: the last in %s of the %s costly collectives%s; another rank waits %s "
                 "for it on average; %s.",
                 rank->number, ws_format_count(late, rank->late),
                 ws_format_count(costly, ws_ranks_job(report)->costly), steps, ws_format_time(delay, rank->delay),
                 why);
}

static void print_stragglers(const struct ws_report *report, const struct ws_job_ranks *result, struct ws_page *page)
{
    enum { MOST_SAID = 8 };
    uint32_t said = 0;
    for (size_t i = 0; i < result->count && said < MOST_SAID; i++) {
        if (!ws_ranks_at(report, result->order[i])->straggler)
            continue;
        print_straggler(report, result->order[i], page);
        said++;
    }
    if (ws_ranks_job(report)->stragglers > said)
        ws_page_text(page, "%" PRIu32 " ranks are late in all.", ws_ranks_job(report)->stragglers);
    if (!said && result->recorded * 2 < ws_ranks_job(report)->largest)
        ws_page_text(page, "Stragglers are not known: less than half of the ranks were recorded.");
    else if (!said)
        ws_page_text(
            page,
            "No straggler: no rank, and no quarter of the ranks, causes four fifths of the waits and delays the "
            "others by 2 %% of the time in half of the steps.");
}

static bool any_untimed(const struct ws_report *report)
{
    bool any = false;
    for (size_t i = 0; i < report->model->tracks.count && !any; i++)
        any = ws_model_track(report->model, i)->untimed > 0;
    return any;
}

void ws_ranks_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    const struct ws_job_comm *job = ws_ranks_job(report);
    const struct ws_job_ranks *result = memory;
    (void)subject;
    if (result->count < 2) {
        if (!result->count)
            ws_page_text(page, any_untimed(report) ? "Not known: no device times." : "Nothing ran on a device.");
        else if (job->largest > 1 && ws_ranks_at(report, result->order[0])->known)
            ws_page_text(page,
                         "Only rank %" PRIu32 " of %" PRIu32 " was recorded: which ranks it waits for is not known.",
                         ws_ranks_at(report, result->order[0])->number, job->largest);
        else if (job->largest > 1)
            ws_page_text(page, "Only one of %" PRIu32 " ranks was recorded: which ranks it waits for is not known.",
                         job->largest);
        else
            ws_page_text(page, "One rank.");
        return;
    }
    ranks_print_table(report, result, page);
    if (!job->joined.count)
        ws_page_text(page, "No collective was found on more than one of them.");
    print_matching(report, page);
    print_odd_ranks(report, result, page);
    print_clocks(report, result, page);
    if (job->joined.count)
        print_stragglers(report, result, page);
}

static int clock_json(json_t *row, const struct ws_rank_clock *clock)
{
    json_t *object = json_object();
    int status = json_object_set_new(row, "clock", object);
    status |= ws_json_set(object, "samples", clock->samples);
    status |= ws_json_set(object, "offset_ns", clock->offset);
    status |= ws_json_set(object, "spread_ns", clock->spread);
    status |= json_object_set_new(object, "drift", json_real(clock->drift));
    status |= json_object_set_new(object, "same_host", json_boolean(clock->shared_host));
    status |= json_object_set_new(object, "applied", json_boolean(clock->applied));
    return status;
}

static int rank_json(const struct ws_report *report, uint32_t track, json_t *list)
{
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, track);
    const struct ws_track_collectives *cost = ws_report_result(report, &ws_analysis_collectives, track);
    const struct ws_rank *rank = ws_ranks_at(report, track);
    uint32_t device = ws_model_track(report->model, track)->device;
    json_t *row = json_object();
    int status = json_array_append_new(list, row);
    status |= json_object_set_new(row, "rank", rank->known ? json_integer(rank->number) : json_null());
    status |= json_object_set_new(row, "twice", json_boolean(rank->twice));
    status |= json_object_set_new(row, "trace", ws_json_text(ws_ranks_process(report, track)->path));
    status |= json_object_set_new(
        row, "host", *ws_ranks_host(report, track) ? ws_json_text(ws_ranks_host(report, track)) : json_null());
    status |= json_object_set_new(row, "device", device ? json_integer(device - 1) : json_null());
    status |= ws_json_set(row, "busy_ns", activity->busy);
    status |= ws_json_set(row, "compute_ns", activity->group[WS_GROUP_COMPUTE]);
    status |= ws_json_set(row, "exposed_comm_ns", activity->exposed_comm);
    status |= ws_json_set(row, "joint", (int64_t)rank->joint);
    status |= ws_json_set(row, "matched", (int64_t)rank->matched);
    status |= ws_json_set(row, "last", (int64_t)rank->last);
    status |= ws_json_set(row, "late", (int64_t)rank->late);
    status |= ws_json_set(row, "steps", rank->steps);
    status |= ws_json_set(row, "late_steps", rank->late_steps);
    status |= ws_json_set(row, "waited_ns", rank->waited);
    status |= ws_json_set(row, "exposed_wait_ns", cost->all.exposed_wait);
    status |= ws_json_set(row, "waited_for_stragglers_ns", cost->waited_for_stragglers);
    status |= ws_json_set(row, "caused_ns", rank->caused);
    status |= ws_json_set(row, "delay_ns", rank->delay);
    status |= json_object_set_new(row, "straggler", json_boolean(rank->straggler));
    if (rank->straggler) {
        struct ws_lateness lateness = ws_lateness_of(report, track);
        status |= ws_json_set(row, "more_compute_ns", lateness.compute);
        status |= ws_json_set(row, "more_idle_ns", lateness.idle);
        status |= json_object_set_new(row, "same_kernels", json_boolean(lateness.same_kernels));
        status |= json_object_set_new(row, "idle_cause", json_string(ws_part_name(lateness.cause)));
    }
    if (rank->clock.samples)
        status |= clock_json(row, &rank->clock);
    return status;
}

int ws_ranks_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_job_comm *job = ws_ranks_job(report);
    const struct ws_job_ranks *result = memory;
    json_t *ranks = json_array(), *matching = json_object();
    (void)subject;
    int status = json_object_set_new(object, "ranks", ranks);
    for (size_t i = 0; i < result->count && !status; i++)
        status = rank_json(report, result->order[i], ranks);
    status |= json_object_set_new(object, "matching", matching);
    for (int method = 0; method < WS_MATCH_COUNT && !status; method++) {
        char key[32];
        snprintf(key, sizeof(key), "by_%s", ws_match_name((enum ws_match_method)method));
        status |= ws_json_set(matching, key, (int64_t)job->by_method[method]);
    }
    status |= ws_json_set(matching, "unmatched", (int64_t)job->unmatched);
    status |= ws_json_set(matching, "apart", (int64_t)job->apart);
    status |= ws_json_set(matching, "costly", (int64_t)job->costly);
    status |= ws_json_set(matching, "job_ranks", job->largest);
    return status ? -ENOMEM : 0;
}
