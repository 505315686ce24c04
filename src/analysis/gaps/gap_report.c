#include "analysis/gaps/gap_report.h"

#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/gaps/initialization.h"
#include "analysis/gaps/savings.h"
#include "analysis/kernels/label.h"
#include "analysis/steps/steps.h"

int64_t ws_gap_mean(const struct ws_track_causes *causes, const struct ws_track_steps *steps,
                    const struct ws_gap_total *total)
{
    return causes->per_step ? ws_steps_share(steps, total->steady) : total->total;
}

const char *ws_gap_count_text(const struct ws_track_causes *causes, const struct ws_track_steps *steps,
                              const struct ws_gap_total *total, char text[WS_FORMAT_SIZE])
{
    return ws_format_each(text, ws_gap_count(causes, total), causes->per_step ? steps->kinds[WS_STEP_STEADY] : 0);
}

void ws_gap_phrase(const struct ws_track_causes *causes, const struct ws_track_steps *steps,
                   const struct ws_gap_total *total, const char *which, char text[WS_GAP_PHRASE])
{
    char count[WS_FORMAT_SIZE], time[WS_FORMAT_SIZE];
    ws_gap_count_text(causes, steps, total, count);
    snprintf(text, WS_GAP_PHRASE, "%s gap%s%s%s%s, %s of idle time", count, strcmp(count, "1") ? "s" : "",
             causes->per_step ? " a step" : "", *which ? " " : "", which,
             ws_format_time(time, ws_gap_mean(causes, steps, total)));
}

void ws_gap_call_phrase(const struct ws_report *report, size_t track, enum ws_part cause, char text[WS_GAP_CALL])
{
    enum { LONG_CALL = 1000000 }; /* ns */
    const struct ws_process *process = ws_model_process(report->model, ws_model_track(report->model, track)->process);
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, track);
    const struct ws_track_initialization *first = ws_report_result(report, &ws_analysis_initialization, track);
    const struct ws_gap_line *line = causes->lines.data, *end = line ? line + causes->lines.count : NULL;
    char each[WS_FORMAT_SIZE];
    *text = 0;
    while (line < end && line->cause != cause)
        line++;
    if (line == end || (cause != WS_PART_LAUNCH && cause != WS_PART_ALLOCATION) || first->idle[cause])
        return;
    int64_t time = ws_gap_time(causes, &line->gaps), all = ws_gap_time(causes, &causes->totals[cause]);
    uint64_t count = ws_gap_count(causes, &line->gaps);
    const struct ws_driver_function *function = ws_entries_find(&process->driver_functions, line->function);
    /* `same`: all gaps of `line` are certain to come from calls of `function`. If the source line is known, its gaps
     * may come from calls of several driver functions */
    bool same = !ws_source_is_known(line->source) || count == 1;
    int64_t mean = line->calls.count ? line->calls.length / (int64_t)line->calls.count : 0;
    if (function && same && 2 * time >= all && line->calls.inside >= line->calls.gaps / 2 && mean >= LONG_CALL)
        snprintf(text, WS_GAP_CALL, ", mostly in calls of %s, %s each", function->name.data,
                 ws_format_time(each, mean));
}

/* Sorts the causes by saving, and causes with equal savings by idle time; largest first. */
static void order_causes(const struct ws_track_causes *causes, const struct ws_track_savings *savings,
                         enum ws_part order[WS_CAUSE_COUNT])
{
    for (int i = 0; i < WS_CAUSE_COUNT; i++) {
        int64_t time = ws_gap_time(causes, &causes->totals[i]), saving = savings->saving[i];
        int at = i;
        for (; at; at--) {
            enum ws_part above = order[at - 1];
            int64_t more = savings->saving[above];
            if (more > saving || (more == saving && ws_gap_time(causes, &causes->totals[above]) >= time))
                break;
            order[at] = above;
        }
        order[at] = (enum ws_part)i;
    }
}

/* Prints the idle time of steps before the device's first operation and after its last one. */
static void print_edges(const struct ws_track_causes *causes, struct ws_page *page)
{
    static const char *const where[] = { "before the device's first operation", "after the device's last operation" };
    char time[WS_FORMAT_SIZE];
    for (int i = 0; i < 2; i++)
        if (causes->edges[i].steady)
            ws_page_text(page, "Of this, %s (%s) in all is %s.", ws_format_time(time, causes->edges[i].steady),
                         ws_part_label(causes->edges[i].cause), where[i]);
}

/* Prints the idle time before the device's first operation and after its last one, the idle time outside the steady
 * steps, and how many gaps are uncertain. */
