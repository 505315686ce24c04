#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "input/source.h"
#include "interrupts.h"
#include "progress.h"
#include "trace/writer.h"
#include "traces.h"
#include "wire/columns.h"

enum { UNREADABLE = -1 }; /* a further result, not in enum tool_status: the input cannot be read */

static const struct tool_switch *import_switches(size_t *count)
{
    static const struct tool_switch list[] = {
        { "output", 'o', "TRACE",
          "the file to write; for several traces or processes, the folder. Existing files are left alone" },
    };
    *count = sizeof(list) / sizeof(list[0]);
    return list;
}

static int import_add_block(struct ws_writer *writer, const struct ws_block *block)
{
    const struct ws_layout *layout = ws_layout(block->family);
    int status = 0;
    for (uint32_t i = 0; i < block->count && layout && !status; i++)
        status = ws_writer_add(writer, block->family, (const char *)block->rows + (size_t)i * layout->row_size);
    return status;
}

/* Adds a row that describes the damage of the source, because the damage would not show in the new file. */
static int add_damage(struct ws_writer *writer, const struct ws_source *source, const char *path)
{
    static const char key[] = "import_damage";
    uint64_t done, total;
    char text[128];
    if (!ws_damage_any(ws_source_damage(source)))
        return 0;
    ws_source_position(source, &done, &total);
    int size = snprintf(text, sizeof(text), "cut or damaged: read up to byte %" PRIu64 " of %" PRIu64, done, total);
    tool_say("%s is %s", path, text);
    struct ws_meta row = { .key = { key, sizeof(key) - 1 }, .value = { text, (uint32_t)size } };
    return ws_writer_add(writer, WS_FAMILY_meta, &row);
}

/* Copies the source into the writer. Returns UNREADABLE, with a line in `message`, if the source cannot be read. */
static int import_copy(struct ws_source *source, const char *from, struct ws_writer *writer, const char *to,
                       char *message, size_t capacity)
{
    struct tool_progress progress;
    struct ws_block block;
    uint64_t done, total;
    int status = 0, read;
    tool_progress_start(&progress);
    while ((read = ws_source_next(source, &block, message, capacity)) > 0 && !status) {
        status = import_add_block(writer, &block);
        ws_source_position(source, &done, &total);
        tool_progress_show(&progress, done, total);
    }
    tool_progress_end(&progress);
    if (read < 0)
        return UNREADABLE;
    if (!status)
        status = add_damage(writer, source, from);
    return status ? tool_error("%s: cannot be written: %s", to, strerror(-status)) : TOOL_DONE;
}

/* Converts one process of a trace. `file` is the path to open, `from` the trace's name in messages. Returns
 * UNREADABLE, with a line in message, if the file cannot be read. */
static int convert(const char *from, const char *file, size_t process, const char *to, char *message, size_t capacity)
{
    struct ws_source *source;
    struct ws_writer *writer;
    sigset_t before;
    if (ws_source_open(&source, file, from, message, capacity))
        return UNREADABLE;
    if (ws_source_processes(source) > 1)
        ws_source_choose(source, process);
    int status = ws_source_is_foreign(source) ? TOOL_DONE : tool_error("%s: is already a trace of wallshim's", from);
    tool_interrupts_hold(&before);
    int error = status ? 0 : ws_writer_create(&writer, to);
    if (!status && !error)
        tool_interrupts_file(to);
    tool_interrupts_release(&before);
    if (error == -EEXIST)
        status = tool_error("%s: already exists; choose another name or remove it", to);
    else if (error)
        status = tool_error("%s: cannot be written: %s", to, strerror(-error));
    if (!status) {
        status = import_copy(source, from, writer, to, message, capacity);
        error = ws_writer_close(writer);
        if (error && !status)
            status = tool_error("%s: cannot be written: %s", to, strerror(-error));
        if (status)
            unlink(to);
        tool_interrupts_file(NULL);
    }
    ws_source_close(source);
    return status;
}

