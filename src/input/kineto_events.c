/* The meaning of the events of a Kineto trace, in all of Kineto's versions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/salted.h"
#include "input/decimal.h"
#include "input/kineto.h"

struct kineto_name {
    int64_t pid, tid;
    struct ws_text text;
};

void kineto_init(struct kineto *kineto, struct ws_gather *gather)
{
    *kineto = (struct kineto){ .gather = gather,
                               .devices = WS_VECTOR(struct ws_device),
                               .processes = WS_VECTOR(struct kineto_name),
                               .threads = WS_VECTOR(struct kineto_name),
                               .rank = -1,
                               .groups = WS_INTERN(struct ws_text),
                               .group_ranks = WS_VECTOR(struct kineto_group),
                               .configured = WS_VECTOR(struct kineto_group) };
}

void kineto_choose(struct kineto *kineto, struct ws_text label, size_t rank)
{
    char text[32];
    int size = snprintf(text, sizeof(text), "%zu", rank);
    kineto->label = label;
    kineto->rank = (int64_t)rank;
    ws_gather_meta(kineto->gather, "rank", text, (size_t)size);
    ws_gather_meta(kineto->gather, "rank_label", label.data, label.length);
}

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
    static const char *const calls[] = { "_runtime", "_driver" }; /* suffixes, also of other vendors: xpu_runtime … */
    for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++)
        if (categories[i].length == length && !memcmp(categories[i].text, text, length))
            return categories[i].category;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (length > strlen(calls[i]) && !memcmp(text + length - strlen(calls[i]), calls[i], strlen(calls[i])))
            return CATEGORY_CALL;
    return CATEGORY_OTHER;
}

/* --- the whole trace ------------------------------------------------------------------------------ */

void kineto_take_fact(struct kineto *kineto, enum kineto_key key, const char *text, size_t length)
{
    static const char *const metas[KINETO_KEY_COUNT] = {
        [KINETO_CUDA_RUNTIME] = "cuda_runtime_version",
        [KINETO_CUPTI] = "cupti_version",
        [KINETO_HIP_DRIVER] = "hip_driver_version",
        [KINETO_HIP_RUNTIME] = "hip_runtime_version",
        [KINETO_ROCTRACER] = "roctracer_version",
        [KINETO_TRACE_ID] = "trace_id",
        [KINETO_BASE_TIME] = "start_realtime_ns",
        [KINETO_HOST_NAME] = "host",
        [KINETO_RANK] = "rank",
        [KINETO_WORLD_SIZE] = "world_size",
        [KINETO_BACKEND] = "collective_backend",
        [KINETO_NCCL] = "nccl_version",
    };
    char shown[64];
    int64_t version;
    if (key == KINETO_RANK &&
        kineto->label.length) /* in a file that merges several ranks, this is the number of the first rank */
        return;
    if (key == KINETO_RANK && !ws_decimal(text, length, 0, &kineto->rank))
        kineto->rank = -1;
    if (key == KINETO_BASE_TIME) {
        kineto->has_base = true;
        ws_gather_meta(kineto->gather, "start_monotonic_ns", "0", 1);
    }
    if (key == KINETO_CUDA_DRIVER && ws_decimal(text, length, 0, &version)) {
        int size = snprintf(shown, sizeof(shown), "%d.%d", (int)(version / 1000), (int)(version % 1000 / 10));
        ws_gather_meta(kineto->gather, "driver_version", shown, (size_t)size);
    } else if (key == KINETO_SCHEMA_VERSION) {
        int size = snprintf(shown, sizeof(shown), "Kineto (PyTorch profiler) JSON, schema %.*s",
                            (int)(length < 16 ? length : 16), text);
        kineto->has_schema = true;
        ws_gather_meta(kineto->gather, "import", shown, (size_t)size);
    } else if (metas[key]) {
        ws_gather_meta(kineto->gather, metas[key], text, length);
    }
}

void kineto_take_device(struct kineto *kineto, const struct ws_device *device)
{
    struct ws_device *place = ws_vector_push(&kineto->devices);
    if (place)
        *place = *device;
    else
        kineto->gather->error = -ENOMEM;
}

