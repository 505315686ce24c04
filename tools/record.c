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
#include "witness.h"
#include "wire/options.h"

enum { NOT_RUNNABLE = 126, NOT_FOUND = 127, BY_SIGNAL = 128 };

/* The switches are the shim's options: each sets its environment variable. An option that is on
 * unless told otherwise is switched off by --no-NAME. */
static const struct tool_switch *switches(size_t *count)
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
    *count = ws_option_count;
    return list;
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

static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT };

/* Signals wait until run_command asks for them; those that are ignored, as SIGHUP under nohup, stay so
 * for the command too. */
static void hold_signals(sigset_t *held, sigset_t *before)
{
    sigemptyset(held);
    sigaddset(held, SIGCHLD);
    for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
        sigaddset(held, forwarded[i]);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_BLOCK, held, before);
}

/* Did the signal reach the command by itself, because it was sent to the process group that both are in? */
static bool reached(pid_t child, pid_t *witness, int number, const sigset_t *held)
{
    if (!witness_got(*witness, number))
        return false;
    witness_end(*witness); /* it has the signal from now on */
    *witness = witness_start(held);
    return getpgid(child) == getpgrp();
}

/* Passes signals on until the command has ended. What the terminal or somebody sends to the process group reaches it
 * by itself; what a process sent to us does not. */
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

/* In the child: never returns. */
static void become(char **command, int failure, const sigset_t *mask)
{
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(command[0], command);
    int error = errno;
    ssize_t ignored = write(failure, &error, sizeof(error));
    (void)ignored;
    _exit(error == ENOENT ? NOT_FOUND : NOT_RUNNABLE);
}

/* Runs the command to its end. Returns its status; *error says why it could not be run, or 0. */
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
        become(command, pipes[1], &before);
    close(pipes[1]);
    if (child < 0)
        *error = errno;
    else if (read(pipes[0], error, sizeof(*error)) != (ssize_t)sizeof(*error))
        *error = 0;
    close(pipes[0]);
    return child < 0 ? NOT_RUNNABLE : wait_for(child, &held);
}

/* What we say is dropped from here on. Called where a signal interrupts a write. */
static void say_no_more(int number)
{
    (void)number;
    int error = errno, nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO);
    errno = error;
}

/* What we say must not change the status of the command: nobody may read it, or read it any more. From here on there
 * is a second for it. The command has SIGPIPE as it was: it runs already. */
static void say_within_a_second(void)
{
    const struct itimerval second = { .it_value.tv_sec = 1, .it_interval.tv_usec = 100000 };
    const struct sigaction action = { .sa_handler = say_no_more }; /* without SA_RESTART: ends a write that waits */
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGALRM, SIG_IGN); /* forgets one that was sent to us for the command */
    sigaction(SIGALRM, &action, NULL);
    sigprocmask(SIG_UNBLOCK, &alarm, NULL);
    setitimer(ITIMER_REAL, &second, NULL);
}

static void tell_nothing(const struct tool_outputs *outputs, const char *command)
{
    const char *why = tool_why_nothing(command);
    int hindrance = tool_outputs_hindrance(outputs);
    if (why)
        tool_say("no trace was written: %s", why);
    else if (hindrance)
        tool_say("no trace was written: %s: %s", outputs->folder, strerror(hindrance));
    else
        tool_say("no trace was written: the command used no CUDA device, or could not write one");
}

/* A path as a word of the shell. None begins with a '-', which would be a switch. */
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

static void tell_outputs(struct tool_outputs *outputs, const char *command)
{
    size_t count = tool_outputs_find_new(outputs);
    say_within_a_second();
    if (count) {
        if (count == 1)
            tool_put("wallshim: wrote %s; next: wallshim report", outputs->paths[0]);
        else
            tool_put("wallshim: wrote %zu traces; next: wallshim report", count);
        for (size_t i = 0; i < count; i++)
            put_word(outputs->paths[i]);
        fputc('\n', stderr);
    } else {
        tell_nothing(outputs, command);
    }
}

static int run(const struct tool_arguments *arguments)
{
    char library[4096];
    struct tool_outputs outputs;
    int error;
    if (!arguments->operand_count)
        return tool_error("record: give the command to run, as in: wallshim record -- python train.py");
    int status = set_variables(arguments);
    if (!status)
        status = tool_find_library(library, sizeof(library));
    if (!status)
        status = tool_outputs_init(&outputs, getenv("WALLSHIM_OUTPUT"));
    if (!status)
        status = set_preload(library);
    if (status)
        return status;
    int result = run_command(arguments->operands, &error);
    if (error) {
        say_within_a_second();
        tool_error("%s: cannot be run: %s", arguments->operands[0], strerror(error));
    } else {
        tell_outputs(&outputs, arguments->operands[0]);
    }
    tool_outputs_finish(&outputs);
    return result;
}

const struct tool_command tool_record = {
    .name = "record",
    .operands = "[--] COMMAND…",
    .summary = "run a command and record what it does with its GPUs",
    .text =
        "Runs the command with libwallshim.so loaded into it and writes one trace for each of its processes that "
        "uses CUDA. Answers with the command's own status, or 128 and the number of the signal that ended it. "
        "Each switch stands for an environment variable of the same meaning. TIME is written 500ms, 2s, 1m or as a "
        "number of seconds, SIZE 64K, 2G or as a number of bytes.",
    .switches = switches,
    .passes_on = true,
    .run = run,
};
