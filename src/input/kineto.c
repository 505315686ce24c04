/* Reads traces of Kineto, PyTorch's profiler: JSON in Chrome's trace event format, plain or compressed with gzip.
 * Stores only the fields of events that are used. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/importer.h"
#include "input/input.h"
#include "input/json.h"
#include "input/kineto.h"

enum { DEPTH = 8 };

/* The kind of a map or array in the file. */
enum node {
    NODE_SKIPPED, /* not used, and nothing inside is used */
    NODE_ROOT,
    NODE_EVENTS,
    NODE_EVENT,
    NODE_ARGS,
    NODE_DEVICES,
    NODE_DEVICE,
    NODE_DISTRIBUTED,
    NODE_GROUPS, /* the configuration of process groups */
    NODE_GROUP,
    NODE_RANKS, /* the ranks in one process group */
    NODE_GRID,
    NODE_BLOCK,
    NODE_CONCRETE,   /* values of an operator's inputs */
    NODE_TYPES,      /* types of an operator's inputs */
    NODE_DIMENSIONS, /* dimensions of an operator's inputs: one array per input, of numbers or of further arrays */
    NODE_DIMENSION,
};

struct place {
    enum node node;
    enum kineto_key key; /* the last key of the map */
    size_t index;        /* index of the next element of the array */
};

struct reading {
    struct kineto kineto;
    struct kineto_ranks ranks;
    struct ws_input *input;
    struct ws_json *json;
    bool has_events;
    struct place places[DEPTH];
    unsigned depth;   /* number of levels in use */
    unsigned events;  /* depth inside the array of events */
    unsigned skipped; /* number of unused maps and arrays that are open inside the last level */
    struct ws_device device;
    struct kineto_configured group;
    struct kineto_inputs inputs;
};

/* --- values -------------------------------------------------------------------------------------- */

static int take_value(struct reading *reading, const char *text, size_t length, bool is_text)
{
    if (reading->skipped || !reading->depth)
        return 1;
    struct place *place = &reading->places[reading->depth - 1];
    switch (place->node) {
    case NODE_ROOT:
    case NODE_DISTRIBUTED:
        kineto_take_fact(&reading->kineto, place->key, text, length);
        break;
    case NODE_EVENT:
        reading->has_events |= place->key == KINETO_PHASE;
        kineto_take_event_value(&reading->kineto, place->key, text, length, is_text);
        break;
    case NODE_ARGS:
        kineto_take_argument(&reading->kineto, place->key, text, length);
        break;
    case NODE_DEVICE:
        kineto_take_device_value(&reading->kineto, &reading->device, place->key, text, length);
        break;
    case NODE_GROUP:
        kineto_take_group_value(&reading->kineto, &reading->group, place->key, text, length);
        break;
    case NODE_RANKS:
        kineto_take_group_value(&reading->kineto, &reading->group, KINETO_GROUP_CONFIG_RANKS, text, length);
        break;
    case NODE_GRID:
        kineto_take_extent(reading->kineto.event.grid, place->index++, text, length);
        break;
    case NODE_BLOCK:
        kineto_take_extent(reading->kineto.event.block, place->index++, text, length);
        break;
    case NODE_CONCRETE:
        kineto_take_concrete(&reading->kineto.event, place->index++, text, length);
        kineto_take_value(&reading->inputs, text, length);
        break;
    case NODE_TYPES:
        kineto_take_type(&reading->inputs, text, length);
        break;
    case NODE_DIMENSIONS: /* not an array: an input without dimensions */
        kineto_take_dimensions(&reading->inputs, "[] ", 3);
        break;
    case NODE_DIMENSION:
        kineto_take_dimension(&reading->inputs, text, is_text ? 0 : length);
        break;
    default:
        break;
    }
    return !reading->kineto.gather->error;
}

static int on_text(void *user, const unsigned char *text, size_t length)
{
    return take_value(user, (const char *)text, length, true);
}

static int kineto_on_number(void *user, const char *text, size_t length)
{
    return take_value(user, text, length, false);
}

static int kineto_on_null(void *user)
{
    return take_value(user, "", 0, true);
}

static int kineto_on_key(void *user, const unsigned char *text, size_t length)
{
    struct reading *reading = user;
    if (!reading->skipped)
        reading->places[reading->depth - 1].key = kineto_find_key((const char *)text, length);
    return 1;
}

/* --- maps and arrays ------------------------------------------------------------------------------ */

