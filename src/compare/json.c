#include "compare/compare.h"

enum { JSON_VERSION = 1 };

static int set_ns(json_t *object, const char *key, double value)
{
    return ws_json_set(object, key, ws_change_ns(value));
}

static int compare_json_add_times(json_t *object, const struct ws_change *change)
{
    int status = set_ns(object, "before_ns", change->before);
    status |= set_ns(object, "after_ns", change->after);
    status |= set_ns(object, "change_ns", change->after - change->before);
    status |= set_ns(object, "noise_ns", change->noise);
    return status | json_object_set_new(object, "is_noise", json_boolean(ws_change_is_noise(change)));
}

static json_t *named_json(const struct ws_change *change)
{
    json_t *object = json_object();
    int status = json_object_set_new(object, "name", json_string(change->key));
    status |= compare_json_add_times(object, change);
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *line_json(const struct ws_change *change)
{
    json_t *object = json_object();
    int status = json_object_set_new(object, "cause", json_string(change->key));
    status |= json_object_set_new(object, "where", *change->label ? ws_json_text(change->label) : json_null());
    status |= compare_json_add_times(object, change);
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *amount_json(const struct ws_change *change)
{
    json_t *object = json_object();
    int status = json_object_set_new(object, "name", json_string(change->key));
    status |= json_object_set_new(object, "unit", json_string(change->unit));
    status |= json_object_set_new(object, "before", json_real(change->before));
    status |= json_object_set_new(object, "after", json_real(change->after));
    status |= json_object_set_new(object, "change", json_real(change->after - change->before));
    status |= json_object_set_new(object, "is_noise", json_boolean(ws_change_is_noise(change)));
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *kernel_side_json(const struct ws_comparison *comparison, const struct ws_report_side *side,
                                const struct ws_report_side_kernel *kernel)
{
    if (!kernel)
        return json_null();
    const uint32_t *launch = kernel->launch;
    double count = kernel->per[comparison->sampling].count / (double)side->per[comparison->sampling].count;
    json_t *object = json_object();
    int status = json_object_set_new(object, "name", ws_json_text(kernel->name));
    status |= json_object_set_new(object, "class", json_string(ws_sample_class_name(kernel->class)));
    status |= json_object_set_new(object, "count", json_real(count));
    if (launch[0]) {
        status |= json_object_set_new(
            object, "grid",
            json_pack("[I,I,I]", (json_int_t)launch[0], (json_int_t)launch[1], (json_int_t)launch[2]));
        status |= json_object_set_new(
            object, "block",
            json_pack("[I,I,I]", (json_int_t)launch[3], (json_int_t)launch[4], (json_int_t)launch[5]));
    }
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *kernel_json(const struct ws_comparison *comparison, const struct ws_change *change)
{
    const struct ws_pair *pair = change->pair;
    json_t *object = json_object();
    int status = json_object_set_new(object, "match", json_string(ws_pairing_name(pair->match)));
    status |= json_object_set_new(object, "before", kernel_side_json(comparison, comparison->before, pair->before));
    status |= json_object_set_new(object, "after", kernel_side_json(comparison, comparison->after, pair->after));
    status |= compare_json_add_times(object, change);
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *collective_side_json(const struct ws_comparison *comparison, const struct ws_report_side *side,
                                    const struct ws_report_side_collective *collective)
{
    if (!collective)
        return json_null();
    double samples = (double)side->per[comparison->sampling].count;
    double rate = ws_change_bus_rate(comparison, collective);
    json_t *object = json_object();
    int status =
        json_object_set_new(object, "count", json_real(collective->per[comparison->sampling].count / samples));
    if (collective->bytes[comparison->sampling] > 0)
        status |= json_object_set_new(object, "bytes", json_real(collective->bytes[comparison->sampling] / samples));
    if (rate > 0)
        status |= json_object_set_new(object, "bus_gb_per_s", json_real(rate));
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *collective_json(const struct ws_comparison *comparison, const struct ws_change *change)
{
    const struct ws_report_side_collective *before = change->collectives[0], *after = change->collectives[1];
    json_t *object = json_object();
    int status = json_object_set_new(object, "operation", json_string(change->key));
    status |= ws_json_set(object, "ranks", before ? before->ranks : after ? after->ranks : 0);
    status |= json_object_set_new(object, "before", collective_side_json(comparison, comparison->before, before));
    status |= json_object_set_new(object, "after", collective_side_json(comparison, comparison->after, after));
    status |= compare_json_add_times(object, change);
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *change_json(const struct ws_comparison *comparison, const struct ws_change *change)
{
    switch (change->group) {
    case WS_CHANGE_KERNEL:
        return kernel_json(comparison, change);
    case WS_CHANGE_LINE:
        return line_json(change);
    case WS_CHANGE_COLLECTIVE:
        return collective_json(comparison, change);
    case WS_CHANGE_AMOUNT:
        return amount_json(change);
    default:
        return named_json(change);
    }
}

static json_t *group_json(const struct ws_comparison *comparison, enum ws_change_group group)
{
    const struct ws_change *changes = comparison->changes.data;
    json_t *list = json_array();
    int status = list ? 0 : -1;
    for (size_t i = comparison->begins[group]; i < comparison->begins[group + 1] && !status; i++)
        status = json_array_append_new(list, change_json(comparison, &changes[i]));
    if (!status)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *compare_json_side_json(const struct ws_comparison *comparison, const struct ws_report_side *side)
{
    const struct ws_samples *samples = &side->per[comparison->sampling];
    const char *const *paths = side->traces.data;
    json_t *object = json_object(), *traces = json_array();
    int status = json_object_set_new(object, "traces", traces);
    for (size_t i = 0; i < side->traces.count && !status; i++)
        status = json_array_append_new(traces, ws_json_text(paths[i]));
    if (side->has_window)
        status |= json_object_set_new(object, "window", ws_report_window_json(&side->window));
    status |= ws_json_set(object, "devices", (int64_t)samples->devices);
    status |= ws_json_set(object, "devices_left_out", (int64_t)(side->running - samples->devices));
    status |= ws_json_set(object, "samples", (int64_t)samples->count);
    status |= json_object_set_new(object, "steps", json_string(side->source));
    status |= ws_json_set(object, "untimed_events", (int64_t)side->untimed);
    status |= ws_json_set(object, "counted_calls", (int64_t)side->counted);
    status |= ws_json_set(object, "cut_traces", (int64_t)side->cut);
    status |=
        json_object_set_new(object, "event_placement", *side->placement ? json_string(side->placement) : json_null());
    status |= ws_json_set(object, "lost_events", (int64_t)side->lost);
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

json_t *ws_comparison_json(const struct ws_comparison *comparison)
{
    static const char *const keys[WS_CHANGE_GROUP_COUNT] = {
        [WS_CHANGE_TIME] = "times",     [WS_CHANGE_PART] = "parts",     [WS_CHANGE_LINE] = "gap_lines",
        [WS_CHANGE_CLASS] = "classes",  [WS_CHANGE_KERNEL] = "kernels", [WS_CHANGE_COLLECTIVE] = "collectives",
        [WS_CHANGE_AMOUNT] = "amounts",
    };
    json_t *root = json_object();
    int status = json_object_set_new(root, "schema", json_string("wallshim-diff"));
    status |= json_object_set_new(root, "version", json_integer(JSON_VERSION));
    status |=
        json_object_set_new(root, "per", json_string(comparison->sampling == WS_PER_STEP ? "step" : "recording"));
    status |= json_object_set_new(root, "before", compare_json_side_json(comparison, comparison->before));
    status |= json_object_set_new(root, "after", compare_json_side_json(comparison, comparison->after));
    for (size_t group = 0; group < WS_CHANGE_GROUP_COUNT && !status; group++)
        status = json_object_set_new(root, keys[group], group_json(comparison, (enum ws_change_group)group));
    if (!status)
        return root;
    json_decref(root);
    return NULL;
}
