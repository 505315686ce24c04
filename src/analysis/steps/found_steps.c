#include "analysis/steps/found_steps.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/activity/activity.h"
#include "analysis/kernels/classify.h"
#include "analysis/steps/marked_steps.h"
#include "analysis/steps/named_parts.h"
#include "analysis/steps/period.h"
#include "base/minmax.h"

/* Fewer than LEAST_STEPS found steps are rejected, because a sequence of operations may occur twice by chance. */
enum { LEAST_STEPS = 3 };

static enum ws_period_hint hint_of_copy(const struct ws_shape *row)
{
    if (ws_space_is_host(row->from_space) && ws_space_is_device(row->to_space))
        return WS_HINT_FROM_HOST;
    return ws_space_is_device(row->from_space) && ws_space_is_host(row->to_space) ? WS_HINT_TO_HOST : WS_HINT_MEMORY;
}

static enum ws_period_hint hint_of(const struct ws_report *report, const struct ws_op_shape *shape)
{
    const struct ws_op_name *name = ws_model_name(report->model, shape->name);
    if (name->kind == WS_OP_COPY)
        return hint_of_copy(&shape->row);
    if (name->kind == WS_OP_GRAPH)
        return WS_HINT_GRAPH;
    if (name->activity == WS_ACTIVITY_MEMORY)
        return WS_HINT_MEMORY;
    switch (ws_report_class(report, shape->name)) {
    case WS_CLASS_OPTIMIZER:
        return WS_HINT_UPDATE;
    case WS_CLASS_COMM:
        return WS_HINT_COMM;
    default:
        return WS_HINT_NONE;
    }
}

/* Input of the search for steps (period.h). `shapes` has an entry for each shape (operations of the same kernel,
 * grid, stream …). `hints` has the kind of operation (enum ws_period_hint) for each number that the search gives to
 * an operation's name. */
struct tables {
    struct ws_period_shape *shapes;
    uint8_t *hints;
};

static bool is_compute(enum ws_period_hint hint)
{
    return hint == WS_HINT_NONE || hint == WS_HINT_UPDATE || hint == WS_HINT_GRAPH;
}

/* Entry n of the histogram is the number of operation names that occur n times. All names that occur at least COUNTED
 * times share the last entry. */
enum { COUNTED = 1 << 16 };

static void found_steps_count_names(const struct ws_process *process, const struct ws_track *track, size_t names,
                                    uint32_t *counts, size_t *histogram)
{
    const struct ws_op_shape *shapes = process->shapes.data;
    for (size_t i = 0; i < track->count; i++)
        counts[shapes[process->ops.shape[track->order[i]]].name]++;
    for (size_t i = 0; i < names; i++)
        histogram[counts[i] < COUNTED ? counts[i] : COUNTED]++;
}

/* Gives each operation name a 16-bit number for the search. If there are more names than numbers, only the most
 * frequent names get numbers of their own. All other names share the last number, because they occur too rarely to be
 * in most steps. */
static int number_names(const struct ws_report *report, const struct ws_process *process,
                        const struct ws_track *track, uint16_t *numbers)
{
    enum { SHARED = WS_PERIOD_NAMES - 1 };
    size_t names = report->model->names.count, above = 0;
    uint32_t *counts = calloc(names + 1, sizeof(*counts)), least = COUNTED, next = 0;
    size_t *histogram = calloc(COUNTED + 1, sizeof(*histogram));
    int status = counts && histogram ? 0 : -ENOMEM;
    if (!status && names > SHARED) {
        found_steps_count_names(process, track, names, counts, histogram);
        while (least && above + histogram[least] <= SHARED)
            above += histogram[least--];
    }
    for (size_t i = 0; i < names && !status; i++)
        numbers[i] = names <= SHARED ? (uint16_t)i : counts[i] > least ? (uint16_t)next++ : SHARED;
    free(counts);
    free(histogram);
    return status;
}

static int fill_tables(const struct ws_report *report, const struct ws_process *process, const struct ws_track *track,
                       struct tables *tables)
{
    size_t count = process->shapes.count;
    uint16_t *numbers = malloc((report->model->names.count + 1) * sizeof(*numbers));
    tables->shapes = malloc((count + 1) * sizeof(*tables->shapes));
    tables->hints = calloc(WS_PERIOD_NAMES, 1);
    int status = numbers && tables->shapes && tables->hints ? 0 : -ENOMEM;
    if (!status)
        status = number_names(report, process, track, numbers);
    for (size_t i = 0; i < count && !status; i++) {
        const struct ws_op_shape *shape = ws_process_shape(process, i);
        tables->shapes[i].name = numbers[shape->name];
        tables->shapes[i].lane = shape->stream == WS_NOWHERE ? (uint32_t)process->streams.rows.count : shape->stream;
        tables->hints[tables->shapes[i].name] = (uint8_t)hint_of(report, shape);
    }
    if (!status && report->model->names.count >= WS_PERIOD_NAMES)
        tables->hints[WS_PERIOD_NAMES - 1] = WS_HINT_NONE; /* many names share this number */
    for (size_t i = 0; i < count && !status; i++)
        tables->shapes[i].computes = is_compute((enum ws_period_hint)tables->hints[tables->shapes[i].name]);
    free(numbers);
    return status;
}