/* Returns the kind of a map or array that begins inside the current level. */
static enum node node_within(const struct reading *reading, bool is_map)
{
    static const struct {
        enum node outer;
        enum kineto_key key;
        bool is_map;
        enum node node;
    } nodes[] = {
        /* the rows that every event needs stand first */
        { NODE_EVENTS, KINETO_NONE, true, NODE_EVENT },
        { NODE_EVENT, KINETO_ARGS, true, NODE_ARGS },
        { NODE_DIMENSIONS, KINETO_NONE, false, NODE_DIMENSION },
        { NODE_DIMENSION, KINETO_NONE, false, NODE_DIMENSION },
        { NODE_ARGS, KINETO_CONCRETE_INPUTS, false, NODE_CONCRETE },
        { NODE_ARGS, KINETO_INPUT_TYPES, false, NODE_TYPES },
        { NODE_ARGS, KINETO_INPUT_DIMENSIONS, false, NODE_DIMENSIONS },
        { NODE_ROOT, KINETO_TRACE_EVENTS, false, NODE_EVENTS },
        { NODE_ROOT, KINETO_DEVICE_PROPERTIES, false, NODE_DEVICES },
        { NODE_ROOT, KINETO_DISTRIBUTED_INFO, true, NODE_DISTRIBUTED },
        { NODE_DISTRIBUTED, KINETO_GROUP_CONFIG, false, NODE_GROUPS },
        { NODE_GROUPS, KINETO_NONE, true, NODE_GROUP },
        { NODE_GROUP, KINETO_GROUP_CONFIG_RANKS, false, NODE_RANKS },
        { NODE_ARGS, KINETO_GRID, false, NODE_GRID },
        { NODE_ARGS, KINETO_BLOCK, false, NODE_BLOCK },
        { NODE_ARGS, KINETO_INPUT_DIMENSIONS_OLD, false, NODE_DIMENSIONS },
        { NODE_DEVICES, KINETO_NONE, true, NODE_DEVICE },
    };
    if (!reading->depth)
        return is_map ? NODE_ROOT : NODE_EVENTS;
    const struct place *place = &reading->places[reading->depth - 1];
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
        if (nodes[i].outer == place->node && nodes[i].key == place->key && nodes[i].is_map == is_map)
            return nodes[i].node;
    return NODE_SKIPPED;
}

static void kineto_begin_event(struct reading *reading)
{
    memset(&reading->kineto.event, 0, sizeof(reading->kineto.event));
    for (int i = 0; i < TEXT_KINDS; i++)
        reading->kineto.texts[i].size = 0;
    kineto_inputs_begin(&reading->inputs);
}

/* Is called for a broken event. Goes back to the array of events. kineto_begin_event resets the state that the broken
 * event left. */
static void on_broken(void *user)
{
    struct reading *reading = user;
    reading->depth = reading->events;
    reading->skipped = 0;
}

static int begin(struct reading *reading, bool is_map)
{
    enum node node = reading->skipped || reading->depth == DEPTH ? NODE_SKIPPED : node_within(reading, is_map);
    if (node == NODE_SKIPPED) {
        if (!reading->skipped && reading->places[reading->depth - 1].node == NODE_TYPES)
            kineto_take_type(&reading->inputs, "", 0);
        if (!reading->skipped && reading->places[reading->depth - 1].node == NODE_CONCRETE)
            kineto_take_value(&reading->inputs, "", 0);
        reading->skipped++;
        return 1;
    }
    reading->places[reading->depth++] = (struct place){ .node = node };
    /* A top-level array may hold anything. The events in the array show whether the file is a trace. */
    if (node == NODE_EVENTS) {
        reading->has_events |= reading->depth > 1;
        reading->events = reading->depth;
        ws_json_pass_over(reading->json, on_broken);
    } else if (node == NODE_EVENT) {
        kineto_begin_event(reading);
    } else if (node == NODE_DEVICE) {
        reading->device = (struct ws_device){ .name = { "", 0 } };
    } else if (node == NODE_DIMENSION) {
        kineto_take_dimension(&reading->inputs, "[", 1);
    }
    return 1;
}

static struct ws_text kineto_text_of(const struct kineto_text *text)
{
    return (struct ws_text){ text->data ? text->data : "", (uint32_t)text->size };
}

static void end_event(struct reading *reading)
{
    struct kineto_event *event = &reading->kineto.event;
    for (int i = 0; i < TEXT_KINDS; i++)
        event->text[i] = kineto_text_of(&reading->kineto.texts[i]);
    event->inputs = kineto_inputs_end(&reading->inputs, &event->text[TEXT_NAME]);
    if (reading->inputs.failed)
        reading->kineto.gather->error = -ENOMEM;
    if (!event->other)
        kineto_take_event(&reading->kineto);
}

static int kineto_on_end(void *user)
{
    struct reading *reading = user;
    if (reading->skipped) {
        reading->skipped--;
        return 1;
    }
    enum node node = reading->places[--reading->depth].node;
    if (node == NODE_EVENT)
        end_event(reading);
    else if (node == NODE_DEVICE && reading->device.id)
        kineto_take_device(&reading->kineto, &reading->device);
    else if (node == NODE_GROUP)
        kineto_end_group(&reading->kineto, &reading->group);
    else if (node == NODE_DIMENSION)
        kineto_take_dimensions(&reading->inputs, "]", 1);
    if (node == NODE_DIMENSION && reading->places[reading->depth - 1].node == NODE_DIMENSIONS)
        kineto_take_dimensions(&reading->inputs, " ", 1);
    return !reading->kineto.gather->error;
}

