#include <string.h>
#include <unistd.h>

#include "attach_all.h"
#include "attach_session.h"
#include "command.h"
#include "target.h"
#include "wire/options.h"

static const struct tool_switch *attach_switches(size_t *count)
{
    static const struct tool_switch list[] = {
        { "duration", 0, "TIME",
          "end after this time, such as 10s (default and 0: until Ctrl-C or wallshim detach)" },
        { "all", 0, NULL, "record every CUDA process at and below PID, such as a launcher, into one folder" },
        { "job", 0, "FOLDER", "with --all: the folder (default: NAME-PID)" },
        { "output", 'o', "TRACE", "name of the trace (default: NAME-PID.wst)" },
        { "overhead", 0, "PERCENT",
          "the share of a launching thread's working time that recording may take (default 2%)" },
    };
    *count = sizeof(list) / sizeof(list[0]);
    return list;
}

/* Has the shim (the library that records) in the process write a trace, and waits until that recording ends. Returns
 * 0, TOOL_ERROR after a line on stderr, or TOOL_AGAIN (attach_session.h). */
static int attach_record(const struct ws_process_facts *process, int socket, const struct tool_trace_file *file,
                         const struct ws_attach_message *wish)
{
    int signals = tool_watch_end();
    int status = tool_session_begin(process, socket, file, wish);
    if (status)
        return status;
    tool_say("recording %s (%d)%s", process->name, process->pid, wish->duration_ns ? "" : "; Ctrl-C ends it");
    const char *why = tool_session_wait(process, socket, signals);
    if (!tool_trace_file_size(file))
        return tool_error("attach %d: the process has ended, and nothing was written", process->pid);
    tool_say("%s; wrote %s; next: wallshim report %s", why ? why : "the process has ended", file->path, file->path);
    return 0;
}

static int take_switches(const struct tool_arguments *arguments, struct ws_attach_message *message)
{
    const char *duration = tool_value(arguments, "duration"), *overhead = tool_value(arguments, "overhead");
    static struct ws_options options;
    if (duration && ws_parse_duration(duration, &message->duration_ns))
        return tool_error("--duration %s: give a time, as 500ms, 10s or 2m", duration);
    for (size_t i = 0; overhead && i < ws_option_count; i++)
        if (!strcmp(ws_option_table[i].name, "overhead") && ws_option_set(&options, &ws_option_table[i], overhead))
            return tool_error("--overhead %s: give a share, as 2%% or 0.5%%, from 0.1%% to 100%%", overhead);
    message->overhead = options.overhead;
    return 0;
}

static int attach_one(const struct ws_process_facts *process, const char *output, struct ws_attach_message *message)
{
    static struct tool_trace_file file;
    int status = tool_target_check(process);
    if (!status)
        status = tool_trace_file_create(process, "", output, &file);
    if (status)
        return status;
    do {
        int socket = tool_target_attach(process, message);
        status = socket < 0 ? TOOL_ERROR : attach_record(process, socket, &file, message);
        if (socket >= 0)
            close(socket);
    } while (status == TOOL_AGAIN);
    close(file.fd);
    if (status)
        unlink(file.path);
    return status;
}

/* Refuses --output with --all, and --job without --all. With --all, traces go into the folder that --job names.
 * Without --all, the trace of the one process goes into the file that --output names. */
static int check_output(const struct tool_arguments *arguments, bool all)
{
    if (all && tool_value(arguments, "output"))
        return tool_error("attach --all: writes a trace for each process; give --job FOLDER instead of --output");
    if (!all && tool_value(arguments, "job"))
        return tool_error("--job: this is for attach --all; a single process is recorded into --output TRACE");
    return 0;
}

static int attach_run(const struct tool_arguments *arguments)
{
    static struct ws_attach_message message;
    struct ws_process_facts process;
    bool all = tool_value(arguments, "all");
    int status = check_output(arguments, all);
    if (!status)
        status = take_switches(arguments, &message);
    if (!status)
        status = tool_target("attach", arguments, &process);
    if (status)
        return status;
    return all ? tool_attach_all(&process, tool_value(arguments, "job"), &message)
               : attach_one(&process, tool_value(arguments, "output"), &message);
}

const struct tool_command tool_attach = {
    .name = "attach",
    .operands = "PID",
    .summary = "record a program that runs already",
    .text =
        "A program that was started by wallshim record --start off sleeps, and is woken. Into any other program the "
        "shim is loaded, and the functions of the driver are patched while its threads stand still for a moment; at "
        "the end all is put back. That needs the right to trace the program. A program can be attached to as often "
        "as one likes. The trace is complete when the command ends. If the command is killed, the recording ends as "
        "well.\n"
        "With --all, PID is a launcher. All processes at and below it that have loaded the CUDA driver, or that "
        "sleep, "
        "are recorded at the same time, and those that follow. Those that cannot be are named; the status is 2 if "
        "none could be.",
    .switches = attach_switches,
    .run = attach_run,
};
