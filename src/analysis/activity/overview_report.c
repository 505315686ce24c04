#include "analysis/activity/overview.h"

#include <errno.h>
#include <string.h>

#include "report/peaks.h"

/* A key of the trace's metadata, and its label in a report. */
struct fact {
    const char *key;
    const char *label;
};

static const struct fact facts[] = {
    { "program", "program" },   { "command_line", "command" },
    { "host", "host" },         { "pid", "process" },
    { "rank", "rank" },         { "driver_version", "CUDA driver" },
    { "backend", "timing" },    { "nccl_version", "NCCL" },
    { "import", "taken from" }, { "rank_label", "rank's name" },
    { "flight", "dump of" },    { "flight_cause", "dumped as" },
};

/* Prints the facts about a device. Leaves out facts that the trace does not hold. An imported trace may hold only the
 * device's name. */
static void print_device(const struct ws_device *device, const char *label, struct ws_page *page)
{
    char name[96], sms[24] = "", memory[40] = "", capability[48] = "";
    struct ws_gpu gpu;
    snprintf(name, sizeof(name), "%s", device->name.length ? device->name.data : "of unknown name");
    bool by_figures = ws_device_gpu(device, &gpu) == WS_GPU_BY_FIGURES;
    if (by_figures)
        snprintf(name, sizeof(name), "no name; its figures match %s", gpu.name);
    bool is_amd = ws_gpu_is_amd(by_figures ? gpu.name : device->name.data);
    if (device->sms)
        snprintf(sms, sizeof(sms), ", %u %s", device->sms, is_amd ? "CUs" : "SMs");
    if (device->memory_bytes)
        snprintf(memory, sizeof(memory), ", %.0f GiB", (double)device->memory_bytes / (1 << 30));
    if (device->cc_major && is_amd) /* "x" stands for the chip's stepping, which HIP does not give */
        snprintf(capability, sizeof(capability), ", gfx%u%ux", device->cc_major, device->cc_minor);
    else if (device->cc_major)
        snprintf(capability, sizeof(capability), ", compute capability %u.%u", device->cc_major, device->cc_minor);
    ws_page_fact(page, label, "%u  %s%s%s%s", device->id - 1, name, sms, memory, capability);
}

static void print_devices(const struct ws_model *model, const struct ws_process *process, struct ws_page *page)
{
    const struct ws_device *devices = process->devices.rows.data;
    size_t shown = 0;
    for (size_t i = 0; i < process->devices.rows.count; i++)
        if (ws_process_uses_device(model, process, devices[i].id))
            print_device(&devices[i], shown++ ? "" : "GPU", page);
    if (!shown)
        ws_page_fact(page, "GPU", "not known");
}

static void print_events(const struct ws_process *process, const struct ws_process_overview *result,
                         struct ws_page *page)
{
    static const struct {
        enum ws_op_kind kind;
        const char *one, *many;
    } kinds[] = { { WS_OP_KERNEL, "kernel", "kernels" },
                  { WS_OP_GRAPH, "graph", "graphs" },
                  { WS_OP_COPY, "copy", "copies" },
                  { WS_OP_MEMSET, "memset", "memsets" } };
    char text[256] = "", count[WS_FORMAT_SIZE];
    uint64_t other = process->ops.count;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t used = strlen(text);
        uint64_t of_kind = result->by_kind[kinds[i].kind];
        if (of_kind)
            snprintf(text + used, sizeof(text) - used, "%s %s, ", ws_format_count(count, of_kind),
                     of_kind == 1 ? kinds[i].one : kinds[i].many);
        other -= of_kind;
    }
    if (other)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s other operations, ",
                 ws_format_count(count, other));
    ws_page_fact(page, "events", "%s%s other calls", text, ws_format_count(count, process->calls.count));
    if (result->captured)
        ws_page_fact(page, "", "%s of them were captured into graphs and did not run themselves",
                     ws_format_count(count, result->captured));
    if (result->failed)
        ws_page_fact(page, "", "%s of them failed", ws_format_count(count, result->failed));
}

static void print_losses(const struct ws_process *process, struct ws_page *page)
{
    const struct ws_loss *losses = process->losses.data;
    const struct ws_damage *damage = &process->damage;
    uint64_t lost = 0;
    char count[WS_FORMAT_SIZE];
    /* What lies outside the time that the user asked for is not lost. */
    for (size_t i = 0; i < process->losses.count; i++)
        lost += losses[i].reason != WS_LOSS_RANGE ? losses[i].count : 0;
    bool damaged = damage->lost_frames || damage->lost_bytes || damage->torn_bytes || damage->no_footer;
    if (!lost && !damaged)
        ws_page_fact(page, "lost", "nothing");
    else if (!lost)
        ws_page_fact(page, "lost", "the trace is not whole; see the last section");
    else
        ws_page_fact(page, "lost", "%s events not recorded in full%s; see the last section",
                     ws_format_count(count, lost), damaged ? ", and the trace is not whole" : "");
}

void ws_overview_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    const struct ws_process *process = ws_model_process(report->model, subject);
    const struct ws_process_overview *result = memory;
    char time[WS_FORMAT_SIZE], bytes[WS_FORMAT_SIZE];
    ws_page_fact(page, "trace", "%s, %s", process->path, ws_format_bytes(bytes, process->file_bytes));
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        const char *value = ws_process_meta(process, facts[i].key);
        bool alone =
            !strcmp(facts[i].key, "rank") && report->model->processes.count == 1 && value && !strcmp(value, "0");
        if (value && *value && !alone)
            ws_page_fact(page, facts[i].label, "%s", value);
    }
    print_devices(report->model, process, page);
    if (result->first <= result->last)
        ws_page_fact(page, "host calls", "%s from the first to the last",
                     ws_format_time(time, result->last - result->first));
    print_events(process, result, page);
    ws_recording_cost_text(&result->cost, page);
    print_losses(process, page);
}

int ws_overview_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_process *process = ws_model_process(report->model, subject);
    const struct ws_meta_entry *entries = process->meta.data;
    const struct ws_process_overview *result = memory;
    json_t *meta = json_object(), *events = json_object();
    int status = json_object_set_new(object, "meta", meta);
    for (size_t i = 0; i < process->meta.count && !status; i++) {
        json_t *key = ws_json_text(entries[i].key);
        status = key ? json_object_set_new(meta, json_string_value(key), ws_json_text(entries[i].value)) : -ENOMEM;
        json_decref(key);
    }
    status |= json_object_set_new(object, "events", events);
    for (uint32_t i = 0; i < WS_OP_KIND_COUNT && !status; i++)
        status = ws_json_set(events, ws_op_kind_name(i), (int64_t)result->by_kind[i]);
    status |= ws_json_set(events, "calls", (int64_t)process->calls.count);
    status |= ws_json_set(events, "captured", (int64_t)result->captured);
    status |= ws_json_set(events, "failed", (int64_t)result->failed);
    status |= ws_recording_cost_json(&result->cost, object);
    if (result->first <= result->last) {
        status |= ws_json_set(object, "host_begin_ns", result->first);
        status |= ws_json_set(object, "host_end_ns", result->last);
    }
    return status ? -ENOMEM : 0;
}
