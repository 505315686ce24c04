#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity.h"
#include "analysis/gaps.h"
#include "analysis/sections.h"
#include "analysis/steps.h"

enum { DECADES = 10, LARGEST = 1000 };

/* A gap with what is asked of it most. */
struct long_gap {
    int64_t begin, length;
    uint32_t before, after; /* operations */
    uint32_t line;          /* place in ws_track_causes.lines */
};

struct decade {
    uint64_t count;
    int64_t total;
};

struct track_gaps {
    struct decade histogram[DECADES]; /* [0]: below 1 µs; [i]: from 10^(i-1) µs */
    uint64_t count;
    int64_t total;
    struct long_gap *largest; /* longest first */
    size_t largest_count;
};

static const char *const decade_names[DECADES] = {
    "below 1 µs", "1–10 µs", "10–100 µs", "0.1–1 ms", "1–10 ms",
    "10–100 ms",  "0.1–1 s", "1–10 s",    "10–100 s", "100 s and more"
};

static size_t decade_of(int64_t length)
{
    size_t decade = 0;
    for (int64_t limit = 1000; decade + 1 < DECADES && length >= limit; limit *= 10)
        decade++;
    return decade;
}

static void swap(struct long_gap *a, struct long_gap *b)
{
    struct long_gap saved = *a;
    *a = *b;
    *b = saved;
}

/* Keeps the heap's smallest at its top after the top changed. */
static void sink(struct long_gap *heap, size_t count)
{
    for (size_t at = 0;;) {
        size_t smallest = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (heap[child].length < heap[smallest].length)
                smallest = child;
        if (smallest == at)
            return;
        swap(&heap[at], &heap[smallest]);
        at = smallest;
    }
}

static void offer(struct track_gaps *result, const struct long_gap *gap)
{
    struct long_gap *heap = result->largest;
    if (result->largest_count < LARGEST) {
        size_t at = result->largest_count++;
        heap[at] = *gap;
        for (; at && heap[at].length < heap[(at - 1) / 2].length; at = (at - 1) / 2)
            swap(&heap[at], &heap[(at - 1) / 2]);
    } else if (gap->length > heap[0].length) {
        heap[0] = *gap;
        sink(heap, LARGEST);
    }
}

static int longest_first(const void *a, const void *b)
{
    const struct long_gap *x = a, *y = b;
    if (x->length != y->length)
        return x->length < y->length ? 1 : -1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static int run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_ops *ops = &ws_model_process(report->model, track->process)->ops;
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_gap *gaps = activity->gaps.data;
    struct track_gaps *result = memory;
    result->largest = malloc(LARGEST * sizeof(*result->largest));
    if (!result->largest)
        return -ENOMEM;
    for (size_t i = 0; i < activity->gaps.count; i++) {
        struct long_gap gap = { ws_gap_begin(ops, &gaps[i]), ws_gap_length(ops, track, &gaps[i]), gaps[i].before,
                                track->order[gaps[i].after], causes->line_of[i] };
        struct decade *decade = &result->histogram[decade_of(gap.length)];
        decade->count++;
        decade->total += gap.length;
        offer(result, &gap);
    }
    result->count = activity->gaps.count;
    result->total = activity->idle;
    qsort(result->largest, result->largest_count, sizeof(*result->largest), longest_first);
    return 0;
}

static void finish(void *memory)
{
    struct track_gaps *result = memory;
    free(result->largest);
}

struct side {
    const char *name;
    uint32_t stream; /* identifiers of the trace, 0 when not known */
    uint32_t thread;
};

static struct side side_of(const struct ws_report *report, const struct ws_process *process, uint32_t op)
{
    const struct ws_op_shape *shape = ws_process_shape(process, process->ops.shape[op]);
    return (struct side){ ws_model_name(report->model, shape->name)->text, shape->row.stream,
                          ws_op_thread(&process->ops, op) };
}

static void thread_cell(struct ws_table *table, const struct ws_process *process, uint32_t id)
{
    const struct ws_thread *thread = ws_rows_find(&process->threads, id);
    if (thread && thread->name.length)
        ws_table_cell(table, "%s (%u)", thread->name.data, thread->tid);
    else if (thread)
        ws_table_cell(table, "%u", thread->tid);
    else
        ws_table_cell(table, "?");
}

static void print_histogram(const struct track_gaps *result, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "length", true, false }, { "gaps", false, false }, { "idle time", false, false }, { "share", false, false }
    };
    struct ws_table table;
    char share[WS_FORMAT_SIZE];
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < DECADES; i++) {
        if (!result->histogram[i].count)
            continue;
        ws_table_cell(&table, "%s", decade_names[i]);
        ws_table_count(&table, result->histogram[i].count);
        ws_table_time(&table, result->histogram[i].total);
        ws_table_cell(&table, "%s", ws_format_share(share, result->histogram[i].total, result->total));
    }
    ws_table_finish(&table);
}

