#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "library.h"
#include "outputs.h"
#include "record_job.h"
#include "witness.h"
#include "wire/options.h"

enum { NOT_RUNNABLE = 126, NOT_FOUND = 127, BY_SIGNAL = 128 };

/* Makes the switches from the options of the shim (the library that records in the command). Each switch sets the
 * environment variable of its option. An option that is on by default has a --no-NAME switch. */
static const struct tool_switch *record_switches(size_t *count)
{
    static struct tool_switch list[TOOL_SWITCHES];
    static char negated[TOOL_SWITCHES][32], negated_help[TOOL_SWITCHES][128];
    for (size_t i = 0; i < ws_option_count && !list[i].name; i++) {
        const struct ws_option_info *info = &ws_option_table[i];
        list[i] = (struct tool_switch){ info->name, 0, info->argument, info->help };
        if (!strcmp(info->name, "output"))
            list[i].letter = 'o';
        if (info->kind != WS_OPTION_FLAG)
            continue;
        list[i].argument = NULL;
        if (!strcmp(info->fallback, "1")) {
            snprintf(negated[i], sizeof(negated[i]), "no-%s", info->name);
            snprintf(negated_help[i], sizeof(negated_help[i]), "do not %s", info->help);
            list[i].name = negated[i];
            list[i].help = negated_help[i];
        }
    }
    list[ws_option_count] = (struct tool_switch){
        "job", 0, "FOLDER", "put the traces of all processes into this folder, by a collector that runs meanwhile"
    };
    list[ws_option_count + 1] =
        (struct tool_switch){ "flight", 0, "TIME",
                              "with --job: write no traces, but keep the last TIME of each until wallshim ctl dump" };
    list[ws_option_count + 2] =
        (struct tool_switch){ "slow-step", 0, "K", "with --flight: write them when a step takes K times the median" };
    *count = ws_option_count + 3;
    return list;
}

static const char *record_old_name(const char *name)
{
    const struct ws_option_old_name *old = ws_option_old_name(name);
    return old ? old->old_name : NULL;
}

static int set_variables(const struct tool_arguments *arguments)
{
    struct ws_options scratch;
    char takes[128];
    for (size_t i = 0; i < ws_option_count; i++) {
        const struct ws_option_info *info = &ws_option_table[i];
        const char *value = arguments->values[i];
        if (!value)
            continue;
        if (info->kind == WS_OPTION_FLAG)
            value = strcmp(info->fallback, "1") ? "1" : "0";
        if (ws_option_set(&scratch, info, value))
            return tool_error("--%s %s: give %s", info->name, value, ws_option_takes(info, takes, sizeof(takes)));
        if (setenv(info->variable, value, 1))
            return tool_error("out of memory");
    }
    return 0;
}

static bool record_is_given(const struct tool_arguments *arguments, const char *name)
{
    return tool_value(arguments, name) != NULL;
}

/* Says which of the given switches have no effect on events because of the value of another one. --overhead still
 * bounds what Python stacks cost. */
static void say_what_has_no_effect(const struct tool_arguments *arguments)
{
#define WORD(name, word) word,
    static const char *const placements[] = { WS_EVENT_PLACEMENTS(WORD) };
#undef WORD
    static const struct {
        const char *name;
        uint32_t placement; /* the only --event-placement with which the switch has an effect */
    } switches[] = { { "overhead", WS_EVENTS_SAMPLED },
                     { "gate", WS_EVENTS_SAMPLED },
                     { "sample", WS_EVENTS_SHARED } };
    const struct ws_option_info *bad;
    struct ws_options options;
    ws_options_from_environment(&options, &bad);
    bool host = options.backend == WS_BACKEND_HOST;
    if (host && record_is_given(arguments, "event-placement"))
        tool_say("--event-placement has no effect with --backend host");
    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
        if (record_is_given(arguments, switches[i].name) &&
            (host || options.event_placement != switches[i].placement))
            tool_say("--%s has no effect on events with %s %s", switches[i].name,
                     host ? "--backend" : "--event-placement", host ? "host" : placements[options.event_placement]);
}

static int set_preload(const char *library)
{
    const char *others = getenv("LD_PRELOAD");
    char *value;
    if (asprintf(&value, "%s%s%s", library, others && *others ? ":" : "", others ? others : "") < 0)
        return tool_error("out of memory");
    int status = setenv("LD_PRELOAD", value, 1) ? tool_error("out of memory") : 0;
    free(value);
    return status;
}

