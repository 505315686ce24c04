#include "analysis/steps/modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/steps/steps.h"
#include "report/tree.h"

static const char module_begin[] = "nn.Module: ", backward_begin[] = "autograd::engine::evaluate_function: ";

static bool is_backward(const char *label)
{
    return !strncmp(label, backward_begin, sizeof(backward_begin) - 1);
}

/* *name is the name of a range. If the range is a call of a module, such as "nn.Module: Linear_3", moves *name to the
 * class of the module ("Linear"). If the range is a call of autograd's engine, sets *name to "backward". Returns the
 * length of the class or of "backward", or 0 for all other ranges. */
static size_t name_of_module(const char **name)
{
    static const char backward[] = "backward";
    if (is_backward(*name)) {
        *name = backward;
        return sizeof(backward) - 1;
    }
    if (strncmp(*name, module_begin, sizeof(module_begin) - 1) != 0)
        return 0;
    *name += sizeof(module_begin) - 1;
    size_t whole = strlen(*name), length = whole;
    while (length && (*name)[length - 1] >= '0' && (*name)[length - 1] <= '9')
        length--;
    return length > 1 && length < whole && (*name)[length - 1] == '_' ? length - 1 : whole;
}

/* --- from rows to the tree ---------------------------------------------------------------------------- */

static bool is_in_steps(const struct ws_range_row *row)
{
    return row->steady.host || row->work.steady.operations;
}

/* Orders rows by their device time in steady steps, then by their device time in the whole recording. */
static int modules_most_first(const void *a, const void *b)
{
    const struct ws_range_row *x = *(const struct ws_range_row *const *)a,
                              *y = *(const struct ws_range_row *const *)b;
    if (x->work.steady.sum != y->work.steady.sum)
        return x->work.steady.sum < y->work.steady.sum ? 1 : -1;
    if (is_in_steps(x) != is_in_steps(y))
        return is_in_steps(y) ? 1 : -1;
    if (x->work.all.sum != y->work.all.sum)
        return x->work.all.sum < y->work.all.sum ? 1 : -1;
    return (x > y) - (x < y);
}

static int add_module(struct ws_vector *modules, const struct ws_process *process, const struct ws_range_row *rows,
                      const struct ws_range_row *row, struct ws_module made)
{
    struct ws_module *module = ws_vector_push(modules);
    if (!module)
        return -ENOMEM;
    *module = made;
    module->row = *row;
    module->name = ((const struct ws_label *)process->labels.rows.data)[row->label].text.data;
    module->is_backward = is_backward(module->name);
    module->length = (uint32_t)name_of_module(&module->name);
    module->is_in_steps = is_in_steps(row);
    module->instances = row->labels;
    uint64_t parents = row->parent == WS_NO_RANGE ? 1 : rows[row->parent].labels;
    module->each = row->labels == parents * row->labels_below ? row->labels_below : 0;
    return 0;
}

static void most_first(const struct ws_range_row *rows, uint32_t count, const struct ws_range_row **order,
                       uint32_t *parents, uint32_t *largest)
{
    for (uint32_t i = 0; i < count; i++) {
        order[i] = &rows[i];
        parents[i] = rows[i].parent;
    }
    qsort(order, count, sizeof(const struct ws_range_row *), modules_most_first);
    for (uint32_t i = 0; i < count; i++)
        largest[i] = (uint32_t)(order[i] - rows);
}

/* Adds the rows of the tree of modules to the result, each row before its children. */
static int make_tree(struct ws_track_modules *result, const struct ws_process *process)
{
    const struct ws_range_row *rows = result->sums.rows.data;
    uint32_t count = (uint32_t)result->sums.rows.count;
    const struct ws_range_row **order = malloc(count * sizeof(const struct ws_range_row *));
    uint32_t *parents = malloc(count * sizeof(*parents)), *largest = malloc(count * sizeof(*largest));
    struct ws_tree_row *shown = malloc(count * sizeof(*shown));
    int status = order && parents && largest && shown ? 0 : -ENOMEM;
    if (!status) {
        most_first(rows, count, order, parents, largest);
        status = ws_tree_order(parents, largest, count, shown);
    }
    for (uint32_t i = 0; i < count && !status; i++)
        status = add_module(&result->rows, process, rows, &rows[shown[i].row],
                            (struct ws_module){ .depth = shown[i].depth, .rank = shown[i].rank });
    free(order);
    free(parents);
    free(largest);
    free(shown);
    return status;
}

/* --- the analysis ------------------------------------------------------------------------------------- */

static int modules_run(const struct ws_report *report, size_t subject, void *memory)
{
    static const struct ws_range_grouping grouping = {
        .kind = WS_RANGE_PYTHON,
        .also = WS_RANGE_OPERATOR,
        .tree = true,
        .name = name_of_module,
    };
    const struct ws_track *track = ws_model_track(report->model, subject);
    struct ws_track_modules *result = memory;
    result->rows = WS_VECTOR(struct ws_module);
    int status = ws_ranges_sum(report, subject, &grouping, &result->sums);
    if (!status && result->sums.rows.count)
        status = make_tree(result, ws_model_process(report->model, track->process));
    return status;
}

static void modules_finish(void *memory)
{
    struct ws_track_modules *result = memory;
    ws_vector_finish(&result->rows);
    ws_ranges_finish_sums(&result->sums);
}

static bool modules_has_section(const void *memory)
{
    const struct ws_track_modules *result = memory;
    return result->rows.count > 0;
}

const struct ws_analysis ws_analysis_modules = {
    .name = "modules",
    .title = "Modules of the model",
    .host_times = true,
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_modules),
    .needs = { &ws_analysis_activity, &ws_analysis_steps },
    .run = modules_run,
    .finish = modules_finish,
    .has_section = modules_has_section,
    .text = ws_modules_text,
    .json = ws_modules_json,
};
