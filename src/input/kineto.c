/* Reads traces of Kineto, PyTorch's profiler: JSON in Chrome's trace event format, plain or compressed with gzip.
 * Stores only those fields of events that the importer uses. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/importer.h"
#include "input/kineto.h"
#include "input/tokens.h"

enum { DEPTH = 8 };

/* The kind of a map or array in the file. */
enum node {
    NODE_SKIPPED, /* the importer uses neither this map or array nor anything inside it */
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
    NODE_COUNT
};

struct place {
    enum node node;
    enum kineto_key key; /* the key that was read last in the map */
    size_t index;        /* index of the next element of the array */
};

struct reading {
    struct kineto kineto;
    struct kineto_ranks ranks;
    struct ws_tokens *tokens;
    bool has_events;
    struct place places[DEPTH];
    unsigned depth;  /* number of open maps and arrays in `places` */
    unsigned events; /* value of `depth` inside the array of events */
    /* Number of open maps and arrays that the importer does not use. All of them are inside the map or array of the
     * last entry in `places`. */
    unsigned skipped;
    struct ws_device device;
    struct kineto_configured group;
    struct kineto_inputs inputs;
};

/* --- values -------------------------------------------------------------------------------------- */

static void take_value(struct reading *reading, const char *text, size_t length, bool is_text)
{
    if (reading->skipped || !reading->depth)
        return;
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
    case NODE_DIMENSIONS: /* a value in place of an array stands for an input without dimensions */
        kineto_take_dimensions(&reading->inputs, "[] ", 3);
        break;
    case NODE_DIMENSION:
        kineto_take_dimension(&reading->inputs, text, is_text ? 0 : length);
        break;
    default:
        break;
    }
}

static void take_key(struct reading *reading, const char *text, size_t length)
{
    if (!reading->skipped)
        reading->places[reading->depth - 1].key = kineto_find_key(text, length);
}

/* --- maps and arrays ------------------------------------------------------------------------------ */

/* maps_within gives the kind of a map, arrays_within the kind of an array, that is inside another map or array. The
 * first index is the kind of the outer map or array, the second is the key. 0: the importer skips the inner map or
 * array. */
static const uint8_t maps_within[NODE_COUNT][KINETO_KEY_COUNT] = {
    [NODE_ROOT] = { [KINETO_DISTRIBUTED_INFO] = NODE_DISTRIBUTED },
    [NODE_EVENTS] = { [KINETO_NONE] = NODE_EVENT },
    [NODE_EVENT] = { [KINETO_ARGS] = NODE_ARGS },
    [NODE_DEVICES] = { [KINETO_NONE] = NODE_DEVICE },
    [NODE_GROUPS] = { [KINETO_NONE] = NODE_GROUP },
};

static const uint8_t arrays_within[NODE_COUNT][KINETO_KEY_COUNT] = {
    [NODE_ROOT] = { [KINETO_TRACE_EVENTS] = NODE_EVENTS, [KINETO_DEVICE_PROPERTIES] = NODE_DEVICES },
    [NODE_DISTRIBUTED] = { [KINETO_GROUP_CONFIG] = NODE_GROUPS },
    [NODE_GROUP] = { [KINETO_GROUP_CONFIG_RANKS] = NODE_RANKS },
    [NODE_ARGS] = { [KINETO_GRID] = NODE_GRID,
                    [KINETO_BLOCK] = NODE_BLOCK,
                    [KINETO_CONCRETE_INPUTS] = NODE_CONCRETE,
                    [KINETO_INPUT_TYPES] = NODE_TYPES,
                    [KINETO_INPUT_DIMENSIONS] = NODE_DIMENSIONS,
                    [KINETO_INPUT_DIMENSIONS_OLD] = NODE_DIMENSIONS },
    [NODE_DIMENSIONS] = { [KINETO_NONE] = NODE_DIMENSION },
    [NODE_DIMENSION] = { [KINETO_NONE] = NODE_DIMENSION },
};

/* Returns the kind of a map or array that begins inside the innermost open map or array. */
static enum node node_within(const struct reading *reading, bool is_map)
{
    if (!reading->depth)
        return is_map ? NODE_ROOT : NODE_EVENTS;
    const struct place *place = &reading->places[reading->depth - 1];
    return (enum node)(is_map ? maps_within : arrays_within)[place->node][place->key];
}

