#include <math.h>

#include "compare/compare.h"

enum { JSON_VERSION = 1 };

static int set_ns(json_t *object, const char *key, double value)
{
    return ws_json_set(object, key, (int64_t)llround(value));
}

static int add_times(json_t *object, const struct ws_change *change)
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
    status |= add_times(object, change);
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *kernel_side_json(const struct ws_side *side, const struct ws_side_kernel *kernel)
{
    if (!kernel)
        return json_null();
    const struct ws_shape *row = kernel->shape ? &kernel->shape->row : NULL;
    json_t *object = json_object();
    int status = json_object_set_new(object, "name", ws_json_text(ws_pair_name(side, kernel)));
    status |= json_object_set_new(object, "class", json_string(ws_sample_class_name(kernel->class)));
    status |= json_object_set_new(object, "count", json_real((double)kernel->count / (double)side->samples));
    if (row && row->kind == WS_OP_KERNEL && row->grid_x) {
        status |= json_object_set_new(
            object, "grid",
            json_pack("[I,I,I]", (json_int_t)row->grid_x, (json_int_t)row->grid_y, (json_int_t)row->grid_z));
        status |= json_object_set_new(
            object, "block",
            json_pack("[I,I,I]", (json_int_t)row->block_x, (json_int_t)row->block_y, (json_int_t)row->block_z));
    }
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *kernel_json(const struct ws_comparison *comparison, const struct ws_change *change)
{
    json_t *object = json_object();
    int status = json_object_set_new(object, "match", json_string(ws_pairing_name(change->pair->match)));
    status |= json_object_set_new(object, "before", kernel_side_json(&comparison->before, change->pair->before));
    status |= json_object_set_new(object, "after", kernel_side_json(&comparison->after, change->pair->after));
    status |= add_times(object, change);
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *group_json(const struct ws_comparison *comparison, enum ws_change_group group)
{
    const struct ws_change *changes = comparison->changes.data;
    json_t *list = json_array();
    int status = list ? 0 : -1;
    for (size_t i = comparison->begins[group]; i < comparison->begins[group + 1] && !status; i++)
        status = json_array_append_new(list, group == WS_CHANGE_KERNEL ? kernel_json(comparison, &changes[i])
                                                                       : named_json(&changes[i]));
    if (!status)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *side_json(const struct ws_side *side)
{
    const struct ws_model *model = side->report->model;
    json_t *object = json_object(), *traces = json_array();
    int status = json_object_set_new(object, "traces", traces);
    for (size_t i = 0; i < model->processes.count && !status; i++)
        status = json_array_append_new(traces, ws_json_text(ws_model_process(model, i)->path));
    status |= ws_json_set(object, "devices", (int64_t)side->devices);
    status |= ws_json_set(object, "devices_left_out", (int64_t)side->left_out);
    status |= ws_json_set(object, "samples", (int64_t)side->samples);
    status |= ws_json_set(object, "untimed_events", (int64_t)side->untimed);
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

json_t *ws_comparison_json(const struct ws_comparison *comparison)
{
    static const char *const keys[WS_CHANGE_GROUP_COUNT] = { "times", "parts", "classes", "kernels" };
    json_t *root = json_object();
    int status = json_object_set_new(root, "schema", json_string("wallshim-diff"));
    status |= json_object_set_new(root, "version", json_integer(JSON_VERSION));
    status |= json_object_set_new(root, "per", json_string(comparison->per_step ? "step" : "recording"));
    status |= json_object_set_new(root, "before", side_json(&comparison->before));
    status |= json_object_set_new(root, "after", side_json(&comparison->after));
    for (size_t group = 0; group < WS_CHANGE_GROUP_COUNT && !status; group++)
        status = json_object_set_new(root, keys[group], group_json(comparison, (enum ws_change_group)group));
    if (!status)
        return root;
    json_decref(root);
    return NULL;
}
