#include "analysis/steps/steps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/steps/even_steps.h"
#include "analysis/steps/found_steps.h"
#include "analysis/steps/given_steps.h"
#include "analysis/steps/marked_steps.h"
#include "analysis/steps/slow_steps.h"
#include "base/minmax.h"

/* Thresholds. steps.h explains them and gives their sources. */
static const int warm_up_percent = 125, stock_percent = 75, slow_percent = 150, unsteady_percent = 10, short_in = 10;

const char *ws_step_kind_name(enum ws_step_kind kind)
{
    static const char *const names[] = { "steady", "warm_up", "other", "cut", "counted", "paused" };
    _Static_assert(sizeof(names) / sizeof(names[0]) == WS_STEP_KIND_COUNT, "one name a kind");
    return names[kind];
}

const struct ws_step *ws_steps_at(const struct ws_track_steps *steps, int64_t time)
{
    const struct ws_step *list = steps->steps.data;
    size_t low = 0, high = steps->steps.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].end <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low < steps->steps.count && list[low].begin <= time ? &list[low] : NULL;
}

static int64_t steps_length_of(const struct ws_step *step)
{
    return step->end - step->begin;
}

/* Finds the operations of each step, and divides the step's time into compute, communication, idle and so on
 * (activity/split.h), in one pass over the operations. */
static int split_steps(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *result)
{
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_ops *ops = &process->ops;
    if (!result->steps.count)
        return 0;
    struct ws_step *step = result->steps.data, *past = step + result->steps.count;
    uint8_t *groups = ws_report_shape_groups(report, process);
    if (!groups)
        return -ENOMEM;
    struct ws_reach reach = ws_reach_from(step->begin);
    int64_t now = step->begin;
    for (size_t i = 0; i < track->count; i++) {
        uint32_t op = track->order[i];
        int64_t begin = ws_op_begin(ops, op), end = ws_op_end(ops, op);
        for (; step < past && begin >= step->end; step++) {
            ws_split_slice(&step->split, &reach, now, step->end);
            now = step->end;
        }
        if (step == past)
            break;
        if (begin > now) {
            ws_split_slice(&step->split, &reach, now, begin);
            now = begin;
        }
        if (begin >= step->begin && !step->count++)
            step->first = (uint32_t)i;
        uint8_t group = groups[ops->shape[op]];
        reach.group[group] = ws_max(reach.group[group], end);
    }
    for (; step < past; now = step++->end)
        ws_split_slice(&step->split, &reach, now, step->end);
    free(groups);
    return 0;
}

static int64_t launch_of(const struct ws_ops *ops, const struct ws_track *track, size_t place, int64_t otherwise)
{
    bool known = place < track->count && ws_op_has_call(ops, track->order[place]);
    return known ? ws_op_host_begin(ops, track->order[place]) : otherwise;
}

/* Sets host_begin and host_end of steps that were found in the order of operations, from the times of launches. */
static void place_on_host(const struct ws_ops *ops, const struct ws_track *track, struct ws_track_steps *result)
{
    struct ws_step *steps = result->steps.data;
    bool placed = result->source != WS_STEPS_FOUND || result->proof >= WS_PROOF_NAMES;
    size_t count = placed ? 0 : result->steps.count;
    for (size_t i = count; i-- > 0;) {
        struct ws_step *step = &steps[i];
        step->host_end = i + 1 < count ? steps[i + 1].host_begin
                                       : launch_of(ops, track, (size_t)step->first + step->count, step->end);
        step->host_begin = ws_min(launch_of(ops, track, step->first, step->begin), step->host_end);
    }
}

int64_t ws_steps_percentile(const int64_t *sorted, size_t count, unsigned percent)
{
    size_t rank = (count * percent + 99) / 100;
    return sorted[rank ? rank - 1 : 0];
}