/* Of a steady step where there are some; else of the whole recording. */
static void time_cell(struct ws_table *table, const struct ws_track_causes *causes,
                      const struct ws_track_steps *steps, const struct ws_gap_total *total)
{
    ws_table_time(table, causes->per_step ? ws_steps_share(steps, total->steady) : total->total);
}

static const char *time_title(const struct ws_track_causes *causes)
{
    return causes->per_step ? "a step" : "idle time";
}

/* Causes of no time are left out. */
static void print_causes(const struct ws_track_causes *causes, const struct ws_track_steps *steps,
                         const struct track_gaps *result, struct ws_page *page)
{
    const struct ws_table_column columns[] = {
        { "cause", true, false },
        { time_title(causes), false, false },
        { "gaps", false, false },
        { "share of all", false, false },
    };
    enum ws_part order[WS_CAUSE_COUNT];
    struct ws_table table;
    char share[WS_FORMAT_SIZE];
    ws_gap_causes_order(causes, order);
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < WS_CAUSE_COUNT; i++) {
        const struct ws_gap_total *total = &causes->totals[order[i]];
        if (!total->count)
            continue;
        ws_table_cell(&table, "%s", ws_part_label(order[i]));
        time_cell(&table, causes, steps, total);
        ws_table_count(&table, total->count);
        ws_table_cell(&table, "%s", ws_format_share(share, total->total, result->total));
    }
    ws_table_finish(&table);
    char time[WS_FORMAT_SIZE], count[WS_FORMAT_SIZE];
    if (causes->hostless.count)
        ws_page_text(page,
                     "Incomplete: host side missing. The trace does not hold the calls that launched what ended %s "
                     "gaps (%s), or does not tie the device's clock to the host's: that is no idle time of the "
                     "program's making, as far as the trace shows.",
                     ws_format_count(count, causes->hostless.count), ws_format_time(time, causes->hostless.total));
    if (causes->within_error.count)
        ws_page_text(
            page, "%s gaps (%s) are no longer than the errors of their times: whether they are there is not sure.",
            ws_format_count(count, causes->within_error.count), ws_format_time(time, causes->within_error.total));
}

/* The place in the program; else the call; else nothing. */
static void line_cell(struct ws_table *table, const struct ws_process *process, const struct ws_gap_line *line)
{
    char text[256];
    const struct ws_driver_function *function = ws_rows_find(&process->driver_functions, line->function);
    if (ws_gap_line_text(process, line, text, sizeof(text)))
        ws_table_cell(table, "%s", text);
    else
        ws_table_cell(table, "%s", function ? function->name.data : "");
}

static void print_lines(const struct ws_track_causes *causes, const struct ws_track_steps *steps,
                        const struct ws_process *process, struct ws_page *page)
{
    const struct ws_table_column columns[] = {
        { "cause", true, false }, { time_title(causes), false, false }, { "gaps", false, false },
        { "thread", true, true }, { "line or call", true, true },
    };
    const struct ws_gap_line *lines = causes->lines.data;
    size_t shown = page->top && page->top < causes->lines.count ? page->top : causes->lines.count;
    struct ws_table table;
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < shown; i++) {
        ws_table_cell(&table, "%s", ws_part_label(lines[i].cause));
        time_cell(&table, causes, steps, &lines[i].gaps);
        ws_table_count(&table, lines[i].gaps.count);
        thread_cell(&table, process, lines[i].thread);
        line_cell(&table, process, &lines[i]);
    }
    ws_table_finish(&table);
}

static void print_longest(const struct ws_report *report, size_t subject, const struct track_gaps *result,
                          struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "idle", false, false },   { "at", false, false },     { "cause", true, false },
        { "stream", false, false }, { "ended by", true, true }, { "after", true, true },
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
        const struct long_gap *gap = &result->largest[i];
        struct side before = side_of(report, process, gap->before), after = side_of(report, process, gap->after);
        ws_table_time(&table, gap->length);
        ws_table_time(&table, gap->begin - activity->begin);
        ws_table_cell(&table, "%s", ws_part_label(lines[gap->line].cause));
        ws_table_cell(&table, "%u", after.stream);
        ws_table_cell(&table, "%s", after.name);
        ws_table_cell(&table, "%s", before.name);
    }
    ws_table_finish(&table);
}

static void text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct track_gaps *result = memory;
    if (!result->count) {
        ws_page_text(page, track->count ? "None: something ran all the time." : "Not known: no device times.");
        return;
    }
    print_causes(causes, steps, result, page);
    fputc('\n', page->out);
    print_lines(causes, steps, process, page);
    fputc('\n', page->out);
    print_longest(report, subject, result, page);
    fputc('\n', page->out);
    print_histogram(result, page);
}

