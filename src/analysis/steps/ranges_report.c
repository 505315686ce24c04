#include <errno.h>
#include <stdlib.h>

#include "analysis/activity/activity.h"
#include "analysis/steps/range_figures.h"
#include "analysis/steps/ranges.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"

static const char *ranges_name_of(const struct ws_process *process, uint32_t label)
{
    const struct ws_label *labels = process->labels.rows.data;
    return label < process->labels.rows.count ? labels[label].text.data : "(name not in the trace)";
}

static void work_cells(struct ws_table *table, const struct ws_range_scale *scale, const struct ws_range_work *work,
                       const struct ws_range_work *own)
{
    const struct ws_range_amount *amount = ws_range_amount_of(scale, work);
    char share[WS_FORMAT_SIZE];
    if (!scale->has_device) {
        for (int i = 0; i < 5; i++)
            ws_table_cell(table, "–");
        return;
    }
    ws_table_time(table, ws_range_scaled(scale, amount->busy));
    ws_table_cell(table, "%s", ws_format_share(share, ws_range_scaled(scale, amount->busy), scale->length));
    ws_table_time(table, ws_range_scaled(scale, ws_range_amount_of(scale, own)->busy));
    ws_table_time(table, ws_range_scaled(scale, amount->sum));
    ws_table_time(table, ws_range_scaled(scale, amount->idle));
}

static void ranges_print_row(struct ws_table *table, const struct ws_process *process,
                             const struct ws_range_scale *scale, const struct ws_range_row *row)
{
    const struct ws_range_stay *stay = ws_range_stay_of(scale, row);
    char count[WS_FORMAT_SIZE];
    work_cells(table, scale, &row->work, &row->own);
    ws_table_cell(table, "%s", ws_format_each(count, stay->count, scale->count));
    ws_table_time(table, ws_range_scaled(scale, stay->host));
    ws_table_cell(table, "%s", ranges_name_of(process, row->label));
}

static void outside_name(struct ws_table *table, const struct ws_process *process, uint32_t id)
{
    const struct ws_thread *thread = ws_entries_find(&process->threads, id);
    if (!id)
        ws_table_cell(table, "(launch not in the trace)");
    else if (thread && thread->name.length)
        ws_table_cell(table, "(outside, thread %s %u)", thread->name.data, thread->tid);
    else
        ws_table_cell(table, "(outside, thread %u)", thread ? thread->tid : id);
}

static bool is_first_thread(const struct ws_process *process, uint32_t id)
{
    const struct ws_thread *thread = ws_entries_find(&process->threads, id);
    const char *pid = ws_process_meta(process, "pid");
    return thread && pid && thread->tid == strtoul(pid, NULL, 10);
}

/* Prints a row for each thread that launched work outside all ranges. Returns true if there are rows for several
 * threads, or a row for a thread that has no ranges or is not the program's first thread. In this case the report
 * explains that work counts only for ranges of the thread that launched it. Most programs set their ranges on the
 * first thread. */
static bool print_outside(struct ws_table *table, const struct ws_process *process,
                          const struct ws_range_scale *scale, const struct ws_track_ranges *result, size_t *more)
{
    const struct ws_range_outside *outside = result->outside.data;
    size_t shown = 0, top = table->page->top;
    bool others = false;
    for (size_t i = 0; i < result->outside.count; i++) {
        if (!ws_range_amount_of(scale, &outside[i].work)->operations)
            continue;
        if (top && shown == top) {
            *more += 1;
            continue;
        }
        work_cells(table, scale, &outside[i].work, &outside[i].work);
        ws_table_cell(table, "–");
        ws_table_cell(table, "–");
        outside_name(table, process, outside[i].thread);
        others |=
            outside[i].thread && (!outside[i].has_ranges || shown || !is_first_thread(process, outside[i].thread));
        shown++;
    }
    return others;
}

static bool ranges_print_table(const struct ws_process *process, const struct ws_range_scale *scale,
                               const struct ws_track_ranges *result, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "busy", false, false }, { "share", false, WS_NARROW_LEAVE_OUT },
        { "own", false, false },  { "sum", false, WS_NARROW_LEAVE_OUT },
        { "idle", false, false }, { "times", false, false },
        { "host", false, false }, { "range", true, WS_NARROW_SHORTEN },
    };
    const struct ws_range_row *rows = result->rows.data;
    size_t shown = 0, more = 0, more_outside = 0, elsewhere = 0;
    char count[WS_FORMAT_SIZE];
    struct ws_table table;
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < result->rows.count; i++) {
        if (!ws_range_is_shown(scale, &rows[i])) {
            elsewhere++;
        } else if (page->top && shown == page->top) {
            more++;
        } else {
            ranges_print_row(&table, process, scale, &rows[i]);
            shown++;
        }
    }
    bool others = print_outside(&table, process, scale, result, &more_outside);
    ws_table_finish(&table);
    if (more)
        ws_page_text(page, "and %s more name%s (--top 0 shows %s)", ws_format_count(count, more),
                     more == 1 ? "" : "s", more == 1 ? "it" : "them");
    if (more_outside)
        ws_page_text(page, "and %s more thread%s outside (--top 0 shows %s)", ws_format_count(count, more_outside),
                     more_outside == 1 ? "" : "s", more_outside == 1 ? "it" : "them");
    if (elsewhere)
        ws_page_text(page, "%s more %s only outside the steady steps.", ws_format_count(count, elsewhere),
                     elsewhere == 1 ? "name occurs" : "names occur");
    return others;
}