static int found_steps_add_steps(const struct ws_process *process, const struct ws_track *track,
                                 const struct ws_period *period, struct ws_track_steps *result)
{
    const struct ws_period_step *list = period->steps.data;
    const struct ws_ops *ops = &process->ops;
    for (size_t i = 0; i < period->steps.count; i++) {
        bool last = i + 1 == period->steps.count;
        int64_t begin = ws_op_begin(ops, track->order[list[i].first]), end = begin;
        for (size_t op = list[i].first; last && op < track->count; op++)
            end = ws_max(end, ws_op_end(ops, track->order[op]));
        if (!last)
            end = ws_op_begin(ops, track->order[list[i + 1].first]);
        if (end <= begin)
            continue;
        struct ws_step *step = ws_vector_push(&result->steps);
        if (!step)
            return -ENOMEM;
        step->begin = begin;
        step->end = end;
        step->number = result->steps.count - 1;
        step->kind = last ? WS_STEP_CUT : list[i].alike ? WS_STEP_STEADY : WS_STEP_OTHER;
    }
    return 0;
}

static bool are_enough(const struct ws_period *period)
{
    const struct ws_period_step *list = period->steps.data;
    size_t alike = 0;
    for (size_t i = 0; i < period->steps.count; i++)
        alike += list[i].alike;
    return alike >= LEAST_STEPS || (alike + 1 >= LEAST_STEPS && period->steps.count >= LEAST_STEPS);
}

/* Collects the host times at which the first operation of each step was launched, in ascending order. Leaves out
 * steps for which this launch was not recorded. */
static int collect_launches(const struct ws_ops *ops, const struct ws_track *track, const struct ws_period *period,
                            struct ws_vector *launches)
{
    const struct ws_period_step *list = period->steps.data;
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < period->steps.count; i++) {
        uint32_t op = track->order[list[i].first];
        if (!ws_op_has_call(ops, op))
            continue;
        int64_t *launch = ws_vector_push(launches);
        if (!launch)
            return -ENOMEM;
        *launch = last = ws_max(ws_op_host_begin(ops, op), last);
    }
    return 0;
}

static bool has_steady(const struct ws_track_steps *steps)
{
    const struct ws_step *list = steps->steps.data;
    for (size_t i = 0; i < steps->steps.count; i++)
        if (ws_step_is_steady(&list[i]))
            return true;
    return false;
}

/* Makes a single step: a piece of the recording that starts with the recording's first operation and is as long as an
 * iteration. begins[0] and begins[1] are the start times of two successive iterations. If iterations are alike, every
 * piece of this length contains the work of a whole iteration. */
static int take_piece(const struct ws_ops *ops, const struct ws_track *track, const int64_t begins[2],
                      struct ws_track_steps *result)
{
    int64_t begin = ws_op_begin(ops, track->order[0]), length = begins[1] - begins[0];
    result->steps.count = 0;
    if (ws_op_begin(ops, track->order[track->count - 1]) - begin < length)
        return 0;
    struct ws_step *step = ws_vector_push(&result->steps);
    if (!step)
        return -ENOMEM;
    *step = (struct ws_step){
        .begin = begin, .end = begin + length, .host_begin = begins[0], .host_end = begins[1], .kind = WS_STEP_STEADY
    };
    result->proof = WS_PROOF_LENGTH;
    return 0;
}

/* Uses the program's ranges to check whether the steps are iterations, or only parts of iterations. Parts are
 * replaced by the iterations that the ranges show. If the ranges do not show when iterations begin, the parts are
 * removed and there are no steps. */
static int ask_ranges(const struct ws_report *report, const struct ws_track *track, const struct ws_period *period,
                      struct ws_track_steps *result)
{
    const struct ws_process *process = ws_model_process(report->model, track->process);
    struct ws_vector launches = WS_VECTOR(int64_t), begins = WS_VECTOR(int64_t);
    enum ws_parts_answer answer = WS_PARTS_SILENT;
    int status = collect_launches(&process->ops, track, period, &launches);
    if (!status)
        status = ws_named_parts(process, track, launches.data, launches.count, &answer, &begins);
    if (answer == WS_PARTS_CONFIRM)
        result->proof = WS_PROOF_RANGES;
    if (!status && (answer == WS_PARTS_LONGER || answer == WS_PARTS_ONLY)) {
        result->steps.count = 0;
        result->proof = WS_PROOF_NAMES;
        status = ws_steps_between(report, track, begins.data, begins.count, result);
        if (!status && begins.count > 1 && !has_steady(result))
            status = take_piece(&process->ops, track, begins.data, result);
    }
    if (!result->steps.count) {
        result->source = WS_STEPS_NONE;
        result->why_none = "What repeats are parts of an iteration, as the names of the program's ranges show.";
    }
    ws_vector_finish(&launches);
    ws_vector_finish(&begins);
    return status;
}

int ws_found_steps(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *result)
{
    const struct ws_process *process = ws_model_process(report->model, track->process);
    struct tables tables = { 0 };
    struct ws_period period = { 0 };
    size_t names = report->model->names.count;
    int status = fill_tables(report, process, track, &tables);
    if (status)
        goto out;
    const struct ws_period_source source = { .ops = &process->ops,
                                             .order = track->order,
                                             .count = track->count,
                                             .shapes = tables.shapes,
                                             .lane_count = process->streams.rows.count + 1,
                                             .hints = tables.hints,
                                             .names = names < WS_PERIOD_NAMES ? names : WS_PERIOD_NAMES };
    status = ws_period_find(&source, &period);
    if (status)
        goto out;
    result->why_none = period.why_none;
    if (!are_enough(&period))
        goto out;
    status = found_steps_add_steps(process, track, &period, result);
    result->source = WS_STEPS_FOUND;
    result->proof = period.updates ? WS_PROOF_UPDATE : period.exchanges ? WS_PROOF_EXCHANGE : WS_PROOF_STRUCTURE;
    if (!status)
        status = ask_ranges(report, track, &period, result);
out:
    ws_period_finish(&period);
    free(tables.shapes);
    free(tables.hints);
    return status;
}
