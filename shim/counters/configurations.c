#include "shim/counters/configurations.h"

#include <stddef.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/reserve.h"
#include "shim/objects/streams.h"
#include "shim/state/registry.h"

enum { ROUNDS = 2 /* each group of metrics is counted in this many launches */, MOST_CONFIGURATIONS = 65536 };

static struct configuration *configurations;
static _Atomic uint32_t configuration_count;
static struct ws_map places; /* hash of a configuration → its index in `configurations`, plus 1 */

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
    uint64_t key = ws_hash_key(&wanted, offsetof(struct configuration, taken));
    for (; configurations; key = ws_hash_next(key)) {
        uint64_t *place = ws_map_put(&places, key);
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

/* Does the kernel wait for other ranks? While counters are read, the host thread waits for the kernel, and a kernel
 * that waits for other ranks may then never end. */
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