/* Makes NVTX pass the program's ranges to the shim, unless NVTX is already set to pass them to another tool. */
static int set_injection(const char *library)
{
    const char *wanted = getenv("WALLSHIM_NVTX");
    if (wanted && !strcmp(wanted, "0"))
        return 0;
    return setenv("NVTX_INJECTION64_PATH", library, 0) ? tool_error("out of memory") : 0;
}

static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT };

/* Blocks the signals in this process, so that wait_for can receive them with sigwaitinfo. Ignored signals, such as
 * SIGHUP under nohup, stay ignored for the command. */
static void hold_signals(sigset_t *held, sigset_t *before)
{
    sigemptyset(held);
    sigaddset(held, SIGCHLD);
    for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
        sigaddset(held, forwarded[i]);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_BLOCK, held, before);
}

/* Did the command already get the signal? It did if the signal was sent to our whole process group (witness.h) and
 * the command is in that group.
 */
static bool reached(pid_t child, pid_t *witness, int number, const sigset_t *held)
{
    if (!witness_got(*witness, number))
        return false;
    witness_end(*witness); /* the signal stays pending in this witness, so a new witness is needed */
    *witness = witness_start(held);
    return getpgid(child) == getpgrp();
}

/* Passes signals on to the command until it has ended. A signal to the whole process group reaches the command
 * anyway. A signal to this process alone must be passed on. */
static int wait_for(pid_t child, const sigset_t *held)
{
    siginfo_t info;
    int status;
    pid_t witness = witness_start(held);
    while (waitpid(child, &status, WNOHANG) != child) {
        int number = sigwaitinfo(held, &info);
        if (number > 0 && number != SIGCHLD && info.si_code <= 0 && !reached(child, &witness, number, held))
            kill(child, number);
    }
    witness_end(witness);
    return WIFSIGNALED(status) ? BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Runs the command in the child process. Never returns. On failure, writes the errno into the pipe `failure`. */
static void exec_command(char **command, int failure, const sigset_t *mask)
{
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(command[0], command);
    int error = errno;
    ssize_t ignored = write(failure, &error, sizeof(error));
    (void)ignored;
    _exit(error == ENOENT ? NOT_FOUND : NOT_RUNNABLE);
}

/* Runs the command to its end. Returns its status. Sets *error to 0, or to the errno if the command could not be
 * started. */
static int run_command(char **command, int *error)
{
    int pipes[2];
    sigset_t held, before;
    *error = 0;
    if (pipe2(pipes, O_CLOEXEC)) {
        *error = errno;
        return NOT_RUNNABLE;
    }
    hold_signals(&held, &before);
    pid_t child = fork();
    if (!child)
        exec_command(command, pipes[1], &before);
    close(pipes[1]);
    if (child < 0)
        *error = errno;
    else if (read(pipes[0], error, sizeof(*error)) != (ssize_t)sizeof(*error))
        *error = 0;
    close(pipes[0]);
    return child < 0 ? NOT_RUNNABLE : wait_for(child, &held);
}

/* The handler of SIGALRM. Drops all further output: stderr becomes /dev/null. */
static void say_no_more(int number)
{
    (void)number;
    int error = errno, nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO);
    errno = error;
}

/* Makes all output of this process stop after one second, because stderr may be a pipe that nobody reads. A write
 * must not wait forever, and SIGPIPE must not end this process: it still has to return the command's status. The
 * command has already ended, so it does not inherit these signal settings. */
static void say_within_a_second(void)
{
    const struct itimerval second = { .it_value.tv_sec = 1, .it_interval.tv_usec = 100000 };
    const struct sigaction action = {
        .sa_handler = say_no_more
    }; /* without SA_RESTART, so that the signal interrupts a waiting write */
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGALRM, SIG_IGN); /* drops a pending SIGALRM that was meant for the command */
    sigaction(SIGALRM, &action, NULL);
    sigprocmask(SIG_UNBLOCK, &alarm, NULL);
    setitimer(ITIMER_REAL, &second, NULL);
}

/* Returns the name of the job that the traces of the command belong to. The shim finds the name by the same rule
 * (shim/drain/collector_link.c). */
static const char *job_name(void)
{
    static char name[64];
    static const char *const variables[] = { "SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", WS_RECORDING };
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]) && !*name; i++) {
        const char *value = getenv(variables[i]);
        if (value)
            snprintf(name, sizeof(name), "%.*s", (int)strcspn(value, "/"), value);
    }
    return name;
}