static size_t steady_lengths(const struct ws_vector *steps, int64_t *lengths)
{
    const struct ws_step *list = steps->data;
    size_t count = 0;
    for (size_t i = 0; i < steps->count; i++)
        if (list[i].kind == WS_STEP_STEADY)
            lengths[count++] = steps_length_of(&list[i]);
    qsort(lengths, count, sizeof(*lengths), ws_ascending);
    return count;
}

static bool within_warm(const struct ws_step *step, int64_t median)
{
    return step->kind != WS_STEP_STEADY || steps_length_of(step) / warm_up_percent <= median / 100;
}

/* Counts the first steps that are shorter than usual. They are short because they use a stock, for example batches
 * loaded before the first step. Returns 0 if more than 1/short_in of the steady steps are as short but come
 * later. */
static size_t count_on_stock(const struct ws_vector *steps, int64_t median)
{
    const struct ws_step *list = steps->data;
    size_t leading = 0, all = 0, steady = 0;
    bool leads = true;
    for (size_t i = 0; i < steps->count; i++) {
        bool is_short = steps_length_of(&list[i]) / stock_percent < median / 100;
        leads &= is_short && list[i].kind == WS_STEP_STEADY;
        leading += leads;
        all += is_short && list[i].kind == WS_STEP_STEADY;
        steady += list[i].kind == WS_STEP_STEADY;
    }
    return all - leading > steady / short_in ? 0 : leading;
}

/* Marks the first steps as warm-up: the short steps that use a stock (count_on_stock), and the steps after them until
 * two successive steps are not too long. */
static void leave_out_warm_up(struct ws_vector *steps, int64_t median)
{
    struct ws_step *list = steps->data;
    size_t first = count_on_stock(steps, median);
    while (first + 1 < steps->count && !(within_warm(&list[first], median) && within_warm(&list[first + 1], median)))
        first++;
    if (first > steps->count / 2)
        return; /* the step time varies even after half of the steps, so no step counts as warm-up */
    for (size_t i = 0; i < first; i++)
        if (list[i].kind == WS_STEP_STEADY)
            list[i].kind = WS_STEP_WARM_UP;
}

static bool holds_counted(const struct ws_ops *ops, const struct ws_track *track, const struct ws_step *step)
{
    for (uint32_t i = 0; i < step->count; i++)
        if (ws_op_is_counted(ops, track->order[step->first + i]))
            return true;
    return false;
}

/* Finds the steps that became longer because hardware counters were read. Gives them the kind WS_STEP_COUNTED, so
 * that they do not count. If too few other steps are left, changes nothing. */
static void leave_out_counted(const struct ws_report *report, const struct ws_track *track, struct ws_vector *steps)
{
    const struct ws_ops *ops = &ws_model_process(report->model, track->process)->ops;
    struct ws_step *list = steps->data;
    size_t left = 0;
    for (size_t i = 0; i < steps->count && ws_sparse_count(&ops->counted); i++) {
        if (list[i].kind == WS_STEP_STEADY && holds_counted(ops, track, &list[i]))
            list[i].kind = WS_STEP_COUNTED;
        left += list[i].kind == WS_STEP_STEADY;
    }
    for (size_t i = 0; i < steps->count && left < WS_STEPS_TO_JUDGE; i++)
        if (list[i].kind == WS_STEP_COUNTED)
            list[i].kind = WS_STEP_STEADY;
}

/* Finds the steps during which recording was off for a time. Gives them the kind WS_STEP_PAUSED, because their true
 * duration and idle time are not known. If recording was off at the start of a step, moves the start to the time when
 * recording is on again. */
static void leave_out_paused(const struct ws_track_activity *activity, struct ws_vector *steps)
{
    const struct ws_hole *holes = activity->holes.data;
    struct ws_step *list = steps->data;
    size_t hole = 0;
    for (size_t i = 0; i < steps->count; i++) {
        while (hole < activity->holes.count && holes[hole].end <= list[i].begin)
            hole++;
        if (hole < activity->holes.count && holes[hole].begin < list[i].begin && holes[hole].end < list[i].end) {
            list[i].begin = holes[hole++].end;
            if (i)
                list[i - 1].end = list[i].begin;
        }
        if (hole < activity->holes.count && holes[hole].begin < list[i].end && list[i].kind == WS_STEP_STEADY)
            list[i].kind = WS_STEP_PAUSED;
    }
}

