#include "analysis/activity/sync.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/kernels/label.h"

static const char *sync_function_name(const struct ws_process *process, uint32_t id)
{
    const struct ws_driver_function *function = ws_entries_find(&process->driver_functions, id);
    return function ? function->name.data : "?";
}

/* Writes " at FILE:LINE", the place's innermost line in the program's script; "" if the line is not known. */
static const char *sync_line_text(const struct ws_process *process, uint32_t place, char *text, size_t capacity)
{
    char path[512];
    uint32_t line;
    *text = 0;
    if (place != WS_NO_FRAME && ws_stacks_line(&process->stacks, place, path, sizeof(path), &line)) {
        const char *slash = strrchr(path, '/');
        snprintf(text, capacity, " at %s:%u", slash ? slash + 1 : path, line);
    }
    return text;
}

void ws_sync_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "waited", false, false },  { "count", false, false }, { "mean", false, WS_NARROW_LEAVE_OUT },
        { "longest", false, false }, { "thread", true, false }, { "function", true, true },
    };
    const struct ws_process *process = ws_model_process(report->model, subject);
    const struct ws_process_sync *result = memory;
    const struct ws_sync_row *rows = result->rows.data;
    struct ws_table table;
    char line[600];
    if (!result->rows.count) {
        ws_page_text(page, "No call that waits for the device is in the trace.");
        return;
    }
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < ws_page_rows(page, result->rows.count); i++) {
        ws_table_time(&table, rows[i].total);
        ws_table_count(&table, rows[i].count);
        ws_table_time(&table, rows[i].total / (int64_t)rows[i].count);
        ws_table_time(&table, rows[i].longest);
        ws_table_thread(&table, process, rows[i].thread);
        ws_table_cell(&table, "%s%s", sync_function_name(process, rows[i].function),
                      sync_line_text(process, rows[i].place, line, sizeof(line)));
    }
    ws_table_finish(&table);
    ws_page_more(page, result->rows.count, "");
}

int ws_sync_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_process *process = ws_model_process(report->model, subject);
    const struct ws_process_sync *result = memory;
    const struct ws_sync_row *rows = result->rows.data;
    json_t *list = json_array();
    char place[512];
    int status = json_object_set_new(object, "synchronisation", list);
    for (size_t i = 0; i < result->rows.count && !status; i++) {
        const struct ws_thread *thread = ws_entries_find(&process->threads, rows[i].thread);
        json_t *row = json_object();
        status |= json_object_set_new(row, "function", ws_json_text(sync_function_name(process, rows[i].function)));
        status |= json_object_set_new(row, "tid", thread ? json_integer(thread->tid) : json_null());
        status |= ws_json_set(row, "count", (int64_t)rows[i].count);
        status |= ws_json_set(row, "total_ns", rows[i].total);
        status |= ws_json_set(row, "max_ns", rows[i].longest);
        if (rows[i].place != WS_NO_FRAME) {
            ws_stacks_text(&process->stacks, rows[i].place, place, sizeof(place));
            status |= json_object_set_new(row, "where", ws_json_text(place));
        }
        status |= json_array_append_new(list, row);
    }
    return status ? -ENOMEM : 0;
}