/* Notes a device. Returns whether the device is new. */
static bool note_device(struct kineto *kineto, struct ws_map *noted, uint32_t id)
{
    uint64_t *place = id ? ws_salted_put(noted, id) : NULL;
    if (id && !place)
        kineto->gather->error = -ENOMEM;
    return place && !(*place)++;
}

/* AMD traces number all devices of the machine, but describe only the devices of the process. If all described
 * devices are equal, the others are assumed to be equal too. */
static void put_devices(struct kineto *kineto)
{
    const struct ws_device *devices = kineto->devices.data;
    size_t count = kineto->devices.count;
    bool alike = count;
    struct ws_map described = { 0 }; /* keys: ids of the described devices */
    for (size_t i = 0; i < count; i++) {
        ws_gather_row(kineto->gather, WS_FAMILY_device, &devices[i]);
        alike = alike && devices[i].sms == devices[0].sms && devices[i].name.length == devices[0].name.length &&
                !memcmp(devices[i].name.data, devices[0].name.data, devices[0].name.length);
    }
    for (size_t i = 0; alike && i < count; i++)
        note_device(kineto, &described, devices[i].id);
    for (uint32_t context = 1; alike && context <= kineto->gather->contexts.items.count; context++) {
        struct ws_device like = devices[0];
        like.id = ws_gather_device(kineto->gather, context);
        if (note_device(kineto, &described, like.id))
            ws_gather_row(kineto->gather, WS_FAMILY_device, &like);
    }
    ws_map_finish(&described);
}

void kineto_note_process(struct kineto *kineto, const char *text, size_t length)
{
    static const struct {
        const char *begin, *writer;
    } writers[] = {
        { "/device:",
          "a trace of XLA's profiler (JAX, TensorFlow), which is not supported: record the program with wallshim "
          "record or Nsight Systems" },
        { "CUDA functions",
          "a trace of PyTorch's old profiler, torch.autograd.profiler: record with torch.profiler" },
        { "CPU functions", "a trace of PyTorch's old profiler, torch.autograd.profiler: record with torch.profiler" },
    };
    for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++)
        if (length >= strlen(writers[i].begin) && !memcmp(text, writers[i].begin, strlen(writers[i].begin)))
            kineto->writer = writers[i].writer;
}

bool kineto_is_of_another(const struct kineto *kineto, char *message, size_t capacity)
{
    bool is = kineto->unknown && !kineto->known;
    if (is)
        snprintf(message, capacity, "%s",
                 kineto->writer ? kineto->writer
                                : "not a GPU trace: it has no kernel, copy, call or operator of the PyTorch "
                                  "profiler");
    return is;
}

static void take_name(struct kineto *kineto, struct ws_vector *names)
{
    const struct kineto_event *event = &kineto->event;
    struct kineto_name *name = event->text[TEXT_SAID].length ? ws_vector_push(names) : NULL;
    if (name)
        *name = (struct kineto_name){ event->number[KINETO_PID], event->number[KINETO_TID],
                                      ws_gather_text(kineto->gather, event->text[TEXT_SAID].data,
                                                     event->text[TEXT_SAID].length) };
    else if (event->text[TEXT_SAID].length)
        kineto->gather->error = -ENOMEM;
}

static void take_metadata(struct kineto *kineto)
{
    const struct ws_text *name = &kineto->event.text[TEXT_NAME];
    if (name->length == 12 && !memcmp(name->data, "process_name", 12)) {
        kineto_note_process(kineto, kineto->event.text[TEXT_SAID].data, kineto->event.text[TEXT_SAID].length);
        take_name(kineto, &kineto->processes);
    } else if (name->length == 11 && !memcmp(name->data, "thread_name", 11))
        take_name(kineto, &kineto->threads);
}

/* Returns python3.8 from "thread 4037 (python3.8)". */
static struct ws_text inner_name(struct ws_text text)
{
    const char *open = memchr(text.data, '(', text.length);
    if (open && text.length > 8 && !memcmp(text.data, "thread ", 7) && text.data[text.length - 1] == ')')
        return (struct ws_text){ open + 1, (uint32_t)(text.data + text.length - 1 - (open + 1)) };
    return text;
}

