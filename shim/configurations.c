#include "configurations.h"

#include <stddef.h>
#include <string.h>

#include "base/map.h"
#include "base/reserve.h"
#include "registry.h"
#include "streams.h"

enum { ROUNDS = 2 /* over all groups */, MOST_CONFIGURATIONS = 65536 };

static struct configuration *configurations;
static _Atomic uint32_t configuration_count;
static struct ws_map places; /* hash of a configuration → its place + 1 */

static uint64_t hash_of(const struct configuration *configuration)
{
    const uint32_t *words = &configuration->device;
    uint64_t hash = 0x2545f4914f6cdd1du;
    for (size_t i = 0; i < offsetof(struct configuration, taken) / sizeof(uint32_t); i++)
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u ^ hash >> 31;
    return hash ? hash : 1;
}

struct configuration *configuration_find(const struct shape_entry *shape)
{
    const struct ws_shape *row = registry_row(&registry.shape, shape->shape);
    struct configuration wanted = { .device = shape->stream->context->device,
                                    .function = row->function,
                                    .grid = { row->grid_x, row->grid_y, row->grid_z },
                                    .block = { row->block_x, row->block_y, row->block_z },
                                    .shared = row->shared_bytes };
    if (!configurations)
        configurations = ws_reserve(MOST_CONFIGURATIONS * sizeof(*configurations));
    for (uint64_t hash = hash_of(&wanted); configurations; hash++) {
        uint64_t *place = ws_map_put(&places, hash ? hash : 1);
        if (!place || (!*place && configuration_count == MOST_CONFIGURATIONS))
            break;
        if (!*place) {
            configurations[configuration_count] = wanted;
            *place = ++configuration_count;
        }
        struct configuration *found = &configurations[*place - 1];
        if (!memcmp(found, &wanted, offsetof(struct configuration, taken)))
            return found;
    }
    return NULL;
}

/* Does it wait for other ranks, so that it may never end by itself? */
static bool communicates(uint32_t function)
{
    static const char *const words[] = {
        "nccl", "nvshmem", "deep_ep", "internode", "cross_device_reduce", "multimem"
    };
    const struct ws_function *row = function ? registry_row(&registry.function, function) : NULL;
    for (size_t i = 0; row && i < sizeof(words) / sizeof(words[0]); i++)
        if (strstr(row->name.data, words[i]))
            return true;
    return false;
}

bool configuration_countable(const struct shape_entry *shape, uint32_t flags)
{
    const struct ws_shape *row = registry_row(&registry.shape, shape->shape);
    return row->kind == WS_OP_KERNEL && !(flags & WS_OP_IN_COLLECTIVE) && !communicates(row->function);
}

bool configuration_turn(struct configuration *configuration, const struct cupti_group *groups, uint32_t count,
                        uint32_t *group)
{
    for (; configuration->taken < ROUNDS * count; configuration->taken++) {
        const struct cupti_group *next = &groups[configuration->taken % count];
        if (!next->host || (configuration->no_tensor && next->tensor))
            continue;
        *group = configuration->taken % count;
        return true;
    }
    return false;
}

uint32_t configurations_known(void)
{
    return atomic_load(&configuration_count);
}
