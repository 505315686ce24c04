/* What a Kineto trace says about itself: devices, ranks, names of processes and threads, and options of the
 * profiler. */
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

/* Returns whether an option of the profiler, such as with_stack, is on. Some releases of PyTorch write 1 for it,
 * others write true. */
static bool is_set(const char *text, size_t length)
{
    return (length == 1 && *text == '1') || (length == 4 && !memcmp(text, "true", 4));
}

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
        kineto->label.length) /* a file that merges several ranks gives the number of its first rank only */
        return;
    if (key == KINETO_RANK && !ws_decimal(text, length, 0, &kineto->rank))
        kineto->rank = -1;
    kineto->has_extra[EXTRA_STACKS] |= key == KINETO_WITH_STACK && is_set(text, length);
    kineto->has_extra[EXTRA_SHAPES] |= key == KINETO_RECORD_SHAPES && is_set(text, length);
    kineto->has_extra[EXTRA_MEMORY] |= key == KINETO_PROFILE_MEMORY && is_set(text, length);
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

/* Adds a device to the map `noted`. Returns true if the map did not hold the device before. */
static bool note_device(struct kineto *kineto, struct ws_map *noted, uint32_t id)
{
    uint64_t *place = id ? ws_salted_put(noted, id) : NULL;
    if (id && !place)
        kineto->gather->error = -ENOMEM;
    return place && !(*place)++;
}

/* AMD traces number all devices of the machine, but describe only the devices of the process. If all described
 * devices are equal, the other devices are assumed to be equal too. */
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

void kineto_take_metadata(struct kineto *kineto)
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

/* Writes into the metadata which optional data the profiler recorded, for example "Python stacks and shapes of
 * inputs". Recording these data slowed the program on the host. */
static void say_extras(struct kineto *kineto)
{
    static const char *const names[EXTRA_COUNT] = { "Python stacks", "shapes of inputs", "memory" };
    char text[64] = "";
    int left = 0;
    for (int extra = 0; extra < EXTRA_COUNT; extra++)
        left += kineto->has_extra[extra];
    for (int extra = 0; extra < EXTRA_COUNT; extra++)
        if (kineto->has_extra[extra])
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", names[extra],
                     --left > 1 ? ", "
                     : left     ? " and "
                                : "");
    if (*text)
        ws_gather_meta(kineto->gather, "host_slowed_by", text, strlen(text));
}

/* Writes the start time of the trace if the file has no baseTimeNanoseconds. If the times in such a file count from
 * 1970, the time of the first event is the start time. */
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
    say_extras(kineto);
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