static void print_rest(const struct ws_track_causes *causes, struct ws_page *page)
{
    char time[WS_FORMAT_SIZE], count[WS_FORMAT_SIZE];
    struct ws_gap_total outside = { 0 };
    print_edges(causes, page);
    /* In `totals`, `steady_count` and `steady` include the idle time before the device's first operation and after
     * its last one (`edges`), but `count` and `total` do not. So this loop adds that idle time before the next loop
     * subtracts it. */
    for (int i = 0; i < 2; i++) {
        outside.count += causes->edges[i].steady > 0;
        outside.total += causes->edges[i].steady;
    }
    for (int i = 0; i < WS_CAUSE_COUNT && causes->per_step; i++) {
        outside.count += causes->totals[i].count - causes->totals[i].steady_count;
        outside.total += causes->totals[i].total - causes->totals[i].steady;
    }
    if (outside.count == 1)
        ws_page_text(page, "One more gap, %s long, is outside the steady steps.",
                     ws_format_time(time, outside.total));
    else if (outside.count)
        ws_page_text(page, "%s more gaps, %s in all, are outside the steady steps.",
                     ws_format_count(count, outside.count), ws_format_time(time, outside.total));
    if (causes->hostless.count)
        ws_page_text(page,
                     "Incomplete: host side missing for %s gaps (%s). The trace does not hold the launch calls of "
                     "the operations that ended them, or does not tie the device's clock to the host's. So it does "
                     "not show that the program caused them.",
                     ws_format_count(count, causes->hostless.count), ws_format_time(time, causes->hostless.total));
    if (causes->within_error.count)
        ws_page_text(page,
                     "%s gaps of the recording (%s) are no longer than the errors of their times and may not "
                     "exist.",
                     ws_format_count(count, causes->within_error.count),
                     ws_format_time(time, causes->within_error.total));
}

/* Prints the table of causes. Leaves out causes without gaps. */
static void print_causes(const struct ws_track_causes *causes, const struct ws_track_steps *steps,
                         const struct ws_track_savings *savings, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "cause", true, false }, { "idle", false, false },  { "to win", false, false },
        { "gaps", false, false }, { "share", false, false },
    };
    enum ws_part order[WS_CAUSE_COUNT];
    struct ws_table table;
    char text[WS_FORMAT_SIZE];
    int64_t idle = 0;
    order_causes(causes, savings, order);
    for (int i = 0; i < WS_CAUSE_COUNT; i++)
        idle += ws_gap_time(causes, &causes->totals[i]);
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < WS_CAUSE_COUNT; i++) {
        const struct ws_gap_total *total = &causes->totals[order[i]];
        if (!ws_gap_count(causes, total))
            continue;
        ws_table_cell(&table, "%s", ws_part_label(order[i]));
        ws_table_time(&table, ws_gap_mean(causes, steps, total));
        if (savings->saving[order[i]])
            ws_table_time(&table, savings->saving[order[i]]);
        else
            ws_table_cell(&table, "–");
        ws_table_cell(&table, "%s", ws_gap_count_text(causes, steps, total, text));
        ws_table_cell(&table, "%s", ws_format_share(text, ws_gap_time(causes, total), idle));
    }
    ws_table_finish(&table);
    print_rest(causes, page);
}

/* Prints the line of code that caused the gaps. If it is not known, prints the driver function that was called, if
 * there is one. */
static void line_cell(struct ws_table *table, const struct ws_process *process, const struct ws_gap_line *line)
{
    char text[256];
    ws_gap_line_where(process, line, text, sizeof(text));
    ws_table_cell(table, "%s", text);
}

static void print_lines(const struct ws_track_causes *causes, const struct ws_track_steps *steps,
                        const struct ws_process *process, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "cause", true, false }, { "idle", false, false },       { "gaps", false, false },
        { "thread", true, true }, { "line or call", true, true },
    };
    const struct ws_gap_line *lines = causes->lines.data;
    size_t count = 0;
    struct ws_table table;
    char text[WS_FORMAT_SIZE];
    while (count < causes->lines.count && ws_gap_count(causes, &lines[count].gaps))
        count++;
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < ws_page_rows(page, count); i++) {
        ws_table_cell(&table, "%s", ws_part_label(lines[i].cause));
        ws_table_time(&table, ws_gap_mean(causes, steps, &lines[i].gaps));
        ws_table_cell(&table, "%s", ws_gap_count_text(causes, steps, &lines[i].gaps, text));
        ws_table_thread(&table, process, lines[i].thread);
        line_cell(&table, process, &lines[i]);
    }
    ws_table_finish(&table);
    ws_page_more(page, count, "");
}

static void stack_row(struct ws_table *table, const struct ws_process *process, uint32_t frame)
{
    const struct ws_code *code = ws_stacks_code(&process->stacks, frame);
    const char *slash = code ? strrchr(code->file.data, '/') : NULL;
    uint32_t line = process->stacks.places[frame].line;
    char text[WS_SOURCE_CODE] = "";
    if (code)
        ws_source_code_at(process, code->file.data, line, text);
    ws_table_cell(table, "%s (%s:%u)", code ? code->name.data : "?",
                  slash  ? slash + 1
                  : code ? code->file.data
                         : "?",
                  line);
    ws_table_cell(table, "%s", text);
}

/* Prints the stack of the code that caused the first gap of a line (gaps of one cause and place), including frames of
 * libraries. */