static void kineto_begin_event(struct reading *reading)
{
    memset(&reading->kineto.event, 0, sizeof(reading->kineto.event));
    for (int i = 0; i < TEXT_KINDS; i++)
        reading->kineto.texts[i].size = 0;
    kineto_inputs_begin(&reading->inputs);
}

/* Leaves an event that is not valid JSON, and goes back to the array of events. The next kineto_begin_event clears
 * the values that were stored for this event. */
static void leave_broken(struct reading *reading)
{
    reading->depth = reading->events;
    reading->skipped = 0;
}

static void begin(struct reading *reading, bool is_map)
{
    enum node node = reading->skipped || reading->depth == DEPTH ? NODE_SKIPPED : node_within(reading, is_map);
    if (node == NODE_SKIPPED) {
        if (!reading->skipped && reading->places[reading->depth - 1].node == NODE_TYPES)
            kineto_take_type(&reading->inputs, "", 0);
        if (!reading->skipped && reading->places[reading->depth - 1].node == NODE_CONCRETE)
            kineto_take_value(&reading->inputs, "", 0);
        reading->skipped++;
        return;
    }
    reading->places[reading->depth++] = (struct place){ .node = node };
    /* An array at the top level of the file may hold something other than events. For such an array, `has_events` is
     * set only when an event with a phase is found (take_value). */
    if (node == NODE_EVENTS) {
        reading->has_events |= reading->depth > 1;
        reading->events = reading->depth;
    } else if (node == NODE_EVENT) {
        kineto_begin_event(reading);
    } else if (node == NODE_DEVICE) {
        reading->device = (struct ws_device){ .name = { "", 0 } };
    } else if (node == NODE_DIMENSION) {
        kineto_take_dimension(&reading->inputs, "[", 1);
    }
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

static void end(struct reading *reading)
{
    if (reading->skipped) {
        reading->skipped--;
        return;
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
}

/* --- the file ------------------------------------------------------------------------------------- */

static void take_token(struct reading *reading, const struct ws_token *token)
{
    switch (token->kind) {
    case WS_TOKEN_NULL:
    case WS_TOKEN_TEXT:
        take_value(reading, token->text, token->length, true);
        break;
    case WS_TOKEN_NUMBER:
        take_value(reading, token->text, token->length, false);
        break;
    case WS_TOKEN_KEY:
        take_key(reading, token->text, token->length);
        break;
    case WS_TOKEN_MAP:
    case WS_TOKEN_ARRAY:
        begin(reading, token->kind == WS_TOKEN_MAP);
        break;
    case WS_TOKEN_END:
        end(reading);
        break;
    case WS_TOKEN_BROKEN:
        leave_broken(reading);
        break;
    }
}

/* Returns 0 or -errno. */
static int take_tokens(struct reading *reading, const struct ws_token_batch *batch)
{
    for (size_t at = 0; at < batch->size && !reading->kineto.gather->error;) {
        const struct ws_token token = ws_token_at(batch, &at);
        take_token(reading, &token);
    }
    return reading->kineto.gather->error;
}

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
    ws_tokens_close(reading->tokens);
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
    int status = ws_tokens_open(&reading->tokens, path, "traceEvents");
    if (status) {
        kineto_close_reading(reading);
        return status;
    }
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
    ws_tokens_position(((const struct reading *)state)->tokens, done, total);
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
    const struct ws_token_batch *batch = ws_tokens_next(reading->tokens);
    if (batch->status == -E2BIG)
        snprintf(message, capacity,
                 "unpacks to more than 200 times its size, which no trace does; to read it anyway, unpack it first: "
                 "gzip -d");
    int status = batch->status < 0 ? batch->status : take_tokens(reading, batch);
    uint64_t done, total;
    if (status || batch->status)
        return status ? status : 1;
    kineto_position(reading, &done, &total);
    damage->lost_bytes = batch->passed;
    if (batch->rest || batch->end == WS_INPUT_DAMAGED) /* the rest of the file is not JSON, or not gzip */
        damage->lost_bytes += total - done + (total - done ? 0 : batch->left) + 1;
    else if (batch->end == WS_INPUT_CUT || !batch->fine)
        damage->no_footer = true;
    return kineto_finish_reading(reading, !batch->fine, message, capacity);
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
