/* Chrome's trace event format, which Perfetto and chrome://tracing read.
 *
 * Each process of the trace becomes a process of the Chrome file. The threads of this process show their calls and
 * named ranges. Each device becomes a process of its own, with the device's streams as threads. An arrow leads from a
 * call to the operation that the call launched.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"
#include "base/arena.h"
#include "base/minmax.h"
#include "export/registry.h"
#include "export/text_out.h"
#include "input/source.h"
#include "model/clock.h"

enum { NUMBERS_A_PROCESS = 1000, DEMANGLED = 8192 };

struct chrome {
    struct ws_text_out out;
    const struct ws_model *model;
    const struct ws_process *process;
    uint64_t host;                   /* number, in the Chrome file, of the process that holds the host calls */
    struct ws_clock_cursor *cursors; /* maps device times to the host's clock; by index in ws_process.clocks */
    uint64_t call;                   /* correlation id of the call that launched the previous operation */
    int64_t call_begin;              /* host time at which the call with id `call` began */
    const char **shown;              /* demangled names, by index into ws_model.names; NULL: not yet demangled */
    struct ws_arena texts;
    bool first;
};

static uint64_t device_number(const struct chrome *chrome, uint32_t device)
{
    return chrome->host + 1 + device;
}

/* Writes the first part of an event: its phase (the kind of Chrome event), process and thread. */
static void chrome_begin_event(struct chrome *chrome, const char *phase, uint64_t process, uint64_t thread)
{
    struct ws_text_out *out = &chrome->out;
    ws_put(out, chrome->first ? "\n" : ",\n");
    chrome->first = false;
    ws_put(out, "{\"ph\":\"");
    ws_put(out, phase);
    ws_put(out, "\",\"pid\":");
    ws_put_unsigned(out, process);
    ws_put(out, ",\"tid\":");
    ws_put_unsigned(out, thread);
}

static void put_key_text(struct chrome *chrome, const char *key, const char *text)
{
    ws_put(&chrome->out, key);
    ws_put_json_text(&chrome->out, text);
}

static void put_key_number(struct chrome *chrome, const char *key, uint64_t number)
{
    ws_put(&chrome->out, key);
    ws_put_unsigned(&chrome->out, number);
}

/* Writes category, name, begin and duration of an event. Clamps times that are far out of range first, so that the
 * difference of begin and end cannot overflow. */
static void put_span(struct chrome *chrome, const char *category, const char *name, int64_t begin, int64_t end)
{
    uint64_t odd = 0;
    begin = ws_clamp_time(begin, &odd);
    end = ws_clamp_time(end, &odd);
    put_key_text(chrome, ",\"cat\":", category);
    put_key_text(chrome, ",\"name\":", name);
    ws_put(&chrome->out, ",\"ts\":");
    ws_put_micros(&chrome->out, begin);
    ws_put(&chrome->out, ",\"dur\":");
    ws_put_micros(&chrome->out, end > begin ? end - begin : 0);
}

static void chrome_put_name(struct chrome *chrome, const char *what, uint64_t process, uint64_t thread,
                            const char *name)
{
    chrome_begin_event(chrome, "M", process, thread);
    put_key_text(chrome, ",\"name\":", what);
    put_key_text(chrome, ",\"args\":{\"name\":", name);
    ws_put(&chrome->out, "}}");
}

/* Writes "rank 3: " to tell the processes of a job apart. Writes "" if the rank is unknown, or if the only process
 * has rank 0. */
static const char *chrome_rank_of(const struct chrome *chrome, char *text, size_t size)
{
    const char *rank = ws_process_meta(chrome->process, "rank");
    *text = 0;
    if (rank && *rank && (chrome->model->processes.count > 1 || strcmp(rank, "0") != 0))
        snprintf(text, size, "rank %s: ", rank);
    return text;
}

static void put_process_names(struct chrome *chrome)
{
    const struct ws_process *process = chrome->process;
    const char *program = ws_process_meta(process, "program"), *pid = ws_process_meta(process, "pid");
    const struct ws_thread *threads = process->threads.rows.data;
    char name[512], rank[64];
    snprintf(name, sizeof(name), "%s%s%s%s", chrome_rank_of(chrome, rank, sizeof(rank)),
             program ? program : process->path, pid ? " " : "", pid ? pid : "");
    chrome_put_name(chrome, "process_name", chrome->host, 0, name);
    for (size_t i = 0; i < process->threads.rows.count; i++) {
        snprintf(name, sizeof(name), "%s %u", threads[i].name.data, threads[i].tid);
        chrome_put_name(chrome, "thread_name", chrome->host, threads[i].id, name);
    }
}