static void steps_measure(struct ws_track_steps *result, const int64_t *lengths, size_t count)
{
    struct ws_step *list = result->steps.data;
    double mean = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        double change = (double)lengths[i] - mean;
        mean += change / (double)(i + 1);
        squares += change * ((double)lengths[i] - mean);
    }
    result->least = lengths[0];
    result->most = lengths[count - 1];
    result->median = ws_steps_percentile(lengths, count, 50);
    result->p95 = ws_steps_percentile(lengths, count, 95);
    result->quartile_range = ws_steps_percentile(lengths, count, 75) - ws_steps_percentile(lengths, count, 25);
    result->mean = (int64_t)mean;
    result->cov = mean > 0 ? sqrt(squares / (double)count) / mean : 0;
    for (size_t i = 0; i < result->steps.count; i++) {
        list[i].slow =
            list[i].kind == WS_STEP_STEADY && steps_length_of(&list[i]) / slow_percent > result->median / 100;
        result->slow += list[i].slow;
    }
    result->judged = count >= WS_STEPS_TO_JUDGE;
    result->stable = result->judged && result->quartile_range <= result->median / 100 * unsteady_percent &&
                     result->p95 <= result->median / 100 * WS_STEPS_STABLE_P95;
}

int64_t ws_step_part(const struct ws_step *step, size_t part)
{
    const struct ws_split *split = &step->split;
    const int64_t parts[] = { split->busy,
                              split->group[WS_GROUP_COMPUTE],
                              split->group[WS_GROUP_COMM],
                              split->exposed_comm,
                              split->group[WS_GROUP_MEMORY],
                              split->exposed_memory,
                              steps_length_of(step) - split->busy };
    _Static_assert(sizeof(parts) / sizeof(parts[0]) == WS_STEP_PART_COUNT, "one value a part");
    return parts[part];
}

const struct ws_step_figure *ws_steps_figure(const struct ws_track_steps *steps, size_t part)
{
    const struct ws_step_figure *const figures[] = {
#define FIGURE(field, key, label) &steps->field,
        WS_STEP_PARTS(FIGURE)
#undef FIGURE
    };
    _Static_assert(sizeof(figures) / sizeof(figures[0]) == WS_STEP_PART_COUNT, "one figure a part");
    return figures[part];
}

static void measure_part(struct ws_track_steps *result, size_t part, int64_t *values)
{
    const struct ws_step *list = result->steps.data;
    struct ws_step_figure *figure = (struct ws_step_figure *)ws_steps_figure(result, part);
    size_t count = 0;
    double sum = 0;
    for (size_t i = 0; i < result->steps.count; i++) {
        if (list[i].kind != WS_STEP_STEADY)
            continue;
        values[count] = ws_step_part(&list[i], part);
        sum += (double)values[count++];
    }
    qsort(values, count, sizeof(*values), ws_ascending);
    figure->median = ws_steps_percentile(values, count, 50);
    figure->mean = (int64_t)(sum / (double)count);
}

/* Decides which of the steady steps are warm-up (steps.h). */
static int judge_warm_up(struct ws_vector *steps)
{
    int64_t *lengths = malloc((steps->count + 1) * sizeof(*lengths));
    if (!lengths)
        return -ENOMEM;
    size_t count = steady_lengths(steps, lengths);
    if (count)
        leave_out_warm_up(steps, ws_steps_percentile(lengths, count, 50));
    free(lengths);
    return 0;
}

