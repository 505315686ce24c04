#include "analysis/steps/range_figures.h"

#include "analysis/activity/activity.h"

struct ws_range_scale ws_range_scale_of(const struct ws_report *report, size_t subject)
{
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    size_t count = steps->kinds[WS_STEP_STEADY];
    return (struct ws_range_scale){ steps, count, count ? steps->mean : ws_activity_known(activity),
                                    ws_model_track(report->model, subject)->count > 0 };
}

static int set_amount(json_t *object, const struct ws_range_amount *amount, size_t steps)
{
    int64_t of = steps ? (int64_t)steps : 1;
    int status = steps ? json_object_set_new(object, "operations", json_real((double)amount->operations / (double)of))
                       : ws_json_set(object, "operations", (int64_t)amount->operations);
    status |= ws_json_set(object, "busy_ns", amount->busy / of);
    status |= ws_json_set(object, "sum_ns", amount->sum / of);
    status |= ws_json_set(object, "idle_ns", amount->idle / of);
    return status;
}

static int set_own(json_t *object, const struct ws_range_amount *own, size_t steps)
{
    json_t *inner = json_object();
    int status = json_object_set_new(object, "own", inner);
    return status ? status : set_amount(inner, own, steps);
}

static int set_stay(json_t *object, const struct ws_range_stay *stay, size_t steps)
{
    int64_t of = steps ? (int64_t)steps : 1;
    int status = steps ? json_object_set_new(object, "count", json_real((double)stay->count / (double)of))
                       : ws_json_set(object, "count", (int64_t)stay->count);
    status |= ws_json_set(object, "host_ns", stay->host / of);
    return status | ws_json_set(object, "host_own_ns", stay->own / of);
}

/* Adds an empty JSON object "per_step", and returns it. The caller adds the figures per step to it. If there are no
 * steady steps, adds null and returns NULL. */
static json_t *add_step(json_t *object, size_t steps, int *status)
{
    json_t *step = steps ? json_object() : json_null();
    *status |= json_object_set_new(object, "per_step", step);
    return steps ? step : NULL;
}

json_t *ws_range_row_json(const char *name, const struct ws_range_row *row, size_t steps)
{
    json_t *object = json_object();
    int status = json_object_set_new(object, "name", ws_json_text(name));
    status |= set_stay(object, &row->all, 0);
    status |= set_amount(object, &row->work.all, 0);
    status |= set_own(object, &row->own.all, 0);
    json_t *step = add_step(object, steps, &status);
    if (step && !status) {
        status |= set_stay(step, &row->steady, steps);
        status |= set_amount(step, &row->work.steady, steps);
        status |= set_own(step, &row->own.steady, steps);
    }
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *outside_json(const struct ws_range_outside *outside, size_t steps)
{
    json_t *object = json_object();
    int status = ws_json_set(object, "thread", outside->thread);
    status |= json_object_set_new(object, "has_ranges", json_boolean(outside->has_ranges));
    status |= set_amount(object, &outside->work.all, 0);
    json_t *step = add_step(object, steps, &status);
    if (step && !status)
        status = set_amount(step, &outside->work.steady, steps);
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

int ws_ranges_outside_json(const struct ws_track_ranges *result, size_t steps, const char *key, json_t *object)
{
    const struct ws_range_outside *threads = result->outside.data;
    json_t *list = json_array();
    int status = json_object_set_new(object, key, list);
    for (size_t i = 0; i < result->outside.count && !status; i++)
        if (threads[i].work.all.operations)
            status = json_array_append_new(list, outside_json(&threads[i], steps));
    return status;
}