static void put_device_names(struct chrome *chrome)
{
    const struct ws_process *process = chrome->process;
    const struct ws_device *devices = process->devices.rows.data;
    const struct ws_stream *streams = process->streams.rows.data;
    char name[512], rank[64];
    for (size_t i = 0; i < process->devices.rows.count; i++) {
        if (devices[i].id >= NUMBERS_A_PROCESS - 1 || !ws_process_uses_device(chrome->model, process, devices[i].id))
            continue;
        snprintf(name, sizeof(name), "%sGPU %u %s", chrome_rank_of(chrome, rank, sizeof(rank)), devices[i].id - 1,
                 devices[i].name.data);
        chrome_put_name(chrome, "process_name", device_number(chrome, devices[i].id), 0, name);
    }
    for (size_t i = 0; i < process->streams.rows.count; i++) {
        static const char *const kinds[] = { "legacy default stream", "per-thread default stream", "stream",
                                             "stream" };
        const struct ws_context *context = ws_entries_find(&process->contexts, streams[i].context);
        snprintf(name, sizeof(name), "%s %u", streams[i].kind < 4 ? kinds[streams[i].kind] : "stream", streams[i].id);
        chrome_put_name(chrome, "thread_name", device_number(chrome, context ? context->device : 0), streams[i].id,
                        name);
    }
}

static const char *chrome_function_name(const struct chrome *chrome, uint32_t id, const char *fallback)
{
    const struct ws_driver_function *function = ws_entries_find(&chrome->process->driver_functions, id);
    return function && function->name.length ? function->name.data : fallback;
}

static void put_flow(struct chrome *chrome, const char *phase, uint64_t process, uint64_t thread,
                     uint64_t correlation, int64_t time)
{
    chrome_begin_event(chrome, phase, process, thread);
    ws_put(&chrome->out, ",\"cat\":\"launch\",\"name\":\"launch\",\"id\":\"");
    ws_put_unsigned(&chrome->out, chrome->host);
    ws_put(&chrome->out, ".");
    ws_put_unsigned(&chrome->out, correlation);
    ws_put(&chrome->out, "\",\"ts\":");
    ws_put_micros(&chrome->out, time);
    ws_put(&chrome->out, *phase == 'f' ? ",\"bp\":\"e\"}" : "}");
}

static void put_device_arguments(struct chrome *chrome, const struct ws_op *op, const struct ws_op_shape *shape)
{
    struct ws_text_out *out = &chrome->out;
    put_key_number(chrome, ",\"args\":{\"correlation\":", op->correlation);
    if (shape->row.kind == WS_OP_KERNEL && !shape->lost) {
        const uint32_t sizes[] = { shape->row.grid_x,  shape->row.grid_y,  shape->row.grid_z,
                                   shape->row.block_x, shape->row.block_y, shape->row.block_z };
        for (int i = 0; i < 6; i++)
            put_key_number(chrome, i == 0 ? ",\"grid\":[" : i == 3 ? "],\"block\":[" : ",", sizes[i]);
        put_key_number(chrome, "],\"dynamic shared bytes\":", shape->row.shared_bytes);
    }
    if (chrome->shown[shape->name] != ws_model_name(chrome->model, shape->name)->text)
        put_key_text(chrome, ",\"mangled\":", ws_model_name(chrome->model, shape->name)->text);
    if (op->bytes)
        put_key_number(chrome, ",\"bytes\":", op->bytes);
    put_key_text(chrome, ",\"begin\":", ws_quality_name(ws_op_begin_quality(op)));
    put_key_number(chrome, ",\"begin error ns\":", op->begin_error);
    put_key_text(chrome, ",\"end\":", ws_quality_name(ws_op_end_quality(op)));
    put_key_number(chrome, ",\"end error ns\":", op->end_error);
    ws_put(out, "}}");
}

