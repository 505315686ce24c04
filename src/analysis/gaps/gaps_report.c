#include "analysis/gaps/gaps.h"

#include <errno.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/gaps/gap_report.h"
#include "analysis/gaps/gap_waits.h"
#include "analysis/kernels/label.h"

static const char *const decade_names[WS_GAP_DECADES] = { "below 1 µs", "1–10 µs",       "10–100 µs", "0.1–1 ms",
                                                          "1–10 ms",    "10–100 ms",     "0.1–1 s",   "1–10 s",
                                                          "10–100 s",   "100 s and more" };

struct side {
    const char *name;
    uint32_t stream; /* the stream's id in the trace; 0: not known */
    uint32_t thread;
};

static struct side side_of(const struct ws_report *report, const struct ws_process *process, uint32_t op)
{
    const struct ws_op_shape *shape = ws_process_shape(process, process->ops.shape[op]);
    return (struct side){ ws_model_name(report->model, shape->name)->text, shape->row.stream,
                          ws_op_thread(&process->ops, op) };
}

static void print_histogram(const struct ws_track_gaps *result, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "length", true, false }, { "gaps", false, false }, { "idle time", false, false }, { "share", false, false }
    };
    struct ws_table table;
    char share[WS_FORMAT_SIZE];
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < WS_GAP_DECADES; i++) {
        if (!result->histogram[i].count)
            continue;
        ws_table_cell(&table, "%s", decade_names[i]);
        ws_table_count(&table, result->histogram[i].count);
        ws_table_time(&table, result->histogram[i].total);
        ws_table_cell(&table, "%s", ws_format_share(share, result->histogram[i].total, result->total));
    }
    ws_table_finish(&table);
}

static void print_longest(const struct ws_report *report, size_t subject, const struct ws_track_gaps *result,
                          struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "idle", false, false },   { "at", false, WS_NARROW_LEAVE_OUT },
        { "cause", true, false },   { "stream", false, WS_NARROW_LEAVE_OUT },
        { "ended by", true, true }, { "after", true, true },
    };
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_gap_line *lines = causes->lines.data;
    struct ws_table table;
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    size_t shown = page->top && page->top < result->largest_count ? page->top : result->largest_count;
    for (size_t i = 0; i < shown; i++) {
        const struct ws_long_gap *gap = &result->largest[i];
        struct side before = side_of(report, process, gap->gap.before),
                    after = side_of(report, process, gap->gap.after);
        ws_table_time(&table, gap->length);
        ws_table_time(&table, gap->gap.begin - ws_activity_origin(track, activity));
        ws_table_cell(&table, "%s", ws_part_label(lines[gap->line].cause));
        ws_table_cell(&table, "%u", after.stream);
        ws_table_name(&table, after.name);
        ws_table_name(&table, before.name);
    }
    ws_table_finish(&table);
    /* The table holds only the longest gaps. With --top 0 or a large --top, the user expects all gaps, so the page
     * then tells how many gaps the table leaves out. */
    if (!page->top || page->top > WS_GAPS_LARGEST)
        ws_page_more_of(page, result->largest_count, result->count, "");
}

void ws_gaps_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_track_gaps *result = memory;
    if (!result->count) {
        ws_page_text(page, track->count ? "None: something ran all the time." : "Not known: no device times.");
        return;
    }
    ws_gap_causes_text(report, subject, page);
    ws_gap_waits_text(report, subject, page);
    fputc('\n', page->out);
    ws_page_text(page, "The longest gaps of the whole recording, and all gaps by length:");
    print_longest(report, subject, result, page);
    fputc('\n', page->out);
    print_histogram(result, page);
}

static json_t *gaps_side_json(const struct ws_report *report, const struct ws_process *process, uint32_t op)
{
    struct side side = side_of(report, process, op);
    json_t *object = json_object();
    int status = json_object_set_new(object, "name", ws_json_text(side.name));
    status |= ws_json_set(object, "stream", side.stream);
    status |= ws_json_set(object, "thread", side.thread);
    status |= ws_json_set(object, "correlation", (int64_t)ws_op_correlation(&process->ops, op));
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

/* Adds the key waited_for: the reason why the queued operation waited in the gap. The value is null unless the gap's
 * cause is `wait` or `dispatch`. */
static int waited_json(const struct ws_report *report, size_t subject, enum ws_part cause, const struct ws_gap *gap,
                       json_t *row)
{
    if (!ws_is_queued_cause(cause))
        return json_object_set_new(row, "waited_for", json_null());
    json_t *waited = json_object();
    struct ws_gap_wait wait = ws_gap_wait_of(report, subject, cause, gap);
    int status = json_object_set_new(row, "waited_for", waited);
    return status ? status : ws_gap_wait_json(report, subject, &wait, waited);
}

int ws_gaps_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_track_gaps *result = memory;
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_gap_line *lines = causes->lines.data;
    json_t *list = json_array(), *histogram = json_array();
    int status = json_object_set_new(object, "gaps", list);
    status |= ws_gap_causes_json(report, subject, object);
    status |= ws_gap_waits_json(report, subject, object);
    status |= json_object_set_new(object, "gap_histogram", histogram);
    status |= ws_json_set(object, "gap_count", (int64_t)result->count);
    size_t shown = report->top && report->top < result->largest_count ? report->top : result->largest_count;
    for (size_t i = 0; i < shown && !status; i++) {
        const struct ws_long_gap *gap = &result->largest[i];
        json_t *row = json_object();
        status |= ws_json_set(row, "begin_ns", gap->gap.begin);
        status |= ws_json_set(row, "length_ns", gap->length);
        status |= json_object_set_new(row, "cause", json_string(ws_part_name(lines[gap->line].cause)));
        status |= ws_gap_line_json(row, process, &lines[gap->line]);
        status |= waited_json(report, subject, lines[gap->line].cause, &gap->gap, row);
        status |= json_object_set_new(row, "before", gaps_side_json(report, process, gap->gap.before));
        status |= json_object_set_new(row, "after", gaps_side_json(report, process, gap->gap.after));
        status |= json_array_append_new(list, row);
    }
    int64_t from = 0;
    for (size_t i = 0; i < WS_GAP_DECADES && !status; i++) {
        json_t *row = json_object();
        status |= ws_json_set(row, "from_ns", from);
        status |= ws_json_set(row, "count", (int64_t)result->histogram[i].count);
        status |= ws_json_set(row, "total_ns", result->histogram[i].total);
        status |= json_array_append_new(histogram, row);
        from = from ? from * 10 : 1000;
    }
    return status ? -ENOMEM : 0;
}