/* Returns the number of processes in a file; 1 if the file cannot be opened. */
static size_t processes_in(const char *path)
{
    struct ws_source *source;
    char message[512];
    if (ws_source_open(&source, path, NULL, message, sizeof(message)))
        return 1;
    size_t count = ws_source_processes(source);
    ws_source_close(source);
    return count;
}

/* Makes the name FOLDER/rank3.wst from "runs/rank3.json.gz", or FOLDER/rank3-1.wst if the file holds several
 * processes. Returns NULL if memory runs out. */
static char *name_in(const char *folder, const char *path, size_t process, size_t processes)
{
    static const char *const suffixes[] = { ".gz", ".zst", ".xz", ".bz2", ".json", ".pftrace", ".sqlite" };
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        size_t size = strlen(suffixes[i]);
        if (length > size && !memcmp(name + length - size, suffixes[i], size))
            length -= size;
    }
    char *result = NULL, number[24] = "";
    if (processes > 1)
        snprintf(number, sizeof(number), "-%zu", process);
    return asprintf(&result, "%s/%.*s%s.wst", folder, (int)length, name, number) < 0 ? NULL : result;
}

static int convert_one(const struct tool_traces *traces, const char *to)
{
    char message[512];
    int status = convert(traces->paths[0], traces->files[0], 0, to, message, sizeof(message));
    return status == UNREADABLE ? tool_error("%s", message) : status;
}

/* Converts every process of a trace. */
static int convert_into(const char *folder, const char *from, const char *file, char *message, size_t capacity)
{
    size_t processes = processes_in(file);
    int status = TOOL_DONE;
    for (size_t i = 0; i < processes && !status; i++) {
        char *to = name_in(folder, from, i, processes);
        status = to ? convert(from, file, i, to, message, capacity) : tool_error("out of memory");
        free(to);
    }
    return status;
}

static int make_folder(const char *folder)
{
    sigset_t before;
    tool_interrupts_hold(&before);
    int error = mkdir(folder, 0777) ? errno : 0;
    if (!error)
        tool_interrupts_folder(folder);
    tool_interrupts_release(&before);
    if (error == EEXIST)
        return tool_error("%s: already exists; several traces or processes need a new folder", folder);
    return error ? tool_error("%s: cannot be made: %s", folder, strerror(error)) : TOOL_DONE;
}

static int convert_all(const struct tool_traces *traces, const char *folder)
{
    char message[512];
    size_t left_out = 0;
    int status = make_folder(folder);
    for (size_t i = 0; i < traces->count && !status; i++) {
        status = convert_into(folder, traces->paths[i], traces->files[i], message, sizeof(message));
        if (status == UNREADABLE && tool_trace_left_out(traces, i, message)) {
            left_out++;
            status = TOOL_DONE;
        } else if (status == UNREADABLE) {
            status = tool_error("%s", message);
        }
    }
    if (!status && left_out == traces->count) {
        rmdir(folder);
        status = tool_error("none of the %zu traces can be read", left_out);
    }
    return status;
}

static int import_run(const struct tool_arguments *arguments)
{
    struct tool_traces traces;
    const char *output = tool_value(arguments, "output");
    if (!output || !arguments->operand_count)
        return tool_error("import: needs %s; see wallshim import --help", output ? "a FILE" : "--output TRACE");
    int status = tool_find_traces(&traces, arguments);
    if (status)
        return status;
    bool one = traces.count == 1 && processes_in(traces.files[0]) == 1;
    status = one ? convert_one(&traces, output) : convert_all(&traces, output);
    tool_traces_finish(&traces);
    return status;
}

const struct tool_command tool_import = {
    .name = "import",
    .operands = "FILE…",
    .summary = "turn another profiler's trace into one of wallshim's",
    .text = "Reads traces of PyTorch's profiler (Kineto's JSON, plain or gzip) and exports of Nsight Systems (nsys "
            "export --type sqlite), and writes them in wallshim's own format. That is smaller and is read faster. "
            "Every other command also reads such files directly. Of a folder, the files *.json, *.pftrace and "
            "*.sqlite are read, "
            "also packed (*.json.gz, *.json.zst). Each process that used a device becomes a trace of its own.",
    .switches = import_switches,
    .run = import_run,
};