/* Returns the demangled name. Each name is demangled only once, because millions of events share few names. */
static const char *shown_name(struct chrome *chrome, uint32_t index)
{
    const char **shown = &chrome->shown[index], *name = ws_model_name(chrome->model, index)->text;
    char plain[DEMANGLED];
    if (!*shown && ws_demangle(plain, sizeof(plain), name))
        *shown = ws_arena_copy(&chrome->texts, plain, strlen(plain));
    if (!*shown)
        *shown = name;
    return *shown;
}

static void put_launch(struct chrome *chrome, const struct ws_op *op, const struct ws_op_shape *shape)
{
    chrome_begin_event(chrome, "X", chrome->host, op->thread);
    put_span(chrome, "call", chrome_function_name(chrome, shape->row.driver_function, "launch"), op->host_begin,
             op->host_end);
    put_key_number(chrome, ",\"args\":{\"correlation\":", op->correlation);
    if (op->result) {
        ws_put(&chrome->out, ",\"result\":");
        ws_put_number(&chrome->out, op->result);
    }
    ws_put(&chrome->out, "}}");
}

static void chrome_put_op(struct chrome *chrome, const struct ws_op *op)
{
    uint32_t place = ws_entries_place(&chrome->process->shape_rows, op->shape);
    const struct ws_op_shape lost = { .lost = true };
    const struct ws_op_shape *shape = place == WS_NOWHERE ? &lost : ws_process_shape(chrome->process, place);
    bool timed = !shape->lost && ws_op_begin_quality(op) && ws_op_end_quality(op) && op->begin <= op->end &&
                 !op->result && !(op->flags & WS_OP_CAPTURED);
    /* Write the call that launched the operation, if the trace has this call. The operations of one graph launch
     * follow each other in the trace and share one call: write that call only once. */
    if (op->thread && (op->correlation != chrome->call || op->host_begin != chrome->call_begin))
        put_launch(chrome, op, shape);
    chrome->call = op->correlation;
    chrome->call_begin = op->host_begin;
    if (!timed)
        return;
    struct ws_clock_cursor *cursor = &chrome->cursors[shape->context];
    int64_t begin = ws_clock_to_host(cursor, op->begin), end = ws_clock_to_host(cursor, op->end);
    if (op->thread) {
        begin = ws_clock_launched(cursor, begin, op->host_begin, op->begin_error);
        end = ws_max(begin, end);
    }
    uint32_t ordinal = shape->track == WS_NOWHERE ? 0 : ws_model_track(chrome->model, shape->track)->device;
    uint64_t device = device_number(chrome, ordinal);
    if (op->thread) {
        put_flow(chrome, "s", chrome->host, op->thread, op->correlation, op->host_begin);
        put_flow(chrome, "f", device, shape->row.stream, op->correlation, begin);
    }
    chrome_begin_event(chrome, "X", device, shape->row.stream);
    put_span(chrome, ws_op_kind_name(shape->row.kind), shown_name(chrome, shape->name), begin, end);
    put_device_arguments(chrome, op, shape);
}

static void chrome_put_call(struct chrome *chrome, const struct ws_call *call)
{
    chrome_begin_event(chrome, "X", chrome->host, call->thread);
    put_span(chrome, "call", chrome_function_name(chrome, call->function, "call"), call->host_begin, call->host_end);
    put_key_number(chrome, ",\"args\":{\"correlation\":", call->correlation);
    if (call->bytes)
        put_key_number(chrome, ",\"bytes\":", call->bytes);
    ws_put(&chrome->out, "}}");
}

static void chrome_put_collective(struct chrome *chrome, const struct ws_collective *call)
{
    chrome_begin_event(chrome, "X", chrome->host, call->thread);
    put_span(chrome, "nccl", chrome_function_name(chrome, call->function, "collective"), call->host_begin,
             call->host_end);
    put_key_number(chrome, ",\"args\":{\"communicator\":", call->comm);
    put_key_number(chrome, ",\"sequence\":", call->sequence);
    put_key_number(chrome, ",\"elements\":", call->count);
    ws_put(&chrome->out, "}}");
}

static const char *label_text(const struct chrome *chrome, uint32_t id)
{
    const struct ws_label *label = ws_entries_find(&chrome->process->labels, id);
    return label ? label->text.data : "";
}

