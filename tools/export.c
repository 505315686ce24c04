#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "export/registry.h"
#include "interrupts.h"
#include "window.h"

static const struct tool_switch *export_switches(size_t *count)
{
    static char formats[512];
    static const struct tool_switch list[] = {
        { "format", 'f', "FORMAT", formats },
        { "output", 'o', "FILE", "the file to write; - is standard output. An existing file is left alone" },
        TOOL_WINDOW_SWITCHES,
    };
    *count = sizeof(list) / sizeof(list[0]);
    if (*formats)
        return list;
    for (size_t i = 0; i < ws_export_format_count; i++) {
        size_t used = strlen(formats);
        snprintf(formats + used, sizeof(formats) - used, "%s%s: %s; the default where FILE ends in %s", i ? "; " : "",
                 ws_export_formats[i]->name, ws_export_formats[i]->summary, ws_export_formats[i]->suffix);
    }
    return list;
}

/* Opens the output for writing. Does not overwrite an existing file. After an error, prints a line on stderr and
 * returns NULL. */
static FILE *open_output(const char *path)
{
    sigset_t before;
    if (!strcmp(path, "-"))
        return stdout;
    tool_interrupts_hold(&before);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), error = errno;
    if (file >= 0)
        tool_interrupts_file(path);
    tool_interrupts_release(&before);
    if (file < 0 && error == EEXIST)
        tool_error("%s: already exists; choose another name or remove it", path);
    else if (file < 0)
        tool_error("%s: cannot be written: %s", path, strerror(error));
    if (file < 0)
        return NULL;
    FILE *out = fdopen(file, "w");
    if (!out) {
        tool_error("%s: cannot be written: %s", path, strerror(errno));
        close(file);
        unlink(path);
        tool_interrupts_file(NULL);
    }
    return out;
}

static int write_output(const struct ws_model *model, const struct ws_export_format *format, const char *path,
                        struct tool_reading *reading)
{
    char message[512];
    FILE *out = open_output(path);
    if (!out)
        return TOOL_ERROR;
    int status = format->write(model, out, &reading->options, message, sizeof(message));
    if (out != stdout && fclose(out) && !status) {
        snprintf(message, sizeof(message), "cannot write everything: %s", strerror(errno));
        status = -EIO;
    }
    tool_progress_end(&reading->progress);
    if (status && out != stdout)
        unlink(path);
    tool_interrupts_file(NULL);
    if (!status)
        return TOOL_DONE;
    return tool_error("%s: %s", out == stdout ? "standard output" : path, message);
}

static int export_run(const struct tool_arguments *arguments)
{
    struct tool_traces traces;
    struct tool_reading reading;
    struct tool_window window;
    struct ws_windows windows = { 0 };
    struct ws_model *model = NULL;
    const char *name = tool_value(arguments, "format"), *path = tool_value(arguments, "output");
    if (!path)
        return tool_error("export: needs --output FILE; see wallshim export --help");
    const struct ws_export_format *format = name ? ws_export_find(name) : ws_export_find_by_file(path);
    if (!format && name)
        return tool_error("--format %s: no such format; see wallshim export --help", name);
    if (!format)
        return tool_error("%s: its ending names no format; give --format FORMAT, see wallshim export --help", path);
    int status = tool_window_init(&window, arguments);
    if (!status)
        status = tool_find_traces(&traces, arguments);
    if (status)
        return status;
    const struct ws_report_options options = { .steps = window.steps, .threads = 1 };
    status = tool_read(&reading, &model, &traces, !window.asked && !format->analysed);
    if (!status)
        status = tool_window_apply(&window, &reading, &model, &windows, &options, !format->analysed);
    if (!status)
        status = write_output(model, format, path, &reading);
    ws_model_destroy(model);
    ws_windows_finish(&windows);
    tool_traces_finish(&traces);
    return status;
}

const struct tool_command tool_export = {
    .name = "export",
    .operands = "[TRACE…]",
    .summary = "turn traces into another tool's format",
    .text = "Writes one or several traces in the format of another tool. Times are on the host's monotonic clock.",
    .switches = export_switches,
    .run = export_run,
};
