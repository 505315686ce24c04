/* Turns the events of a Kineto trace, as all versions of Kineto write them, into operations, calls and ranges. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/decimal.h"
#include "input/kineto.h"
#include "record/range_name.h"

enum kineto_category kineto_category_of(const char *text, size_t length)
{
#define CATEGORY(text, category)         \
    {                                    \
        text, sizeof(text) - 1, category \
    }
    static const struct {
        const char *text;
        size_t length;
        enum kineto_category category;
    } categories[] = {
        CATEGORY("kernel", CATEGORY_KERNEL),
        CATEGORY("gpu_memcpy", CATEGORY_COPY),
        CATEGORY("gpu_memset", CATEGORY_MEMSET),
        CATEGORY("cuda_runtime", CATEGORY_CALL),
        CATEGORY("cuda_driver", CATEGORY_CALL),
        CATEGORY("hip_runtime", CATEGORY_CALL),
        CATEGORY("hip_driver", CATEGORY_CALL),
        CATEGORY("Kernel", CATEGORY_KERNEL),
        CATEGORY("Memcpy", CATEGORY_COPY),
        CATEGORY("Memset", CATEGORY_MEMSET),
        CATEGORY("Runtime", CATEGORY_CALL),
        CATEGORY("cpu_op", CATEGORY_OPERATOR),
        CATEGORY("Operator", CATEGORY_OPERATOR),
        CATEGORY("user_annotation", CATEGORY_ANNOTATION),
        CATEGORY("python_function", CATEGORY_PYTHON),
        CATEGORY("gpu_user_annotation", CATEGORY_REPEATED),
        CATEGORY("cuda_sync", CATEGORY_REPEATED),
        CATEGORY("cuda_event", CATEGORY_REPEATED),
        CATEGORY("overhead", CATEGORY_REPEATED),
        CATEGORY("Trace", CATEGORY_REPEATED),
    };
#undef CATEGORY
    /* A category with one of these suffixes holds host calls, even if `categories` lacks the category, such as
     * Intel's xpu_runtime. */
    static const char *const calls[] = { "_runtime", "_driver" };
    for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++)
        if (categories[i].length == length && !memcmp(categories[i].text, text, length))
            return categories[i].category;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (length > strlen(calls[i]) && !memcmp(text + length - strlen(calls[i]), calls[i], strlen(calls[i])))
            return CATEGORY_CALL;
    return CATEGORY_OTHER;
}

