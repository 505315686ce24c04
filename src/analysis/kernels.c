#include "analysis/kernels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_total(const void *a, const void *b)
{
    const struct ws_kernel_row *x = a, *y = b;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    return (x->name > y->name) - (x->name < y->name);
}

/* Adds one shape's sums to the row of its name. */
static void merge(struct ws_kernel_row *to, const struct ws_kernel_row *from)
{
    if (!to->count || from->min < to->min)
        to->min = from->min;
    if (!to->count || from->max > to->max)
        to->max = from->max;
    to->count += from->count;
    to->total = (int64_t)((uint64_t)to->total + (uint64_t)from->total);
    to->error += from->error;
}

static void sum_shapes(const struct ws_ops *ops, const struct ws_track *track, struct ws_kernel_row *sums)
{
    for (size_t i = 0; i < track->count; i++) {
        uint32_t op = track->order[i];
        int64_t length = ws_op_length(ops, op);
        struct ws_kernel_row one = {
            0, 1, length, length, length, (int64_t)ops->begin_error[op] + ops->end_error[op]
        };
        merge(&sums[ops->shape[op]], &one);
    }
}

static int run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    struct ws_track_kernels *result = memory;
    result->rows = WS_VECTOR(struct ws_kernel_row);
    struct ws_kernel_row *shapes = calloc(process->shapes.count + 1, sizeof(*shapes));
    struct ws_kernel_row *names = calloc(report->model->names.count + 1, sizeof(*names));
    int status = shapes && names ? 0 : -ENOMEM;
    if (status)
        goto out;
    sum_shapes(&process->ops, track, shapes);
    for (size_t i = 0; i < process->shapes.count; i++)
        if (shapes[i].count)
            merge(&names[ws_process_shape(process, i)->name], &shapes[i]);
    for (size_t i = 0; i < report->model->names.count; i++) {
        if (!names[i].count)
            continue;
        struct ws_kernel_row *row = ws_vector_push(&result->rows);
        if (!row) {
            status = -ENOMEM;
            goto out;
        }
        *row = names[i];
        row->name = (uint32_t)i;
        result->total = (int64_t)((uint64_t)result->total + (uint64_t)row->total);
    }
    if (result->rows.count)
        qsort(result->rows.data, result->rows.count, sizeof(*names), by_total);
out:
    free(shapes);
    free(names);
    return status;
}

static void finish(void *memory)
{
    struct ws_track_kernels *result = memory;
    ws_vector_finish(&result->rows);
}

static const char *row_class(const struct ws_report *report, const struct ws_kernel_row *row)
{
    switch (ws_model_name(report->model, row->name)->kind) {
    case WS_OP_GRAPH:
        return "graph";
    default:
        return ws_kernel_class_name(ws_report_class(report, row->name));
    }
}

static void text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "total", false, false }, { "share", false, false }, { "count", false, false }, { "mean", false, false },
        { "min", false, false },   { "max", false, false },   { "class", true, false },  { "name", true, true },
    };
    const struct ws_track_kernels *result = memory;
    const struct ws_kernel_row *rows = result->rows.data;
    struct ws_table table;
    char share[WS_FORMAT_SIZE];
    (void)subject;
    if (!result->rows.count) {
        ws_page_text(page, "No operation with a device time.");
        return;
    }
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    size_t shown = page->top && page->top < result->rows.count ? page->top : result->rows.count;
    int64_t left = result->total;
    for (size_t i = 0; i < shown; i++) {
        ws_table_time(&table, rows[i].total);
        ws_table_cell(&table, "%s", ws_format_share(share, rows[i].total, result->total));
        ws_table_count(&table, rows[i].count);
        ws_table_time(&table, rows[i].total / (int64_t)rows[i].count);
        ws_table_time(&table, rows[i].min);
        ws_table_time(&table, rows[i].max);
        ws_table_cell(&table, "%s", row_class(report, &rows[i]));
        ws_table_cell(&table, "%s", ws_model_name(report->model, rows[i].name)->text);
        left = (int64_t)((uint64_t)left - (uint64_t)rows[i].total);
    }
    ws_table_finish(&table);
    if (shown < result->rows.count) {
        char time[WS_FORMAT_SIZE];
        ws_page_text(page, "and %zu more names with %s in all (--top 0 shows them)", result->rows.count - shown,
                     ws_format_time(time, left));
    }
}

static int json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
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
        status |= json_object_set_new(row, "class", json_string(row_class(report, &rows[i])));
        status |= json_array_append_new(list, row);
    }
    return status ? -ENOMEM : 0;
}

const struct ws_analysis ws_analysis_kernels = {
    .name = "kernels",
    .title = "Kernels, copies and memsets",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_kernels),
    .run = run,
    .finish = finish,
    .text = text,
    .json = json,
};