static int measure_all(struct ws_track_steps *result)
{
    const struct ws_step *list = result->steps.data;
    int64_t *values = malloc((result->steps.count + 1) * sizeof(*values));
    if (!values)
        return -ENOMEM;
    size_t count = steady_lengths(&result->steps, values);
    if (count)
        steps_measure(result, values, count);
    for (size_t part = 0; part < WS_STEP_PART_COUNT && count; part++)
        measure_part(result, part, values);
    for (size_t i = 0; i < result->steps.count; i++) {
        result->kinds[list[i].kind]++;
        result->lasted[list[i].kind] = ws_sum(result->lasted[list[i].kind], steps_length_of(&list[i]));
    }
    free(values);
    return 0;
}

/* Finds the begin and end of the steps. This is a separate analysis, so that it can run in parallel with the analysis
 * of activity, which takes about as long. */
static int run_bounds(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    struct ws_track_steps *result = memory;
    result->steps = WS_VECTOR(struct ws_step);
    result->why_none = "Steps were not asked for.";
    if (report->steps == WS_STEPS_NOT_ASKED)
        return 0;
    if (report->window)
        return ws_given_steps_copy(report->window->steps, track, result);
    int status = 0;
    if (report->steps != WS_STEPS_ONLY_FOUND)
        status = ws_marked_steps(report, track, result);
    if (!status && report->steps != WS_STEPS_ONLY_MARKED && result->source == WS_STEPS_NONE)
        status = ws_server_steps(report, track, result);
    if (!status && report->steps == WS_STEPS_AUTO && result->source == WS_STEPS_NONE)
        status = ws_even_steps(report, track, result);
    if (!status && report->steps != WS_STEPS_ONLY_MARKED && result->source == WS_STEPS_NONE)
        status = ws_found_steps(report, track, result);
    return status;
}

int ws_steps_prepare(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *result)
{
    size_t subject = (size_t)(track - ws_model_track(report->model, 0));
    int status = split_steps(report, track, result);
    if (status)
        return status;
    place_on_host(&ws_model_process(report->model, track->process)->ops, track, result);
    leave_out_paused(ws_report_result(report, &ws_analysis_activity, subject), &result->steps);
    leave_out_counted(report, track, &result->steps);
    return 0;
}

static int steps_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_track_steps *bounds = ws_report_result(report, &ws_analysis_step_bounds, subject);
    struct ws_track_steps *result = memory;
    *result = *bounds;
    result->steps = WS_VECTOR(struct ws_step);
    result->slow_steps = WS_VECTOR(struct ws_slow_step);
    if (report->steps == WS_STEPS_NOT_ASKED)
        return 0;
    int status = ws_vector_reach(&result->steps, bounds->steps.count);
    if (!status && bounds->steps.count)
        memcpy(result->steps.data, bounds->steps.data, bounds->steps.count * sizeof(struct ws_step));
    if (!status)
        status = report->window ? split_steps(report, track, result) : ws_steps_prepare(report, track, result);
    if (!status && report->window)
        ws_given_steps_restore(bounds, result);
    if (!status)
        status = ws_phases_tell(report, track, result);
    if (!status && !report->window)
        status = judge_warm_up(&result->steps);
    if (!status)
        status = measure_all(result);
    return status ? status : ws_slow_steps_explain(report, track, result);
}

static void steps_finish(void *memory)
{
    struct ws_track_steps *result = memory;
    ws_vector_finish(&result->steps);
    ws_vector_finish(&result->slow_steps);
}

const struct ws_analysis ws_analysis_step_bounds = {
    .name = "step_bounds",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_steps),
    .run = run_bounds,
    .finish = steps_finish,
};

const struct ws_analysis ws_analysis_steps = {
    .name = "steps",
    .title = "Steps",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_steps),
    .needs = { &ws_analysis_activity, &ws_analysis_step_bounds },
    .run = steps_run,
    .finish = steps_finish,
    .text = ws_steps_text,
    .json = ws_steps_json,
};