static uint32_t narrow(int64_t value)
{
    return value < 0 ? 0 : value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static int64_t kineto_events_device_of(const struct kineto_event *event)
{
    return event->number[kineto_saw(event, KINETO_DEVICE) ? KINETO_DEVICE : KINETO_PID];
}

static int64_t stream_of(const struct kineto_event *event)
{
    return event->number[kineto_saw(event, KINETO_STREAM) ? KINETO_STREAM : KINETO_TID];
}

/* Reads the kind of memory from "Memset (Device)". Intel's traces add the value: "Memset (0 -> DEVICE)". */
static void take_memset_space(const struct ws_text *name, uint32_t *space)
{
    uint32_t first, second;
    ws_copy_spaces(name->data, name->length, &first, &second);
    *space = second == WS_SPACE_UNKNOWN ? first : second;
}

static uint32_t kineto_events_shape_of(struct kineto *kineto)
{
    static const enum ws_op_kind kinds[] = {
        [CATEGORY_KERNEL] = WS_OP_KERNEL, [CATEGORY_COPY] = WS_OP_COPY, [CATEGORY_MEMSET] = WS_OP_MEMSET
    };
    const struct kineto_event *event = &kineto->event;
    const struct ws_text *name = &event->text[TEXT_NAME];
    struct ws_gather *gather = kineto->gather;
    struct ws_shape shape = {
        .kind = kinds[event->category],
        .stream =
            ws_gather_stream(gather, kineto_events_device_of(event), event->number[KINETO_CONTEXT], stream_of(event)),
        .function = ws_gather_function(gather, name->data, name->length, narrow(event->number[KINETO_REGISTERS]), 0),
        .grid_x = event->grid[0],
        .grid_y = event->grid[1],
        .grid_z = event->grid[2],
        .block_x = event->block[0],
        .block_y = event->block[1],
        .block_z = event->block[2],
        .shared_bytes = narrow(event->number[KINETO_SHARED]), /* static plus dynamic: the file has only the sum */
    };
    if (event->category == CATEGORY_COPY)
        ws_copy_spaces(name->data, name->length, &shape.from_space, &shape.to_space);
    else if (event->category == CATEGORY_MEMSET)
        take_memset_space(name, &shape.to_space);
    return shape.stream && shape.function ? ws_gather_shape(gather, &shape) : 0;
}

static void kineto_events_take_operation(struct kineto *kineto, int64_t begin, int64_t end)
{
    const struct kineto_event *event = &kineto->event;
    struct ws_gather_op op = { .begin = begin,
                               .end = end,
                               .shape = kineto_events_shape_of(kineto),
                               .correlation = (uint64_t)event->number[KINETO_CORRELATION] };
    if (event->category != CATEGORY_KERNEL && event->number[KINETO_BYTES] > 0)
        op.bytes = (uint64_t)event->number[KINETO_BYTES];
    ws_gather_op(kineto->gather, &op);
    if (event->category == CATEGORY_KERNEL && event->text[TEXT_COLLECTIVE].length)
        kineto_take_communication_kernel(kineto);
}

static void kineto_events_take_call(struct kineto *kineto, int64_t begin, int64_t end)
{
    const struct kineto_event *event = &kineto->event;
    struct ws_gather_call call = {
        .begin = begin,
        .end = end,
        .correlation = (uint64_t)event->number[KINETO_CORRELATION],
        .function =
            ws_gather_driver_function(kineto->gather, event->text[TEXT_NAME].data, event->text[TEXT_NAME].length),
        .thread = ws_gather_thread(kineto->gather, event->number[KINETO_PID], event->number[KINETO_TID]),
    };
    if (!kineto->has_pid) {
        kineto->has_pid = true;
        kineto->pid = event->number[KINETO_PID];
    }
    ws_gather_call(kineto->gather, &call);
}

/* Returns the stack's innermost Python frame outside installed packages, or an empty text if there is none. */
static struct ws_text own_frame(struct ws_text stack)
{
    static const char *const packages[] = { "/site-packages/", "/dist-packages/", "/lib/python" };
    while (stack.length) {
        const char *end = memchr(stack.data, ';', stack.length);
        struct ws_text frame = { stack.data, end ? (uint32_t)(end - stack.data) : stack.length };
        bool installed = false;
        for (size_t i = 0; i < sizeof(packages) / sizeof(packages[0]); i++)
            installed |= memmem(frame.data, frame.length, packages[i], strlen(packages[i])) != NULL;
        if (frame.length && !installed)
            return frame;
        stack.data += frame.length + (end ? 1 : 0);
        stack.length -= frame.length + (end ? 1 : 0);
    }
    return stack;
}

/* In traces of early versions of PyTorch, annotations have the same category as operators. So this function
 * recognizes, by their names, the annotations that PyTorch itself makes. */
static bool is_annotation(const struct ws_text *name)
{
    static const char *const begins[] = { "enumerate(DataLoader)#", "Optimizer.step#", "Optimizer.zero_grad#" };
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
        if (name->length > strlen(begins[i]) && !memcmp(name->data, begins[i], strlen(begins[i])))
            return true;
    return false;
}

static void take_range(struct kineto *kineto, int64_t begin, int64_t end)
{
    static const enum ws_range_kind kinds[] = { [CATEGORY_OPERATOR] = WS_RANGE_OPERATOR,
                                                [CATEGORY_ANNOTATION] = WS_RANGE_ANNOTATION,
                                                [CATEGORY_PYTHON] = WS_RANGE_PYTHON };
    const struct kineto_event *event = &kineto->event;
    struct ws_gather *gather = kineto->gather;
    kineto->has_extra[EXTRA_STACKS] |= event->category == CATEGORY_PYTHON || event->text[TEXT_STACK].length;
    kineto->has_extra[EXTRA_SHAPES] |= event->inputs.length > 0;
    struct ws_range range = {
        .name = ws_gather_label(gather, event->text[TEXT_NAME].data, event->text[TEXT_NAME].length),
        .thread = ws_gather_thread(gather, event->number[KINETO_PID], event->number[KINETO_TID]),
        .host_begin = begin,
        .host_end = end,
        .kind = kinds[event->category],
    };
    if (event->category != CATEGORY_PYTHON &&
        ws_range_is_step(event->text[TEXT_NAME].data, event->text[TEXT_NAME].length, &range.number))
        range.kind = WS_RANGE_STEP;
    else if (event->category != CATEGORY_PYTHON && kineto_is_communication(&event->text[TEXT_NAME]))
        range.kind = WS_RANGE_COMMUNICATION;
    else if (event->category == CATEGORY_OPERATOR && is_annotation(&event->text[TEXT_NAME]))
        range.kind = WS_RANGE_ANNOTATION;
    if (event->inputs.length)
        range.inputs = ws_gather_label(gather, event->inputs.data, event->inputs.length);
    ws_gather_row(gather, WS_FAMILY_range, &range);
    struct ws_text frame = own_frame(event->text[TEXT_STACK]);
    if (frame.length) { /* add a range for the line that called the operator */
        struct ws_range line = range;
        line.name = ws_gather_label(gather, frame.data, frame.length);
        line.kind = WS_RANGE_PYTHON;
        line.inputs = 0;
        line.number = 0;
        ws_gather_row(gather, WS_FAMILY_range, &line);
    }
    if (range.kind == WS_RANGE_COMMUNICATION)
        kineto_take_communication(kineto, range.thread, begin, end);
}

/* Reads an event of PyTorch's caching allocator: an allocation or release, with the number of bytes in use
 * afterwards. */
static void take_memory(struct kineto *kineto)
{
    static const char *const names[2][2] = { { "[memory] host free", "[memory] host alloc" },
                                             { "[memory] free", "[memory] alloc" } };
    const struct kineto_event *event = &kineto->event;
    kineto->has_extra[EXTRA_MEMORY] = true;
    int64_t bytes = event->number[KINETO_ALLOCATED], total = event->number[KINETO_TOTAL_ALLOCATED];
    bool on_device = event->number[KINETO_DEVICE_TYPE] != 0;
    const char *name = names[on_device][bytes >= 0];
    if (!kineto_saw(event, KINETO_TIME) || !kineto_saw(event, KINETO_ALLOCATED)) {
        kineto->gather->losses[WS_LOSS_NO_TIMES]++;
        return;
    }
    struct ws_gather_memory memory = {
        .time = event->number[KINETO_TIME],
        .function = ws_gather_driver_function(kineto->gather, name, strlen(name)),
        .thread = ws_gather_thread(kineto->gather, event->number[KINETO_PID], event->number[KINETO_TID]),
        .address = (uint64_t)event->number[KINETO_ADDRESS],
        .bytes = (uint64_t)(bytes < 0 ? -bytes : bytes),
        .total = total > 0 ? (uint64_t)total : 0,
        .ordinal = on_device ? event->number[KINETO_DEVICE_ID] : -1,
    };
    ws_gather_memory(kineto->gather, &memory);
}

void kineto_take_event(struct kineto *kineto)
{
    const struct kineto_event *event = &kineto->event;
    if (event->phase == 'M') {
        kineto_take_metadata(kineto);
        return;
    }
    if (event->phase == 'i' && event->text[TEXT_NAME].length == 8 &&
        !memcmp(event->text[TEXT_NAME].data, "[memory]", 8)) {
        take_memory(kineto);
        return;
    }
    bool has_length = event->phase == 'X' || event->phase == 'B';
    kineto->known += event->category != CATEGORY_OTHER;
    kineto->unknown += has_length && event->category == CATEGORY_OTHER && event->text[TEXT_NAME].length;
    if (event->category == CATEGORY_OTHER || event->category == CATEGORY_REPEATED)
        return;
    int64_t begin = event->number[KINETO_TIME], end = begin + event->number[KINETO_DURATION];
    if (!kineto_saw(event, KINETO_TIME) || !kineto_saw(event, KINETO_DURATION) || end < begin ||
        end > WS_DECIMAL_MOST) {
        kineto->gather->losses[WS_LOSS_NO_TIMES]++;
        return;
    }
    if (!kineto->first)
        kineto->first = begin;
    if (event->category == CATEGORY_CALL)
        kineto_events_take_call(kineto, begin, end);
    else if (event->category >= CATEGORY_OPERATOR)
        take_range(kineto, begin, end);
    else
        kineto_events_take_operation(kineto, begin, end);
}
