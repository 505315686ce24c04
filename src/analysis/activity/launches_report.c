#include "analysis/activity/launches.h"

#include <errno.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/activity/delays.h"

void ws_launches_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "stream", false, false }, { "launches", false, false }, { "median delay", false, false },
        { "p95", false, false },    { "longest", false, false },
    };
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct ws_track_launches *result = memory;
    const struct ws_stream_delays *rows = result->streams.data;
    char count[WS_FORMAT_SIZE], time[WS_FORMAT_SIZE], mean[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE];
    struct ws_table table;
    int64_t calls = (int64_t)(result->launches - result->blocking);
    if (!result->launches) {
        ws_page_text(page, "No launches.");
        return;
    }
    ws_page_text(page,
                 "%s calls launched work on the device; the host spent %s in those that do not block (%s each).",
                 ws_format_count(count, result->launches), ws_format_time(time, result->call_time),
                 ws_format_time(mean, calls ? result->call_time / calls : 0));
    if (!track->aligned) {
        ws_page_text(page, "Launch delays are not known: the trace does not tie the device's clock to the host's.");
        return;
    }
    if (!track->count)
        return;
    if (result->waited_for)
        ws_page_text(page, "%s of them found the device idle: it was idle for %s before %s (%s of the time).",
                     ws_format_count(count, result->waited_for), ws_format_time(time, result->waited_ns),
                     result->waited_for == 1 ? "it" : "them",
                     ws_format_share(share, result->waited_ns, ws_activity_known(activity)));
    else
        ws_page_text(page, "None of them found the device idle.");
    fputc('\n', page->out);
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < ws_page_rows(page, result->streams.count); i++) {
        ws_table_cell(&table, "%u", rows[i].stream);
        ws_table_count(&table, rows[i].count);
        ws_table_time(&table, rows[i].median);
        ws_table_time(&table, rows[i].p95);
        ws_table_time(&table, rows[i].max);
    }
    ws_table_finish(&table);
    ws_page_more(page, result->streams.count, "");
    if (track->clock_error)
        ws_page_text(page, "Delay: from the launch call to the begin on the device, right within ±%s.",
                     ws_format_time(time, track->clock_error));
    else
        ws_page_text(page, "Delay: from the launch call to the begin on the device.");
}

int ws_launches_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_track_launches *result = memory;
    const struct ws_stream_delays *rows = result->streams.data;
    json_t *launches = json_object(), *streams = json_array();
    int status = json_object_set_new(object, "launches", launches);
    status |= ws_json_set(launches, "count", (int64_t)result->launches);
    status |= ws_json_set(launches, "blocking", (int64_t)result->blocking);
    status |= ws_json_set(launches, "call_ns", result->call_time);
    status |= json_object_set_new(launches, "streams", streams);
    if (track->aligned) {
        status |= ws_json_set(launches, "waited_for", (int64_t)result->waited_for);
        status |= ws_json_set(launches, "waited_ns", result->waited_ns);
    }
    for (size_t i = 0; i < result->streams.count && !status; i++) {
        json_t *row = json_object();
        status |= ws_json_set(row, "stream", rows[i].stream);
        status |= ws_json_set(row, "count", (int64_t)rows[i].count);
        status |= ws_json_set(row, "median_ns", rows[i].median);
        status |= ws_json_set(row, "p95_ns", rows[i].p95);
        status |= ws_json_set(row, "max_ns", rows[i].max);
        status |= json_array_append_new(streams, row);
    }
    return status ? -ENOMEM : 0;
}