void ws_ranges_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    const struct ws_process *process =
        ws_model_process(report->model, ws_model_track(report->model, subject)->process);
    const struct ws_track_ranges *result = memory;
    const struct ws_range_scale scale = ws_range_scale_of(report, subject);
    if (!result->rows.count) {
        const char *tool = ws_process_meta(process, "nvtx_tool");
        ws_page_text(page, "The trace holds no ranges that the program set (NVTX, record_function).%s%s",
                     tool ? " NVTX handed them to another tool: " : "", tool ? tool : "");
        return;
    }
    ws_page_text(page, "Work launched in the ranges that the program set (NVTX, record_function), %s:",
                 scale.count ? "per steady step on average" : "in the whole recording");
    bool others = ranges_print_table(process, &scale, result, page);
    if (!scale.has_device) {
        ws_page_text(page, "The trace holds no device times.");
        return;
    }
    ws_page_text(
        page, "\"busy\": time in which any of it ran, with nested ranges; \"own\": without them; \"sum\": the "
              "operations' times added up; \"idle\": time in which the device ran nothing before one of them began; "
              "\"host\": time of threads in the range. Rows are sorted by the larger of \"busy\" and \"host\" in the "
              "whole recording; work outside ranges comes last.");
    if (others)
        ws_page_text(
            page, "Work counts for ranges of the thread that launched it. PyTorch runs the backward pass on a thread "
                  "of its own, so its work is in no range of the thread that waits for it.");
}

/* Prints the operators as torch.profiler's key_averages() does. Each operator has two times: one with the operators
 * that it calls, and one without them ("own"). */
void ws_operators_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "device", false, false },
        { "share", false, WS_NARROW_LEAVE_OUT },
        { "own", false, false },
        { "times", false, false },
        { "host", false, false },
        { "own", false, WS_NARROW_LEAVE_OUT },
        { "operator", true, WS_NARROW_SHORTEN },
    };
    const struct ws_process *process =
        ws_model_process(report->model, ws_model_track(report->model, subject)->process);
    const struct ws_track_ranges *result = memory;
    const struct ws_range_row *rows = result->rows.data;
    const struct ws_range_scale scale = ws_range_scale_of(report, subject);
    char share[WS_FORMAT_SIZE], count[WS_FORMAT_SIZE];
    size_t shown = 0, more = 0;
    struct ws_table table;
    if (!result->rows.count) {
        ws_page_text(page, "The trace holds no operators of a framework.");
        return;
    }
    ws_page_text(
        page,
        "Time of the framework's operators on the device and on the host, with the operators that they call; "
        "\"own\": without them; %s:",
        scale.count ? "per steady step on average" : "in the whole recording");
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < result->rows.count; i++) {
        const struct ws_range_stay *stay = ws_range_stay_of(&scale, &rows[i]);
        int64_t device = ws_range_amount_of(&scale, &rows[i].work)->sum;
        if (!ws_range_is_shown(&scale, &rows[i]) || (page->top && shown == page->top)) {
            more += ws_range_is_shown(&scale, &rows[i]);
            continue;
        }
        shown++;
        ws_table_time(&table, ws_range_scaled(&scale, device));
        ws_table_cell(&table, "%s", ws_format_share(share, ws_range_scaled(&scale, device), scale.length));
        ws_table_time(&table, ws_range_scaled(&scale, ws_range_amount_of(&scale, &rows[i].own)->sum));
        ws_table_cell(&table, "%s", ws_format_each(count, stay->count, scale.count));
        ws_table_time(&table, ws_range_scaled(&scale, stay->host));
        ws_table_time(&table, ws_range_scaled(&scale, stay->own));
        ws_table_cell(&table, "%s", ranges_name_of(process, rows[i].label));
    }
    ws_table_finish(&table);
    ws_page_more(page, shown + more, "operator");
}

/* Adds the list of ranges or operators to the JSON object, under `key`. */
static int set_rows(const struct ws_report *report, size_t subject, const struct ws_track_ranges *result,
                    const char *key, json_t *object)
{
    const struct ws_process *process =
        ws_model_process(report->model, ws_model_track(report->model, subject)->process);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct ws_range_row *rows = result->rows.data;
    json_t *list = json_array();
    int status = json_object_set_new(object, key, list);
    size_t shown = report->top && report->top < result->rows.count ? report->top : result->rows.count;
    for (size_t i = 0; i < shown && !status; i++)
        status = json_array_append_new(
            list, ws_range_row_json(ranges_name_of(process, rows[i].label), &rows[i], steps->kinds[WS_STEP_STEADY]));
    return status;
}

int ws_operators_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_ranges *result = memory;
    return result->rows.count && set_rows(report, subject, result, "operators", object) ? -ENOMEM : 0;
}

int ws_ranges_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct ws_track_ranges *result = memory;
    if (!result->rows.count)
        return 0;
    int status = set_rows(report, subject, result, "ranges", object);
    status |= ws_ranges_outside_json(result, steps->kinds[WS_STEP_STEADY], "outside_ranges", object);
    return status ? -ENOMEM : 0;
}
