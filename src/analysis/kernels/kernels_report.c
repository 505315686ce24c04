#include "analysis/kernels/kernels.h"

#include <errno.h>
#include <string.h>

#include "analysis/kernels/classify.h"
#include "analysis/kernels/label.h"

static const char *name_class(const struct ws_report *report, uint32_t name)
{
    if (ws_model_name(report->model, name)->kind == WS_OP_GRAPH)
        return "graph";
    return ws_kernel_class_name(ws_report_class(report, name));
}

static void kernels_print_untimed(const struct ws_report *report, const struct ws_track_kernels *result,
                                  struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "launched", false, false },
        { "host time in calls", false, false },
        { "class", true, false },
        { "name", true, true },
    };
    const struct ws_untimed_row *rows = result->untimed.data;
    struct ws_table table;
    ws_page_text(page, "Operations without device times, by time in host calls:");
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    size_t shown = ws_page_rows(page, result->untimed.count);
    for (size_t i = 0; i < shown; i++) {
        ws_table_count(&table, rows[i].count);
        ws_table_time(&table, rows[i].call_time);
        ws_table_cell(&table, "%s", name_class(report, rows[i].name));
        ws_table_name(&table, ws_model_name(report->model, rows[i].name)->text);
    }
    ws_table_finish(&table);
    ws_page_more(page, result->untimed.count, "name");
}

/* Is the error of a row's total above 1/MATTERS of the total? If no row's is, the table does without the errors. */
static bool errors_matter(const struct ws_kernel_row *rows, size_t count)
{
    enum { MATTERS = 10 };
    for (size_t i = 0; i < count; i++)
        if (rows[i].error > rows[i].total / MATTERS)
            return true;
    return false;
}

void ws_kernels_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    enum { BEFORE_ERROR = 4, COLUMNS = 8 };
    static const struct ws_table_column columns[COLUMNS] = {
        { "total", false, false },
        { "share", false, false },
        { "count", false, false },
        { "mean", false, WS_NARROW_LEAVE_OUT },
        { "min", false, WS_NARROW_LEAVE_OUT },
        { "max", false, WS_NARROW_LEAVE_OUT },
        { "class", true, false },
        { "name", true, true },
    };
    struct ws_table_column with_errors[COLUMNS + 1];
    memcpy(with_errors, columns, BEFORE_ERROR * sizeof(columns[0]));
    with_errors[BEFORE_ERROR] = (struct ws_table_column){ "±", false, WS_NARROW_LEAVE_OUT };
    memcpy(&with_errors[BEFORE_ERROR + 1], &columns[BEFORE_ERROR], (COLUMNS - BEFORE_ERROR) * sizeof(columns[0]));
    const struct ws_track_kernels *result = memory;
    const struct ws_kernel_row *rows = result->rows.data;
    struct ws_table table;
    char share[WS_FORMAT_SIZE];
    if (!result->rows.count) {
        if (result->untimed.count)
            kernels_print_untimed(report, result, page);
        else
            ws_page_text(page, "None.");
        return;
    }
    size_t shown = ws_page_rows(page, result->rows.count);
    bool errors = errors_matter(rows, shown);
    ws_table_init(&table, page, errors ? with_errors : columns, COLUMNS + errors);
    int64_t left = result->total;
    for (size_t i = 0; i < shown; i++) {
        ws_table_time(&table, rows[i].total);
        ws_table_cell(&table, "%s", ws_format_share(share, rows[i].total, result->total));
        ws_table_count(&table, rows[i].count);
        ws_table_time(&table, rows[i].total / (int64_t)rows[i].count);
        if (errors)
            ws_table_time(&table, rows[i].error / (int64_t)rows[i].count);
        ws_table_time(&table, rows[i].min);
        ws_table_time(&table, rows[i].max);
        ws_table_cell(&table, "%s", name_class(report, rows[i].name));
        ws_table_name(&table, ws_model_name(report->model, rows[i].name)->text);
        left = (int64_t)((uint64_t)left - (uint64_t)rows[i].total);
    }
    ws_table_finish(&table);
    if (shown < result->rows.count) {
        char time[WS_FORMAT_SIZE];
        ws_page_text(page, "and %zu more names with %s in all (--top 0 shows them)", result->rows.count - shown,
                     ws_format_time(time, left));
    }
    const struct ws_track *track = ws_model_track(report->model, subject);
    uint64_t missing = track->untimed + track->backwards;
    if (missing > track->count / 4) {
        fputc('\n', page->out);
        kernels_print_untimed(report, result, page);
    } else if (missing) {
        ws_page_text(page, "%s operations without device times are not in this table.",
                     ws_format_count(share, missing));
    }
}

int ws_kernels_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_kernels *result = memory;
    const struct ws_kernel_row *rows = result->rows.data;
    json_t *list = json_array();
    (void)subject;
    int status = json_object_set_new(object, "kernels", list);
    for (size_t i = 0; i < result->rows.count && !status; i++) {
        json_t *row = json_object();
        status |= json_object_set_new(row, "name", ws_json_text(ws_model_name(report->model, rows[i].name)->text));
        status |= ws_json_set(row, "count", (int64_t)rows[i].count);
        status |= ws_json_set(row, "total_ns", rows[i].total);
        status |= ws_json_set(row, "min_ns", rows[i].min);
        status |= ws_json_set(row, "max_ns", rows[i].max);
        status |= ws_json_set(row, "mean_ns", rows[i].total / (int64_t)rows[i].count);
        status |= ws_json_set(row, "error_ns", rows[i].error);
        status |= json_object_set_new(row, "class", json_string(name_class(report, rows[i].name)));
        status |= json_array_append_new(list, row);
    }
    const struct ws_untimed_row *untimed = result->untimed.data;
    list = json_array();
    status |= json_object_set_new(object, "untimed_kernels", list);
    for (size_t i = 0; i < result->untimed.count && !status; i++) {
        json_t *row = json_object();
        status |= json_object_set_new(row, "name", ws_json_text(ws_model_name(report->model, untimed[i].name)->text));
        status |= ws_json_set(row, "count", (int64_t)untimed[i].count);
        status |= ws_json_set(row, "call_ns", untimed[i].call_time);
        status |= json_object_set_new(row, "class", json_string(name_class(report, untimed[i].name)));
        status |= json_array_append_new(list, row);
    }
    return status ? -ENOMEM : 0;
}
