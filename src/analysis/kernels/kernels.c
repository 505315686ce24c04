#include "analysis/kernels/kernels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kernels/classify.h"
#include "analysis/kernels/lengths.h"
#include "base/minmax.h"

static int by_total(const void *a, const void *b)
{
    const struct ws_kernel_row *x = a, *y = b;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    return (x->name > y->name) - (x->name < y->name);
}

/* Adds the count and the times of one row of kernels to another row. */
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

static int kernels_most_first(const void *a, const void *b)
{
    const struct ws_untimed_row *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->name > y->name) - (x->name < y->name);
}

/* Sums over operations, one entry per shape. A shape is a set of operations with the same static properties: kernel,
 * grid, stream … There are far fewer shapes than operations, so names and devices are looked up per shape. */
struct sums {
    struct ws_kernel_row *timed;
    struct ws_untimed_row *untimed;
};

static void kernels_sum_ops(const struct ws_ops *ops, struct sums *shapes)
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

/* The errors of computed start and end times add up to far more than the error of their sum. */
static void narrow_errors(const struct ws_process *process, const struct ws_process_lengths *lengths,
                          struct ws_kernel_row *rows)
{
    for (size_t i = 0; lengths->shapes && i < process->shapes.count; i++) {
        double error = ws_max(lengths->shapes[i].shorter, lengths->shapes[i].longer);
        rows[i].error = error < (double)rows[i].error ? (int64_t)error : rows[i].error;
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

static int kernels_run(const struct ws_report *report, size_t subject, void *memory)
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
        kernels_sum_ops(&process->ops, &shapes);
        narrow_errors(process, ws_report_result(report, &ws_analysis_lengths, track->process), shapes.timed);
        status = sum_names(report, subject, &shapes, result);
    }
    free(shapes.timed);
    free(shapes.untimed);
    if (result->rows.count)
        qsort(result->rows.data, result->rows.count, sizeof(struct ws_kernel_row), by_total);
    if (result->untimed.count)
        qsort(result->untimed.data, result->untimed.count, sizeof(struct ws_untimed_row), kernels_most_first);
    return status;
}

/* Does the name belong to a kernel of an optimizer's step? PyTorch's multi_tensor_apply kernels with CopyFunctor or
 * UnaryOpFunctor do not count, because they run in inference too. */
static bool is_of_optimizer(const struct ws_report *report, uint32_t name)
{
    const char *text = ws_model_name(report->model, name)->text;
    return ws_report_class(report, name) == WS_CLASS_OPTIMIZER && !strstr(text, "CopyFunctor") &&
           !strstr(text, "UnaryOpFunctor");
}

bool ws_report_trains(const struct ws_report *report, size_t track)
{
    static const char *const backward[] = { "backward", "bwd", "grad" };
    const struct ws_track_kernels *kernels = ws_report_result(report, &ws_analysis_kernels, track);
    const struct ws_kernel_row *rows = kernels->rows.data;
    for (size_t i = 0; i < kernels->rows.count; i++) {
        if (is_of_optimizer(report, rows[i].name))
            return true;
        for (size_t word = 0; word < sizeof(backward) / sizeof(backward[0]); word++)
            if (strcasestr(ws_model_name(report->model, rows[i].name)->text, backward[word]))
                return true;
    }
    return false;
}

bool ws_report_infers(const struct ws_report *report, size_t track)
{
    const struct ws_track_kernels *kernels = ws_report_result(report, &ws_analysis_kernels, track);
    const struct ws_kernel_row *rows = kernels->rows.data;
    bool is_model = false;
    for (size_t i = 0; i < kernels->rows.count && !is_model; i++) {
        enum ws_kernel_class class = ws_report_class(report, rows[i].name);
        is_model = class == WS_CLASS_ATTENTION || class == WS_CLASS_SOFTMAX || class == WS_CLASS_NORM;
    }
    return is_model && !ws_report_trains(report, track);
}

static void kernels_finish(void *memory)
{
    struct ws_track_kernels *result = memory;
    ws_vector_finish(&result->rows);
    ws_vector_finish(&result->untimed);
}

const struct ws_analysis ws_analysis_kernels = {
    .name = "kernels",
    .title = "Kernels, copies and memsets",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_kernels),
    .needs = { &ws_analysis_lengths },
    .run = kernels_run,
    .finish = kernels_finish,
    .text = ws_kernels_text,
    .json = ws_kernels_json,
};
