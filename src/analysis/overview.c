#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity.h"
#include "analysis/kernels.h"
#include "analysis/peaks.h"
#include "analysis/sections.h"
#include "analysis/times.h"

struct process_overview {
    int64_t first, last; /* host times of operations and calls; first > last: none */
    uint64_t by_kind[WS_OP_KIND_COUNT];
    uint64_t captured, failed;
};

static void widen(struct process_overview *result, int64_t begin, int64_t end)
{
    if (begin < result->first)
        result->first = begin;
    if (end > result->last)
        result->last = end;
}

static int count_ops(const struct ws_process *process, struct process_overview *result)
{
    const struct ws_ops *ops = &process->ops;
    uint64_t *of_shape = calloc(process->shapes.count + 1, sizeof(*of_shape)), captured = 0, failed = 0;
    int64_t first = result->first, last = result->last;
    if (!of_shape)
        return -ENOMEM;
    for (size_t i = 0; i < ops->count; i++) {
        int64_t begin = ws_op_host_begin(ops, i);
        first = ws_least(first, begin);
        last = ws_most(last, begin + ws_op_host_length(ops, i));
        of_shape[ops->shape[i]]++;
        captured += (ops->flags[i] & WS_OP_CAPTURED) != 0;
        failed += (ops->flags[i] & WS_OP_FAILED) != 0;
    }
    widen(result, first, last);
    result->captured = captured;
    result->failed = failed;
    for (size_t i = 0; i < process->shapes.count; i++) {
        uint32_t kind = ws_process_shape(process, i)->row.kind;
        result->by_kind[kind < WS_OP_KIND_COUNT ? kind : WS_OP_UNKNOWN] += of_shape[i];
    }
    free(of_shape);
    return 0;
}

static int run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_process *process = ws_model_process(report->model, subject);
    const struct ws_call *calls = process->calls.data;
    struct process_overview *result = memory;
    result->first = INT64_MAX;
    result->last = INT64_MIN;
    for (size_t i = 0; i < process->calls.count; i++)
        widen(result, calls[i].host_begin, calls[i].host_end);
    return count_ops(process, result);
}

/* What the shim writes under a key, and how a report calls it. */
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
};

/* Only what the trace says: an importer may know no more than a name. */
static void print_device(const struct ws_device *device, const char *label, struct ws_page *page)
{
    char name[96], sms[24] = "", memory[40] = "", capability[48] = "";
    struct ws_gpu gpu;
    snprintf(name, sizeof(name), "%s", device->name.length ? device->name.data : "of unknown name");
    bool by_figures = ws_device_gpu(device, &gpu) == WS_GPU_BY_FIGURES;
    if (by_figures)
        snprintf(name, sizeof(name), "without a name; %s by its figures", gpu.name);
    bool is_amd = ws_gpu_is_amd(by_figures ? gpu.name : device->name.data);
    if (device->sms)
        snprintf(sms, sizeof(sms), ", %u %s", device->sms, is_amd ? "CUs" : "SMs");
    if (device->memory_bytes)
        snprintf(memory, sizeof(memory), ", %.0f GiB", (double)device->memory_bytes / (1 << 30));
    if (device->cc_major && is_amd) /* HIP does not say the stepping */
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

static void print_events(const struct ws_process *process, const struct process_overview *result,
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
        ws_page_fact(page, "", "%s of them went into graphs and ran nothing by themselves",
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
    for (size_t i = 0; i < process->losses.count; i++)
        lost += losses[i].count;
    bool damaged = damage->lost_frames || damage->lost_bytes || damage->torn_bytes || damage->no_footer;
    if (!lost && !damaged)
        ws_page_fact(page, "lost", "nothing");
    else if (!lost)
        ws_page_fact(page, "lost", "the trace is not whole; see the last section");
    else
        ws_page_fact(page, "lost", "%s events not recorded in full%s; see the last section",
                     ws_format_count(count, lost), damaged ? ", and the trace is not whole" : "");
}

static void text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    const struct ws_process *process = ws_model_process(report->model, subject);
    const struct process_overview *result = memory;
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
    print_losses(process, page);
}

static int json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_process *process = ws_model_process(report->model, subject);
    const struct ws_meta_entry *entries = process->meta.data;
    const struct process_overview *result = memory;
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
    if (result->first <= result->last) {
        status |= ws_json_set(object, "host_begin_ns", result->first);
        status |= ws_json_set(object, "host_end_ns", result->last);
    }
    return status ? -ENOMEM : 0;
}

const struct ws_analysis ws_analysis_overview = {
    .name = "overview",
    .title = "Overview",
    .scope = WS_SCOPE_PROCESS,
    .result_size = sizeof(struct process_overview),
    .run = run,
    .text = text,
    .json = json,
};