static void say_no_trace(const struct tool_outputs *outputs, const char *command)
{
    const char *why = tool_why_nothing(command);
    int hindrance = tool_outputs_hindrance(outputs);
    const char *collector = getenv("WALLSHIM_COLLECTOR"), *start = getenv("WALLSHIM_START");
    if (collector && *collector && !why)
        tool_say("no trace was written here; the collector at %s has it, if the command used a CUDA device: job %s, "
                 "if it names none itself",
                 collector, job_name());
    else if (why)
        tool_say("no trace was written: %s", why);
    else if (hindrance)
        tool_say("no trace was written: %s: %s", outputs->folder, strerror(hindrance));
    else if (start && !strcmp(start, "off"))
        tool_say("no trace was written here: the traces of a program that sleeps are where wallshim attach ran");
    else
        tool_say("no trace was written: the command used no CUDA device, or could not write one");
}

/* Prints a path as a shell word. Puts "./" before a path that begins with '-', because it would be read as a
 * switch. */
static void put_word(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./%+=:,@-";
    const char *here = *path == '-' ? "./" : "";
    if (!path[strspn(path, plain)]) {
        tool_put(" %s%s", here, path);
        return;
    }
    tool_put(" %s'", here);
    for (size_t length; length = strcspn(path, "'"), path[length]; path += length + 1)
        tool_put("%.*s'\\''", (int)length, path);
    tool_put("%s'", path);
}

/* Prints which traces were recorded. `job` is the folder of --job; "" without that switch. */
static void say_traces(struct tool_outputs *outputs, const char *command, const char *job)
{
    size_t count = tool_outputs_find_new(outputs);
    say_within_a_second();
    if (count && *job) {
        tool_put("wallshim: wrote %zu trace%s; next: wallshim report", count, count == 1 ? "" : "s");
        put_word(job);
        fputc('\n', stderr);
    } else if (count) {
        if (count == 1)
            tool_put("wallshim: wrote %s; next: wallshim report", outputs->paths[0]);
        else
            tool_put("wallshim: wrote %zu traces; next: wallshim report", count);
        for (size_t i = 0; i < count; i++)
            put_word(outputs->paths[i]);
        fputc('\n', stderr);
    } else {
        say_no_trace(outputs, command);
    }
}

static int record_run(const struct tool_arguments *arguments)
{
    char library[4096];
    struct tool_outputs outputs;
    int error;
    if (!arguments->operand_count)
        return tool_error("record: give the command to run, as in: wallshim record -- python train.py");
    struct tool_job job = { 0 };
    const char *folder = tool_value(arguments, "job");
    const char *flight = tool_value(arguments, "flight"), *slow_step = tool_value(arguments, "slow-step");
    int status = set_variables(arguments);
    if (!status)
        say_what_has_no_effect(arguments);
    if (!status)
        status = tool_find_library(library, sizeof(library));
    if (!status && folder)
        status = tool_job_start(&job, folder, flight, slow_step);
    else if (!status && (flight || slow_step))
        status = tool_error("--%s: this is for the collector of --job; give --job FOLDER as well",
                            flight ? "flight" : "slow-step");
    if (!status)
        status = tool_outputs_init(&outputs, getenv("WALLSHIM_OUTPUT"));
    if (!status)
        status = set_preload(library);
    if (!status)
        status = set_injection(library);
    if (status) {
        tool_job_end(&job);
        return status;
    }
    int result = run_command(arguments->operands, &error);
    tool_job_end(&job);
    if (error) {
        say_within_a_second();
        tool_error("%s: cannot be run: %s", arguments->operands[0], strerror(error));
    } else if (flight) {
        say_within_a_second();
        tool_say("--flight writes no traces; dumps, if there were any, are in %s", job.folder);
    } else {
        say_traces(&outputs, arguments->operands[0], job.folder);
    }
    tool_outputs_finish(&outputs);
    return result;
}

const struct tool_command tool_record = {
    .name = "record",
    .operands = "[--] COMMAND…",
    .summary = "run a command and record what it does with its GPUs",
    .text =
        "Runs the command with libwallshim.so preloaded. Each of its processes that uses CUDA writes one trace. "
        "Exits "
        "with the command's own status, or with 128 + the number of the signal that ended it.\n"
        "Each switch sets an environment variable of the same meaning. TIME is 500ms, 2s, 1m or a number of seconds. "
        "SIZE is 64K, 2G or a number of bytes.",
    .switches = record_switches,
    .old_name = record_old_name,
    .passes_on = true,
    .run = record_run,
};