static void put_range(struct chrome *chrome, const struct ws_range *row)
{
    struct ws_range within = *row;
    const struct ws_range *range = &within;
    if (chrome->process->window && !ws_window_take(chrome->process->window, WS_FAMILY_range, &within))
        return;
    chrome_begin_event(chrome, "X", chrome->host, range->thread);
    put_span(chrome, ws_range_kind_name(range->kind), label_text(chrome, range->name), range->host_begin,
             range->host_end);
    if (range->inputs) {
        put_key_text(chrome, ",\"args\":{\"inputs\":", label_text(chrome, range->inputs));
        ws_put(&chrome->out, "}");
    }
    ws_put(&chrome->out, "}");
}

static bool is_in(const struct ws_window *window, int64_t host_begin)
{
    return !window || ws_window_holds(window, host_begin);
}

static void put_block(struct chrome *chrome, const struct ws_block *block)
{
    const struct ws_op *ops = block->rows;
    const struct ws_call *calls = block->rows;
    const struct ws_collective *collectives = block->rows;
    const struct ws_range *ranges = block->rows;
    const struct ws_window *window = chrome->process->window;
    for (uint32_t i = 0; i < block->count; i++) {
        if (block->family == WS_FAMILY_op && is_in(window, ops[i].host_begin))
            chrome_put_op(chrome, &ops[i]);
        else if (block->family == WS_FAMILY_call && is_in(window, calls[i].host_begin))
            chrome_put_call(chrome, &calls[i]);
        else if (block->family == WS_FAMILY_collective && is_in(window, collectives[i].host_begin))
            chrome_put_collective(chrome, &collectives[i]);
        else if (block->family == WS_FAMILY_range)
            put_range(chrome, &ranges[i]);
    }
}

static int put_process(struct chrome *chrome, const struct ws_model_options *options, char *message, size_t capacity)
{
    const struct ws_process *process = chrome->process;
    const struct ws_clock_map *maps = process->clocks.data;
    struct ws_source *source;
    struct ws_block block;
    uint64_t done, total;
    chrome->cursors = calloc(process->clocks.count + 1, sizeof(*chrome->cursors));
    if (!chrome->cursors)
        return -ENOMEM;
    for (size_t i = 0; i < process->clocks.count; i++)
        ws_clock_cursor_init(&chrome->cursors[i], maps[i].knots.data, maps[i].knots.count);
    put_process_names(chrome);
    put_device_names(chrome);
    int opened = ws_source_open(&source, process->file, process->path, message, capacity), status = opened;
    if (!opened && process->parts > 1)
        ws_source_choose(source, process->part);
    while (!status && !chrome->out.error && (status = ws_source_next(source, &block, message, capacity)) > 0) {
        status = 0;
        put_block(chrome, &block);
        ws_source_position(source, &done, &total);
        if (options && options->progress)
            options->progress(options->user, done, total);
    }
    if (!opened)
        ws_source_close(source);
    free(chrome->cursors);
    return status;
}

static int write_chrome(const struct ws_model *model, FILE *file, const struct ws_model_options *options,
                        char *message, size_t capacity)
{
    struct chrome *chrome = calloc(1, sizeof(*chrome));
    int status = chrome ? 0 : -ENOMEM;
    snprintf(message, capacity, "out of memory");
    if (!chrome)
        return status;
    chrome->shown = calloc(model->names.count + 1, sizeof(*chrome->shown));
    if (!chrome->shown) {
        free(chrome);
        return -ENOMEM;
    }
    ws_text_out_init(&chrome->out, file);
    chrome->model = model;
    chrome->first = true;
    ws_put(&chrome->out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    for (size_t i = 0; i < model->processes.count && !status; i++) {
        chrome->process = ws_model_process(model, i);
        chrome->host = i * NUMBERS_A_PROCESS + 1;
        status = put_process(chrome, options, message, capacity);
    }
    ws_put(&chrome->out, "\n]}\n");
    int written = ws_text_out_finish(&chrome->out);
    if (written)
        snprintf(message, capacity, "cannot write everything: %s", strerror(-written));
    ws_arena_finish(&chrome->texts);
    free(chrome->shown);
    free(chrome);
    return status ? status : written;
}

const struct ws_export_format ws_export_chrome = {
    .name = "chrome",
    .summary = "Chrome trace events (JSON), for Perfetto and chrome://tracing",
    .suffix = ".json",
    .write = write_chrome,
};
