/* Collectives in PyTorch traces. Later versions of PyTorch describe a collective and its process group in the
 * arguments of each kernel and of the operator record_param_comms. In earlier versions, an annotation such as
 * "nccl:all_reduce" has the collective's name, and the annotation's input is the data. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "input/decimal.h"
#include "input/kineto.h"

static const char record[] = "record_param_comms", prefix[] = "nccl:";

bool kineto_is_communication(const struct ws_text *name)
{
    return (name->length == sizeof(record) - 1 && !memcmp(name->data, record, sizeof(record) - 1)) ||
           (name->length >= sizeof(prefix) - 1 && !memcmp(name->data, prefix, sizeof(prefix) - 1));
}

/* --- process groups ------------------------------------------------------------------------------- */

static struct ws_comm *group_for(struct kineto *kineto, const char *key, size_t length, struct kineto_group said,
                                 uint32_t *id)
{
    struct ws_gather *gather = kineto->gather;
    bool fresh;
    *id = ws_intern_text(&kineto->groups, &gather->texts, key, length, &fresh);
    if (fresh) {
        struct ws_comm *row = ws_vector_push(&kineto->gather->comms);
        struct kineto_group *kept = ws_vector_push(&kineto->group_ranks);
        if (!row || !kept) {
            gather->error = -ENOMEM;
            return NULL;
        }
        *row = (struct ws_comm){ .id = *id, .rank = UINT32_MAX };
        *kept = (struct kineto_group){ .name = ws_gather_text(gather, said.name.data, said.name.length),
                                       .ranks = ws_gather_text(gather, said.ranks.data, said.ranks.length) };
    }
    if (!*id)
        gather->error = -ENOMEM;
    return *id ? (struct ws_comm *)kineto->gather->comms.data + (*id - 1) : NULL;
}

static uint32_t small(int64_t value)
{
    return value > 0 && value < INT32_MAX ? (uint32_t)value : 0;
}

/* Returns the number of the process group whose name and ranks the event gives. The traces of all ranks of the group
 * give the same name and ranks, so the group gets the same name_hash in each of them. */
static uint32_t named_group(struct kineto *kineto)
{
    const struct kineto_event *event = &kineto->event;
    const struct ws_text *name = &event->text[TEXT_GROUP_NAME], *ranks = &event->text[TEXT_GROUP_RANKS];
    char key[4096];
    uint32_t id;
    int size = snprintf(key, sizeof(key), "%.*s of %lld: %.*s", (int)(name->length < 256 ? name->length : 256),
                        name->data, (long long)event->number[KINETO_GROUP_SIZE],
                        (int)(ranks->length < 3072 ? ranks->length : 3072), ranks->data);
    struct ws_comm *group =
        group_for(kineto, key, (size_t)size, (struct kineto_group){ .name = *name, .ranks = *ranks }, &id);
    if (!group)
        return 0;
    group->size = small(event->number[KINETO_GROUP_SIZE]);
    group->name_hash = ws_hash(key, (size_t)size);
    if (kineto_saw(event, KINETO_GROUP_RANK))
        group->rank = small(event->number[KINETO_GROUP_RANK]);
    return id;
}

/* Returns the number of the process group of a call in a trace by an earlier version of PyTorch. In such a trace the
 * inputs of record_param_comms hold the call's number, the group's address in this process, the rank and the group's
 * size. */
static uint32_t unnamed_group(struct kineto *kineto)
{
    const struct kineto_event *event = &kineto->event;
    int64_t handle = event->concrete[1], rank = event->concrete[2], size = event->concrete[3];
    char key[64];
    uint32_t id;
    /* A handle below 4096 is too small to be the group's address, so these inputs do not describe a group. */
    if (size < 1 || size > 1 << 24 || rank < 0 || rank >= size || handle < 4096)
        return 0;
    int length = snprintf(key, sizeof(key), "at %lld of %lld", (long long)handle, (long long)size);
    struct ws_comm *group =
        group_for(kineto, key, (size_t)length, (struct kineto_group){ .name = { "", 0 }, .ranks = { "", 0 } }, &id);
    if (!group)
        return 0;
    group->size = (uint32_t)size;
    group->rank = (uint32_t)rank;
    group->handle = (uint64_t)handle;
    return id;
}

/* Returns the index of a rank in a list such as "[0, 8, 16]", or UINT32_MAX. */
static uint32_t place_in(struct ws_text ranks, int64_t rank)
{
    uint32_t place = 0;
    for (size_t at = 0; at < ranks.length; place++) {
        while (at < ranks.length && (ranks.data[at] < '0' || ranks.data[at] > '9'))
            at++;
        size_t begin = at;
        int64_t value;
        while (at < ranks.length && ranks.data[at] >= '0' && ranks.data[at] <= '9')
            at++;
        if (at > begin && ws_decimal(ranks.data + begin, at - begin, 0, &value) && value == rank)
            return place;
    }
    return UINT32_MAX;
}

/* Returns this process's rank in the group. For large groups, events list only the first ranks, followed by dots. The
 * file's configuration of process groups lists all ranks. */
static uint32_t rank_in(const struct kineto *kineto, const struct kineto_group *group)
{
    const struct kineto_group *configured = kineto_configured_group(kineto, group->name);
    uint32_t place = place_in(group->ranks, kineto->rank);
    if (place == UINT32_MAX && configured)
        place = configured->place;
    if (place != UINT32_MAX)
        return place;
    /* If the list is incomplete, use this process's rank in the job. No other process of the group uses this
     * number. */
    return memmem(group->ranks.data, group->ranks.length, "...", 3) ? small(kineto->rank) : 0;
}

