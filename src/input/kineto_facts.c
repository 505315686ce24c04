/* Facts that a trace gives outside of its events: devices, and the ranks of process groups. */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/salted.h"
#include "input/decimal.h"
#include "input/kineto.h"

void kineto_take_device_value(struct kineto *kineto, struct ws_device *device, enum kineto_key key, const char *text,
                              size_t length)
{
    int64_t value = -1;
    if (key == KINETO_NAME)
        device->name = ws_gather_text(kineto->gather, text, length);
    if (!ws_decimal(text, length, 0, &value) || value < 0)
        return;
    uint32_t number = value < INT32_MAX ? (uint32_t)value : 0;
    if (key == KINETO_ID)
        device->id = value < INT32_MAX ? number + 1 : 0;
    else if (key == KINETO_COMPUTE_MAJOR)
        device->cc_major = number;
    else if (key == KINETO_COMPUTE_MINOR)
        device->cc_minor = number;
    else if (key == KINETO_SMS)
        device->sms = number;
    else if (key == KINETO_TOTAL_MEMORY)
        device->memory_bytes = (uint64_t)value;
}

void kineto_take_group_value(struct kineto *kineto, struct kineto_configured *group, enum kineto_key key,
                             const char *text, size_t length)
{
    struct kineto_text *to = key == KINETO_GROUP_CONFIG_NAME ? &group->name : &group->ranks;
    bool wanted = key == KINETO_GROUP_CONFIG_NAME || key == KINETO_GROUP_CONFIG_RANKS;
    if (wanted && (kineto_append(to, text, length) || (to == &group->ranks && kineto_append(to, ",", 1))))
        kineto->gather->error = -ENOMEM;
}

void kineto_end_group(struct kineto *kineto, struct kineto_configured *group)
{
    bool wanted = group->name.size && group->ranks.size;
    struct kineto_group *row = wanted ? ws_vector_push(&kineto->configured) : NULL;
    uint64_t *place =
        row ? ws_salted_put(&kineto->configured_of, ws_hash_key(group->name.data, group->name.size)) : NULL;
    if (place) {
        *row = (struct kineto_group){ .name = ws_gather_text(kineto->gather, group->name.data, group->name.size),
                                      .ranks = ws_gather_text(kineto->gather, group->ranks.data, group->ranks.size) };
        *place = *place ? *place : kineto->configured.count;
    } else if (wanted) {
        kineto->gather->error = -ENOMEM;
    }
    group->name.size = group->ranks.size = 0;
}

const struct kineto_group *kineto_configured_group(const struct kineto *kineto, struct ws_text name)
{
    const uint64_t *place = ws_salted_get(&kineto->configured_of, ws_hash_key(name.data, name.length));
    const struct kineto_group *group =
        place ? (const struct kineto_group *)kineto->configured.data + (*place - 1) : NULL;
    return group && name.length == group->name.length && !memcmp(name.data, group->name.data, name.length) ? group
                                                                                                           : NULL;
}
