#include "analysis/verdict/wall.h"

#include <errno.h>
#include <string.h>

#include "analysis/gaps/gaps.h"
#include "analysis/steps/steps.h"

static int advice_json(json_t *list, const struct ws_advice *advice, size_t count, bool per_step)
{
    int status = 0;
    for (size_t i = 0; i < count && !status; i++) {
        json_t *row = json_object();
        status |= json_array_append_new(list, row);
        status |= json_object_set_new(row, "cause", json_string(advice[i].name));
        status |= json_object_set_new(row, "part", json_string(ws_part_name(advice[i].part)));
        status |= json_object_set_new(row, "wall", json_string(ws_wall_name(ws_part_wall(advice[i].part))));
        status |= ws_json_set(row, "saving_ns", advice[i].saving_ns);
        if (per_step)
            status |= ws_json_set(row, "saving_ns_per_step", advice[i].saving_ns);
        status |= json_object_set_new(row, "text", ws_json_text(advice[i].what));
        status |= json_object_set_new(row, "where", ws_json_text(advice[i].where));
        if (*advice[i].code)
            status |= json_object_set_new(row, "line_text", ws_json_text(advice[i].code));
        status |= json_object_set_new(row, "evidence", ws_json_text(advice[i].evidence));
    }
    return status;
}

/* Adds two keys to the JSON object. The value of `time_key` is the wall's time. The value of `from_key` is an object
 * with the part of this time for each source of the kernels' FLOPs and bytes (shape, counter, name …). For the wall
 * bandwidth, both values include copies within the device. */
static int put_class(json_t *object, const struct ws_track_wall *result, enum ws_wall wall, const char *time_key,
                     const char *from_key)
{
    json_t *from = json_object();
    int64_t copies = wall == WS_WALL_BANDWIDTH ? result->parts[WS_PART_DEVICE_COPIES] : 0;
    int status = ws_json_set(object, time_key, ws_wall_known(result, wall) + copies);
    status |= json_object_set_new(object, from_key, from);
    for (int source = WS_WORK_NONE + 1; source < WS_WORK_SOURCES; source++)
        status |= ws_json_set(from, ws_work_source_name((enum ws_work_source)source), result->kernels[wall][source]);
    if (wall == WS_WALL_BANDWIDTH)
        status |= ws_json_set(from, ws_part_name(WS_PART_DEVICE_COPIES), copies);
    return status;
}

/* Adds the time of kernels and of copies within the device to the JSON object, by roofline class. */
static int put_classes(json_t *wall, const struct ws_track_wall *result)
{
    json_t *classes = json_object();
    int64_t compute = ws_wall_suggested(result, WS_WALL_COMPUTE),
            bandwidth = ws_wall_suggested(result, WS_WALL_BANDWIDTH);
    int status = json_object_set_new(wall, "by_class", classes);
    status |= put_class(classes, result, WS_WALL_COMPUTE, "compute_ns", "compute_from");
    status |= put_class(classes, result, WS_WALL_BANDWIDTH, "bandwidth_ns", "bandwidth_from");
    status |= ws_json_set(classes, "not_known_ns", compute + bandwidth + result->parts[WS_PART_GRAPHS]);
    status |= ws_json_set(classes, "names_suggest_compute_ns", compute);
    status |= ws_json_set(classes, "names_suggest_bandwidth_ns", bandwidth);
    return status;
}

static int put_wall(json_t *object, const struct ws_track_wall *result)
{
    json_t *wall = json_object(), *parts = json_object();
    int status = json_object_set_new(object, "wall", wall);
    bool known = result->wall;
    status |= json_object_set_new(wall, "name", known ? json_string(ws_wall_name(result->wall)) : json_null());
    status |= json_object_set_new(wall, "cause", known ? json_string(ws_part_name(result->cause)) : json_null());
    status |= json_object_set_new(wall, "per_step", json_boolean(result->per_step));
    status |= ws_json_set(wall, "step_ns", result->length + result->first_calls);
    status |= ws_json_set(wall, "first_calls_ns", result->first_calls);
    status |= ws_json_set(wall, "wall_ns", known ? result->by_wall[result->wall] : 0);
    status |= json_object_set_new(wall, "by_names", json_boolean(result->by_names));
    status |= put_classes(wall, result);
    status |= ws_json_set(wall, "saving_ns", result->saving);
    status |= json_object_set_new(wall, "comm_waiting_ns",
                                  result->comm_waiting < 0 ? json_null() : json_integer(result->comm_waiting));
    status |= json_object_set_new(wall, "trains", json_boolean(result->trains));
    status |= json_object_set_new(wall, "behind_input",
                                  result->behind ? json_string(ws_wall_name(result->behind)) : json_null());
    status |= json_object_set_new(wall, "parts", parts);
    for (int part = 0; part < WS_PART_COUNT; part++)
        status |= ws_json_set(parts, ws_part_name((enum ws_part)part), result->parts[part]);
    return status;
}

int ws_wall_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_wall *result = memory;
    json_t *advice = json_array();
    (void)report;
    (void)subject;
    int status = json_object_set_new(object, "advice", advice);
    if (result->why_none)
        status |= json_object_set_new(object, "wall_reason", json_string(result->why_none));
    if (!result->is_measured) {
        status |= json_object_set_new(object, "wall", json_null());
    } else {
        status |= put_wall(object, result);
        status |= advice_json(advice, result->advice.items.data, result->advice.items.count, result->per_step);
    }
    return status ? -ENOMEM : 0;
}