static json_t *side_json(const struct ws_report *report, const struct ws_process *process, uint32_t op)
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

static int line_json(json_t *row, const struct ws_process *process, const struct ws_gap_line *line)
{
    char text[256];
    const struct ws_driver_function *function = ws_rows_find(&process->driver_functions, line->function);
    bool known = ws_gap_line_text(process, line, text, sizeof(text));
    int status = json_object_set_new(row, "line", known ? ws_json_text(text) : json_null());
    status |= json_object_set_new(row, "function", function ? ws_json_text(function->name.data) : json_null());
    return status;
}

static int total_json(json_t *row, const struct ws_gap_total *total, const struct ws_track_causes *causes,
                      const struct ws_track_steps *steps)
{
    int status = ws_json_set(row, "count", (int64_t)total->count);
    status |= ws_json_set(row, "total_ns", total->total);
    status |= json_object_set_new(
        row, "per_step_ns", causes->per_step ? json_integer(ws_steps_share(steps, total->steady)) : json_null());
    return status;
}

static int lines_json(json_t *list, const struct ws_report *report, const struct ws_process *process,
                      const struct ws_track_causes *causes, const struct ws_track_steps *steps, enum ws_part cause)
{
    const struct ws_gap_line *lines = causes->lines.data;
    int status = 0;
    for (size_t i = 0; i < causes->lines.count && !status; i++) {
        if (lines[i].cause != cause || (report->top && json_array_size(list) >= report->top))
            continue;
        json_t *row = json_object();
        status |= json_array_append_new(list, row);
        status |= line_json(row, process, &lines[i]);
        status |= ws_json_set(row, "thread", lines[i].thread);
        status |= total_json(row, &lines[i].gaps, causes, steps);
        status |= ws_json_set(row, "max_ns", lines[i].longest);
    }
    return status;
}

static int causes_json(json_t *object, const struct ws_report *report, size_t subject)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    enum ws_part order[WS_CAUSE_COUNT];
    json_t *list = json_array();
    int status = json_object_set_new(object, "gap_causes", list);
    ws_gap_causes_order(causes, order);
    for (size_t i = 0; i < WS_CAUSE_COUNT && !status; i++) {
        const struct ws_gap_total *total = &causes->totals[order[i]];
        if (!total->count)
            continue;
        json_t *row = json_object(), *lines = json_array();
        status |= json_array_append_new(list, row);
        status |= json_object_set_new(row, "cause", json_string(ws_part_name(order[i])));
        status |= total_json(row, total, causes, steps);
        status |= json_object_set_new(row, "lines", lines);
        status = status ? status : lines_json(lines, report, process, causes, steps, order[i]);
    }
    status |= ws_json_set(object, "gaps_without_host_ns", causes->hostless.total);
    status |= ws_json_set(object, "gaps_within_error_ns", causes->within_error.total);
    return status;
}

static int json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct track_gaps *result = memory;
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_gap_line *lines = causes->lines.data;
    json_t *list = json_array(), *histogram = json_array();
    int status = json_object_set_new(object, "gaps", list);
    status |= causes_json(object, report, subject);
    status |= json_object_set_new(object, "gap_histogram", histogram);
    status |= ws_json_set(object, "gap_count", (int64_t)result->count);
    size_t shown = report->top && report->top < result->largest_count ? report->top : result->largest_count;
    for (size_t i = 0; i < shown && !status; i++) {
        const struct long_gap *gap = &result->largest[i];
        json_t *row = json_object();
        status |= ws_json_set(row, "begin_ns", gap->begin);
        status |= ws_json_set(row, "length_ns", gap->length);
        status |= json_object_set_new(row, "cause", json_string(ws_part_name(lines[gap->line].cause)));
        status |= line_json(row, process, &lines[gap->line]);
        status |= json_object_set_new(row, "before", side_json(report, process, gap->before));
        status |= json_object_set_new(row, "after", side_json(report, process, gap->after));
        status |= json_array_append_new(list, row);
    }
    int64_t from = 0;
    for (size_t i = 0; i < DECADES && !status; i++) {
        json_t *row = json_object();
        status |= ws_json_set(row, "from_ns", from);
        status |= ws_json_set(row, "count", (int64_t)result->histogram[i].count);
        status |= ws_json_set(row, "total_ns", result->histogram[i].total);
        status |= json_array_append_new(histogram, row);
        from = from ? from * 10 : 1000;
    }
    return status ? -ENOMEM : 0;
}

const struct ws_analysis ws_analysis_gaps = {
    .name = "gaps",
    .title = "Gaps",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct track_gaps),
    .needs = { &ws_analysis_activity, &ws_analysis_causes },
    .run = run,
    .finish = finish,
    .text = text,
    .json = json,
};