static void print_stack(const struct ws_process *process, const struct ws_gap_line *line, const char *title,
                        struct ws_page *page)
{
    const struct ws_table_column columns[] = { { title, true, WS_NARROW_SHORTEN },
                                               { "", true, WS_NARROW_SHORTEN | WS_NARROW_LEAVE_OUT } };
    struct ws_table table;
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (uint32_t frame = line->source.frame; frame != WS_NO_FRAME; frame = ws_stacks_caller(&process->stacks, frame))
        stack_row(&table, process, frame);
    ws_table_finish(&table);
}

static void print_stacks(const struct ws_track_causes *causes, const struct ws_track_steps *steps,
                         const struct ws_process *process, struct ws_page *page)
{
    enum { STACKS_SHOWN = 3 };
    const struct ws_gap_line *lines = causes->lines.data;
    size_t shown = 0;
    for (size_t i = 0; i < causes->lines.count && shown < STACKS_SHOWN; i++) {
        char title[120], time[WS_FORMAT_SIZE];
        if (lines[i].source.frame == WS_NO_FRAME || !ws_gap_count(causes, &lines[i].gaps))
            continue;
        snprintf(title, sizeof(title), "%s, %s%s, innermost first", ws_part_label(lines[i].cause),
                 ws_format_time(time, ws_gap_mean(causes, steps, &lines[i].gaps)), causes->per_step ? " a step" : "");
        fputc('\n', page->out);
        print_stack(process, &lines[i], title, page);
        shown++;
    }
}

void ws_gap_causes_text(const struct ws_report *report, size_t subject, struct ws_page *page)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct ws_track_savings *savings = ws_report_result(report, &ws_analysis_savings, subject);
    ws_page_text(page, causes->per_step
                           ? "Idle time and gaps per steady step on average, most to win first (–: not known):"
                           : "Idle time and gaps of the whole recording, most to win first (–: not known):");
    print_causes(causes, steps, savings, page);
    fputc('\n', page->out);
    print_lines(causes, steps, ws_model_process(report->model, track->process), page);
    print_stacks(causes, steps, ws_model_process(report->model, track->process), page);
}

int ws_gap_line_json(json_t *row, const struct ws_process *process, const struct ws_gap_line *line)
{
    char text[256];
    const struct ws_driver_function *function = ws_entries_find(&process->driver_functions, line->function);
    bool known = ws_gap_line_text(process, line, text, sizeof(text));
    int status = json_object_set_new(row, "line", known ? ws_json_text(text) : json_null());
    status |= json_object_set_new(row, "function", function ? ws_json_text(function->name.data) : json_null());
    return status;
}

int ws_gap_total_json(json_t *row, const struct ws_gap_total *total, const struct ws_track_causes *causes,
                      const struct ws_track_steps *steps)
{
    int status = ws_json_set(row, "count", (int64_t)total->count);
    status |= ws_json_set(row, "total_ns", total->total);
    status |= json_object_set_new(
        row, "per_step_ns", causes->per_step ? json_integer(ws_steps_share(steps, total->steady)) : json_null());
    return status;
}

/* The JSON has the text of the source code for at most this many lines of code per cause. */
enum { LINES_WITH_TEXT = 20 };

static int line_text_json(json_t *row, const struct ws_process *process, const struct ws_gap_line *line,
                          size_t before)
{
    char code[WS_SOURCE_CODE];
    bool known = before < LINES_WITH_TEXT && ws_gap_line_code(process, line, code);
    return known ? json_object_set_new(row, "line_text", ws_json_text(code)) : 0;
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
        status |= ws_gap_line_json(row, process, &lines[i]);
        status |= line_text_json(row, process, &lines[i], json_array_size(list) - 1);
        status |= ws_json_set(row, "thread", lines[i].thread);
        status |= ws_gap_total_json(row, &lines[i].gaps, causes, steps);
        status |= ws_json_set(row, "max_ns", lines[i].longest);
    }
    return status;
}

int ws_gap_causes_json(const struct ws_report *report, size_t subject, json_t *object)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct ws_track_savings *savings = ws_report_result(report, &ws_analysis_savings, subject);
    enum ws_part order[WS_CAUSE_COUNT];
    json_t *list = json_array();
    int status = json_object_set_new(object, "gap_causes", list);
    order_causes(causes, savings, order);
    for (size_t i = 0; i < WS_CAUSE_COUNT && !status; i++) {
        const struct ws_gap_total *total = &causes->totals[order[i]];
        if (!total->count && !total->steady_count)
            continue;
        json_t *row = json_object(), *lines = json_array();
        status |= json_array_append_new(list, row);
        status |= json_object_set_new(row, "cause", json_string(ws_part_name(order[i])));
        status |= ws_gap_total_json(row, total, causes, steps);
        status |= ws_json_set(row, "saving_ns", savings->saving[order[i]]);
        status |= json_object_set_new(row, "lines", lines);
        status = status ? status : lines_json(lines, report, process, causes, steps, order[i]);
    }
    status |= json_object_set_new(object, "together_saving_ns",
                                  savings->together ? json_integer(savings->together) : json_null());
    status |= ws_json_set(object, "gaps_without_host_ns", causes->hostless.total);
    status |= ws_json_set(object, "gaps_within_error_ns", causes->within_error.total);
    return status;
}
