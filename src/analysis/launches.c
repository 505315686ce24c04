#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity.h"
#include "analysis/delays.h"
#include "analysis/sections.h"
#include "analysis/times.h"

struct track_launches {
    struct ws_vector streams; /* struct ws_stream_delays, most launches first */
    uint64_t launches;        /* host calls that made work */
    int64_t call_time;        /* spent in them, those that block aside */
    uint64_t blocking;
    uint64_t waited_for; /* launches the idle device was waiting for */
    int64_t waited_ns;   /* how long it was idle before them */
};

static int count_calls(const struct ws_process *process, size_t subject, struct track_launches *result)
{
    const struct ws_ops *ops = &process->ops;
    uint64_t launches = 0, blocking = 0;
    int64_t call_time = 0;
    bool *ours = malloc((process->shapes.count + 1) * sizeof(*ours));
    if (!ours)
        return -ENOMEM;
    for (size_t i = 0; i < process->shapes.count; i++)
        ours[i] = ws_process_shape(process, i)->track == subject;
    for (size_t i = 0; i < ops->count; i++) {
        if (!ours[ops->shape[i]] || !ws_op_has_call(ops, i))
            continue;
        launches++;
        if (ops->flags[i] & WS_OP_BLOCKING)
            blocking++;
        else
            call_time = ws_sum(call_time, ws_op_host_length(ops, i));
    }
    free(ours);
    result->launches = launches;
    result->blocking = blocking;
    result->call_time = call_time;
    return 0;
}

/* A launch was waited for when the device ran dry before the call that made it returned. */
static void count_waits(const struct ws_report *report, size_t subject, const struct ws_ops *ops,
                        struct track_launches *result)
{
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    struct ws_gap_walk walk = ws_gap_walk(&activity->gaps, 0);
    for (struct ws_gap gap; ws_gap_next(&walk, &gap);) {
        if (!ws_op_has_call(ops, gap.after) || ws_op_host_end(ops, gap.after) <= gap.begin)
            continue;
        result->waited_for++;
        result->waited_ns += ws_gap_length(&gap);
    }
}

static int run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    struct track_launches *result = memory;
    result->streams = WS_VECTOR(struct ws_stream_delays);
    int status = count_calls(process, subject, result);
    if (status || !track->aligned)
        return status;
    count_waits(report, subject, &process->ops, result);
    return ws_delays_measure(process, track, &result->streams);
}

static void finish(void *memory)
{
    struct track_launches *result = memory;
    ws_vector_finish(&result->streams);
}

static void text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "stream", false, false }, { "launches", false, false }, { "median delay", false, false },
        { "p95", false, false },    { "longest", false, false },
    };
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct track_launches *result = memory;
    const struct ws_stream_delays *rows = result->streams.data;
    char count[WS_FORMAT_SIZE], time[WS_FORMAT_SIZE], mean[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE];
    struct ws_table table;
    int64_t calls = (int64_t)(result->launches - result->blocking);
    if (!result->launches) {
        ws_page_text(page, "No launches.");
        return;
    }
    ws_page_text(page, "%s calls made work for the device; the host spent %s in those that do not block (%s each).",
                 ws_format_count(count, result->launches), ws_format_time(time, result->call_time),
                 ws_format_time(mean, calls ? result->call_time / calls : 0));
    if (!track->aligned) {
        ws_page_text(page,
                     "The trace does not tie the device's clock to the host's: how long launches took to run is "
                     "not known.");
        return;
    }
    if (!track->count)
        return;
    if (result->waited_for)
        ws_page_text(page,
                     "%s of them came when the device had run dry: it was idle for %s before %s (%s of the time).",
                     ws_format_count(count, result->waited_for), ws_format_time(time, result->waited_ns),
                     result->waited_for == 1 ? "it" : "those",
                     ws_format_share(share, result->waited_ns, ws_activity_known(activity)));
    else
        ws_page_text(page, "None of them came when the device had run dry.");
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

static int json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct track_launches *result = memory;
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

const struct ws_analysis ws_analysis_launches = {
    .name = "launches",
    .title = "Launches",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct track_launches),
    .needs = { &ws_analysis_activity },
    .run = run,
    .finish = finish,
    .text = text,
    .json = json,
};