/* Writes the start time of the trace if the file has no base time. The times in such a file count from 1970, and the
 * first event's time is taken as the start. */
static void say_start(struct kineto *kineto)
{
    const int64_t year_2001 = 1000000000000000000;
    char text[32];
    if (kineto->has_base || kineto->first < year_2001)
        return;
    int size = snprintf(text, sizeof(text), "%lld", (long long)kineto->first);
    ws_gather_meta(kineto->gather, "start_monotonic_ns", text, (size_t)size);
    ws_gather_meta(kineto->gather, "start_realtime_ns", text, (size_t)size);
}

void kineto_end(struct kineto *kineto)
{
    const struct kineto_name *names = kineto->processes.data;
    char text[32];
    for (size_t i = 0; i < kineto->processes.count && kineto->has_pid; i++)
        if (names[i].pid == kineto->pid) {
            ws_gather_meta(kineto->gather, "program", names[i].text.data, names[i].text.length);
            break;
        }
    if (kineto->has_pid) {
        int size = snprintf(text, sizeof(text), "%lld", (long long)kineto->pid);
        ws_gather_meta(kineto->gather, "pid", text, (size_t)size);
    }
    if (!kineto->has_schema) /* tools that rewrite traces may drop the schema version */
        ws_gather_meta(kineto->gather, "import", "Kineto (PyTorch profiler) JSON", 30);
    say_start(kineto);
    put_devices(kineto);
    kineto_end_groups(kineto);
    names = kineto->threads.data;
    for (size_t i = 0; i < kineto->threads.count; i++) {
        struct ws_text name = inner_name(names[i].text);
        ws_gather_thread_name(kineto->gather, names[i].pid, names[i].tid, name.data, name.length);
    }
}

void kineto_finish(struct kineto *kineto)
{
    for (int i = 0; i < TEXT_KINDS; i++)
        free(kineto->texts[i].data);
    ws_vector_finish(&kineto->devices);
    ws_vector_finish(&kineto->processes);
    ws_vector_finish(&kineto->threads);
    ws_intern_finish(&kineto->groups);
    ws_vector_finish(&kineto->group_ranks);
    ws_vector_finish(&kineto->configured);
    ws_map_finish(&kineto->configured_of);
}

/* --- events with a begin and a duration ----------------------------------------------------------- */

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
        .shared_bytes =
            narrow(event->number[KINETO_SHARED]), /* static and dynamic together: the file has only the sum */
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

/* In early PyTorch traces annotations have the category of operators. PyTorch's own annotations are recognized by
 * name. */
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
    struct ws_range range = {
        .name = ws_gather_label(gather, event->text[TEXT_NAME].data, event->text[TEXT_NAME].length),
        .thread = ws_gather_thread(gather, event->number[KINETO_PID], event->number[KINETO_TID]),
        .host_begin = begin,
        .host_end = end,
        .kind = kinds[event->category],
    };
    if (event->category != CATEGORY_PYTHON &&
        ws_is_step(event->text[TEXT_NAME].data, event->text[TEXT_NAME].length, &range.number))
        range.kind = WS_RANGE_STEP;
    else if (event->category != CATEGORY_PYTHON && kineto_is_communication(&event->text[TEXT_NAME]))
        range.kind = WS_RANGE_COMMUNICATION;
    else if (event->category == CATEGORY_OPERATOR && is_annotation(&event->text[TEXT_NAME]))
        range.kind = WS_RANGE_ANNOTATION;
    if (event->inputs.length)
        range.inputs = ws_gather_label(gather, event->inputs.data, event->inputs.length);
    ws_gather_row(gather, WS_FAMILY_range, &range);
    struct ws_text frame = own_frame(event->text[TEXT_STACK]);
    if (frame.length) { /* the line that called the operator */
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

/* Takes an allocation or release of the caching allocator, with the number of bytes in use afterwards. */
static void take_memory(struct kineto *kineto)
{
    static const char *const names[2][2] = { { "[memory] host free", "[memory] host alloc" },
                                             { "[memory] free", "[memory] alloc" } };
    const struct kineto_event *event = &kineto->event;
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
        take_metadata(kineto);
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
