#include "analysis/kernels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/label.h"
#include "analysis/times.h"

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
    to->total = ws_sum(to->total, from->total);
    to->error += from->error;
}

static int most_first(const void *a, const void *b)
{
    const struct ws_untimed_row *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->name > y->name) - (x->name < y->name);
}

/* Sums by shape first: there are few of them, and what a shape means need be looked up only once. */
struct sums {
    struct ws_kernel_row *timed;
    struct ws_untimed_row *untimed;
};

static void sum_ops(const struct ws_ops *ops, struct sums *shapes)
{
    for (size_t op = 0; op < ops->count; op++) {
        if (ws_op_is_timed(ops, op)) {
            int64_t length = ws_op_length(ops, op), error = ws_op_begin_error(ops, op) + ws_op_end_error(ops, op);
            struct ws_kernel_row one = { 0, 1, length, length, length, error };
            merge(&shapes->timed[ops->shape[op]], &one);
        } else if (!(ops->flags[op] & (WS_OP_CAPTURED | WS_OP_FAILED))) {
            struct ws_untimed_row *row = &shapes->untimed[ops->shape[op]];
            row->count++;
            row->call_time = ws_sum(row->call_time, ws_op_host_length(ops, op));
        }
    }
}

static int sum_names(const struct ws_report *report, size_t subject, const struct sums *shapes,
                     struct ws_track_kernels *result)
{
    const struct ws_process *process =
        ws_model_process(report->model, ws_model_track(report->model, subject)->process);
    size_t count = report->model->names.count;
    struct sums names = { calloc(count + 1, sizeof(*names.timed)), calloc(count + 1, sizeof(*names.untimed)) };
    int status = names.timed && names.untimed ? 0 : -ENOMEM;
    for (size_t i = 0; i < process->shapes.count && !status; i++) {
        const struct ws_op_shape *shape = ws_process_shape(process, i);
        if (shape->track != subject)
            continue;
        if (shapes->timed[i].count)
            merge(&names.timed[shape->name], &shapes->timed[i]);
        names.untimed[shape->name].count += shapes->untimed[i].count;
        names.untimed[shape->name].call_time += shapes->untimed[i].call_time;
    }
    for (size_t i = 0; i < count && !status; i++) {
        struct ws_kernel_row *timed = names.timed[i].count ? ws_vector_push(&result->rows) : &names.timed[i];
        struct ws_untimed_row *untimed =
            names.untimed[i].count ? ws_vector_push(&result->untimed) : &names.untimed[i];
        if (!timed || !untimed) {
            status = -ENOMEM;
            break;
        }
        *timed = names.timed[i];
        *untimed = names.untimed[i];
        timed->name = untimed->name = (uint32_t)i;
        result->total = ws_sum(result->total, timed->total);
    }
    free(names.timed);
    free(names.untimed);
    return status;
}

static int run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    struct ws_track_kernels *result = memory;
    result->rows = WS_VECTOR(struct ws_kernel_row);
    result->untimed = WS_VECTOR(struct ws_untimed_row);
    size_t count = process->shapes.count + 1;
    struct sums shapes = { calloc(count, sizeof(*shapes.timed)), calloc(count, sizeof(*shapes.untimed)) };
    int status = shapes.timed && shapes.untimed ? 0 : -ENOMEM;
    if (!status) {
        sum_ops(&process->ops, &shapes);
        status = sum_names(report, subject, &shapes, result);
    }
    free(shapes.timed);
    free(shapes.untimed);
    if (result->rows.count)
        qsort(result->rows.data, result->rows.count, sizeof(struct ws_kernel_row), by_total);
    if (result->untimed.count)
        qsort(result->untimed.data, result->untimed.count, sizeof(struct ws_untimed_row), most_first);
    return status;
}

bool ws_report_trains(const struct ws_report *report, size_t track)
{
    static const char *const backward[] = { "backward", "bwd", "grad" };
    const struct ws_track_kernels *kernels = ws_report_result(report, &ws_analysis_kernels, track);
    const struct ws_kernel_row *rows = kernels->rows.data;
    for (size_t i = 0; i < kernels->rows.count; i++) {
        if (ws_report_class(report, rows[i].name) == WS_CLASS_OPTIMIZER)
            return true;
        for (size_t word = 0; word < sizeof(backward) / sizeof(backward[0]); word++)
            if (strcasestr(ws_model_name(report->model, rows[i].name)->text, backward[word]))
                return true;
    }
    return false;
}

static void finish(void *memory)
{
    struct ws_track_kernels *result = memory;
    ws_vector_finish(&result->rows);
    ws_vector_finish(&result->untimed);
}

static const char *name_class(const struct ws_report *report, uint32_t name)
{
    if (ws_model_name(report->model, name)->kind == WS_OP_GRAPH)
        return "graph";
    return ws_kernel_class_name(ws_report_class(report, name));
}

static void print_untimed(const struct ws_report *report, const struct ws_track_kernels *result, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "launched", false, false },
        { "host time in calls", false, false },
        { "class", true, false },
        { "name", true, true },
    };
    const struct ws_untimed_row *rows = result->untimed.data;
    struct ws_table table;
    ws_page_text(page, "Operations without device times, by what the host did:");
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

static void text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "total", false, false },
        { "share", false, false },
        { "count", false, false },
        { "mean", false, WS_NARROW_LEAVE_OUT },
        { "min", false, WS_NARROW_LEAVE_OUT },
        { "max", false, WS_NARROW_LEAVE_OUT },
        { "class", true, false },
        { "name", true, true },
    };
    const struct ws_track_kernels *result = memory;
    const struct ws_kernel_row *rows = result->rows.data;
    struct ws_table table;
    char share[WS_FORMAT_SIZE];
    if (!result->rows.count) {
        if (result->untimed.count)
            print_untimed(report, result, page);
        else
            ws_page_text(page, "None.");
        return;
    }
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    size_t shown = ws_page_rows(page, result->rows.count);
    int64_t left = result->total;
    for (size_t i = 0; i < shown; i++) {
        ws_table_time(&table, rows[i].total);
        ws_table_cell(&table, "%s", ws_format_share(share, rows[i].total, result->total));
        ws_table_count(&table, rows[i].count);
        ws_table_time(&table, rows[i].total / (int64_t)rows[i].count);
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
        print_untimed(report, result, page);
    } else if (missing) {
        ws_page_text(page, "%s operations without device times are not in this table.",
                     ws_format_count(share, missing));
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