void kineto_end_groups(struct kineto *kineto)
{
    struct ws_comm *rows = kineto->gather->comms.data;
    const struct kineto_group *groups = kineto->group_ranks.data;
    struct kineto_group *configured = kineto->configured.data;
    for (size_t i = 0; i < kineto->configured.count; i++)
        configured[i].place = place_in(configured[i].ranks, kineto->rank);
    for (size_t i = 0; i < kineto->gather->comms.count; i++)
        if (rows[i].rank == UINT32_MAX)
            rows[i].rank = rank_in(kineto, &groups[i]);
}

/* --- calls ---------------------------------------------------------------------------------------- */

static bool is_function(struct ws_text function, const char *name)
{
    return function.length == strlen(name) && !memcmp(function.data, name, function.length);
}

/* Returns the number of elements by NCCL's definition of `count`. For gathers and scatters NCCL counts the elements
 * of one rank's part. */
static uint64_t kineto_collectives_count_of(struct ws_text function, int64_t in, int64_t out, int64_t ranks)
{
    int64_t count = is_function(function, "ncclReduceScatter") || is_function(function, "ncclScatter") ||
                            is_function(function, "ncclRecv")
                        ? out
                        : in;
    if (is_function(function, "ncclAlltoAll") && ranks > 1)
        count /= ranks;
    return count > 0 ? (uint64_t)count : 0;
}

/* Reads a collective from the arguments that later versions of PyTorch write. */
static struct ws_gather_collective described(struct kineto *kineto)
{
    const struct kineto_event *event = &kineto->event;
    struct ws_text function = ws_collective_function(event->text[TEXT_COLLECTIVE]);
    uint32_t type = ws_collective_type(event->text[TEXT_ELEMENT_TYPE]);
    enum kineto_key peer = is_function(function, "ncclRecv") ? KINETO_SOURCE_RANK : KINETO_TARGET_RANK;
    return (struct ws_gather_collective){
        .function = ws_gather_driver_function(kineto->gather, function.data, function.length),
        .comm = named_group(kineto),
        .datatype = type == WS_NO_TYPE ? 0 : type,
        .count = type == WS_NO_TYPE ? 0
                                    : kineto_collectives_count_of(function, event->number[KINETO_ELEMENTS_IN],
                                                                  event->number[KINETO_ELEMENTS_OUT],
                                                                  event->number[KINETO_GROUP_SIZE]),
        .sequence = event->number[KINETO_SEQUENCE] > 0 ? (uint64_t)event->number[KINETO_SEQUENCE] : 0,
        .peer = kineto_saw(event, peer) ? (int32_t)small(event->number[peer]) : -1,
    };
}

/* Returns the number of elements of the first input in "float[19618307] …", or 0 if the input is not a tensor of a
 * known type. */
static uint64_t kineto_collectives_elements_of(struct ws_text inputs, uint32_t *type)
{
    size_t end = 0, at;
    uint64_t elements = 1;
    while (end < inputs.length && inputs.data[end] != '[' && inputs.data[end] != ' ')
        end++;
    *type = ws_collective_type((struct ws_text){ inputs.data, (uint32_t)end });
    if (*type == WS_NO_TYPE)
        return 0;
    for (at = end; at < inputs.length && (inputs.data[at] == '[' || inputs.data[at] == ','); at = end) {
        int64_t dimension;
        for (end = at + 1; end < inputs.length && inputs.data[end] >= '0' && inputs.data[end] <= '9';)
            end++;
        if (!ws_decimal(inputs.data + at + 1, end - at - 1, 0, &dimension) ||
            __builtin_mul_overflow(elements, (uint64_t)dimension, &elements))
            return 0;
    }
    return elements;
}

/* Reads a collective from the name and the input of an annotation, as earlier versions of PyTorch write it. */
static struct ws_gather_collective annotated(struct kineto *kineto)
{
    const struct kineto_event *event = &kineto->event;
    struct ws_text function =
        ws_collective_function((struct ws_text){ event->text[TEXT_NAME].data + sizeof(prefix) - 1,
                                                 event->text[TEXT_NAME].length - (uint32_t)(sizeof(prefix) - 1) });
    uint32_t type;
    uint64_t count = kineto_collectives_elements_of(event->inputs, &type);
    return (struct ws_gather_collective){
        .function = ws_gather_driver_function(kineto->gather, function.data, function.length),
        .count = count,
        .datatype = type == WS_NO_TYPE ? 0 : type,
        .peer = -1,
        .all_parts = is_function(function, "ncclReduceScatter") || is_function(function, "ncclAlltoAll"),
    };
}

void kineto_take_communication(struct kineto *kineto, uint32_t thread, int64_t begin, int64_t end)
{
    const struct kineto_event *event = &kineto->event;
    bool is_record = event->text[TEXT_NAME].data[0] == *record;
    struct ws_gather_collective collective = { .peer = -1 };
    if (event->text[TEXT_COLLECTIVE].length)
        collective = described(kineto);
    else if (!is_record)
        collective = annotated(kineto);
    else if ((collective.comm = unnamed_group(kineto)) && event->concrete[0] > 0)
        collective.sequence = (uint64_t)event->concrete[0];
    collective.thread = thread;
    collective.begin = begin;
    collective.end = end;
    if (collective.function || collective.comm)
        ws_gather_collective(kineto->gather, &collective);
}

void kineto_take_communication_kernel(struct kineto *kineto)
{
    struct ws_gather_collective collective = described(kineto);
    collective.op = (uint32_t)kineto->gather->ops.count;
    if (collective.op && !kineto->gather->error)
        ws_gather_collective(kineto->gather, &collective);
}