static int on_map(void *user)
{
    return begin(user, true);
}

static int on_array(void *user)
{
    return begin(user, false);
}

/* --- the file ------------------------------------------------------------------------------------- */

static const yajl_callbacks callbacks = {
    .yajl_null = kineto_on_null,
    .yajl_number = kineto_on_number,
    .yajl_string = on_text,
    .yajl_start_map = on_map,
    .yajl_map_key = kineto_on_key,
    .yajl_end_map = kineto_on_end,
    .yajl_start_array = on_array,
    .yajl_end_array = kineto_on_end,
};

static bool kineto_claims(const unsigned char *head, size_t size)
{
    size_t at = size > 3 && !memcmp(head, "\xef\xbb\xbf", 3) ? 3 : 0; /* UTF-8 byte order mark */
    if (size > 2 && head[0] == 0x1f && head[1] == 0x8b)
        return true;
    while (at < size && strchr(" \t\r\n", head[at]) && head[at])
        at++;
    return at < size && (head[at] == '{' || head[at] == '[');
}

static void kineto_close_reading(void *state)
{
    struct reading *reading = state;
    ws_json_destroy(reading->json);
    ws_input_close(reading->input);
    kineto_finish(&reading->kineto);
    kineto_inputs_finish(&reading->inputs);
    kineto_ranks_finish(&reading->ranks);
    free(reading->group.name.data);
    free(reading->group.ranks.data);
    free(reading);
}

static int kineto_open_reading(void **state, const char *path, struct ws_gather *gather)
{
    struct reading *reading = calloc(1, sizeof(*reading));
    if (!reading)
        return -ENOMEM;
    reading->ranks = (struct kineto_ranks){ .path = path, .labels = WS_INTERN(struct ws_text) };
    kineto_fill_keys();
    kineto_init(&reading->kineto, gather);
    reading->json = ws_json_create(&callbacks, reading);
    int status = reading->json ? ws_input_open(&reading->input, path) : -ENOMEM;
    if (status) {
        kineto_close_reading(reading);
        return status;
    }
    ws_input_read_ahead(reading->input);
    *state = reading;
    return 0;
}

static size_t kineto_count_processes(void *state)
{
    return kineto_count_ranks(&((struct reading *)state)->ranks);
}

static void kineto_choose_process(void *state, size_t process)
{
    struct reading *reading = state;
    const struct ws_text *label = kineto_rank_label(&reading->ranks, process);
    if (label)
        kineto_choose(&reading->kineto, *label, process);
}

static void kineto_position(const void *state, uint64_t *done, uint64_t *total)
{
    ws_input_position(((const struct reading *)state)->input, done, total);
}

/* Ends reading. A file without events is an error. */
static int kineto_finish_reading(struct reading *reading, bool broken, char *message, size_t capacity)
{
    if (!reading->has_events) {
        snprintf(message, capacity, "not a trace: it %s; use a file exported by the PyTorch profiler",
                 broken ? "is not JSON, or is damaged before any traceEvents" : "has no traceEvents");
        return -EINVAL;
    }
    if (kineto_is_of_another(&reading->kineto, message, capacity))
        return -EINVAL;
    kineto_end(&reading->kineto);
    return 0;
}

static int kineto_read_piece(void *state, struct ws_damage *damage, char *message, size_t capacity)
{
    struct reading *reading = state;
    size_t room;
    unsigned char *piece = ws_json_room(reading->json, &room);
    ssize_t size = ws_input_read(reading->input, piece, room);
    if (size == -E2BIG)
        snprintf(message, capacity,
                 "unpacks to more than 200 times its size, which no trace does; to read it anyway, unpack it first: "
                 "gzip -d");
    if (size < 0)
        return (int)size;
    bool fine = size ? ws_json_parse(reading->json, (size_t)size) : ws_json_end(reading->json);
    enum ws_input_end end = ws_input_end(reading->input);
    uint64_t done, total;
    if (reading->kineto.gather->error)
        return reading->kineto.gather->error;
    if (size && fine)
        return 1;
    kineto_position(reading, &done, &total);
    damage->lost_bytes = ws_json_passed(reading->json);
    if (size || end == WS_INPUT_DAMAGED) /* the rest is not JSON, or not gzip */
        damage->lost_bytes += total - done + (total - done ? 0 : ws_json_left(reading->json)) + 1;
    else if (end == WS_INPUT_CUT || !fine)
        damage->no_footer = true;
    return kineto_finish_reading(reading, !fine, message, capacity);
}

const struct ws_importer ws_importer_kineto = {
    .claims = kineto_claims,
    .open = kineto_open_reading,
    .read = kineto_read_piece,
    .processes = kineto_count_processes,
    .choose = kineto_choose_process,
    .position = kineto_position,
    .close = kineto_close_reading,
};
