#include "attach_session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"

enum { NAMES_TRIED = 1000, LOOK_MS = 500 /* time between two looks at a process that is recorded */ };

/* --- the trace's file ------------------------------------------------------------------------------ */

void tool_process_stem(const struct ws_process_facts *process, char *stem, size_t capacity)
{
    snprintf(stem, capacity, "%s-%d", process->name, process->pid);
    for (char *at = stem; *at; at++)
        if (*at == '/' || *at < ' ' || (at == stem && *at == '.'))
            *at = '_';
}

/* Writes the path of the trace's file to file->path. Returns whether the path fits there. */
static bool name_trace_file(const struct ws_process_facts *process, const char *folder, const char *wanted,
                            unsigned attempt, struct tool_trace_file *file)
{
    char stem[sizeof(process->name) + 16], number[16] = "";
    size_t length = wanted ? strlen(wanted) : 0;
    bool ends = length > 4 && !strcmp(wanted + length - 4, ".wst");
    int size;
    tool_process_stem(process, stem, sizeof(stem));
    if (attempt)
        snprintf(number, sizeof(number), "-%u", attempt);
    if (wanted)
        size = snprintf(file->path, sizeof(file->path), "%.*s%s%s", (int)(ends ? length - 4 : length), wanted, number,
                        ends ? ".wst" : "");
    else
        size = snprintf(file->path, sizeof(file->path), "%s%s%s%s.wst", folder, *folder ? "/" : "", stem, number);
    return size < (int)sizeof(file->path);
}

int tool_trace_file_create(const struct ws_process_facts *process, const char *folder, const char *wanted,
                           struct tool_trace_file *file)
{
    errno = ENAMETOOLONG;
    for (unsigned attempt = 0; attempt < NAMES_TRIED; attempt++) {
        if (!name_trace_file(process, folder, wanted, attempt, file))
            break;
        file->fd = open(file->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file->fd >= 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    return tool_error("attach: %s: %s", file->path, strerror(errno));
}

off_t tool_trace_file_size(const struct tool_trace_file *file)
{
    struct stat about;
    return stat(file->path, &about) ? 0 : about.st_size;
}

/* --- the session ----------------------------------------------------------------------------------- */

int tool_watch_end(void)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    return signalfd(-1, &ends, SFD_CLOEXEC);
}

int tool_session_begin(const struct ws_process_facts *process, int socket, const struct tool_trace_file *file,
                       const struct ws_attach_message *wish)
{
    static struct ws_attach_message message;
    message = *wish;
    message.kind = WS_ATTACH_BEGIN;
    snprintf(message.text, sizeof(message.text), "%s", file->path);
    int error = ws_client_ask(socket, &message, file->fd);
    if (error == -ECONNRESET || error == -EPIPE)
        return TOOL_AGAIN;
    if (error || message.kind != WS_ATTACH_BEGUN)
        return tool_error("attach %d: %s", process->pid, error ? strerror(-error) : message.text);
    return 0;
}

/* Sends END, which asks the shim (the library that records) to end the recording. Sends it only once: if the shim
 * closed the connection with a second message unread, the shim's last message would be lost. */
static void tell_end(int socket, bool *told)
{
    static struct ws_attach_message message;
    message = (struct ws_attach_message){ .kind = WS_ATTACH_END };
    if (!*told)
        ws_attach_send(socket, &message, -1);
    *told = true;
}

/* Tells the user once if the process was stopped at two looks, one after the other. */
static void say_if_stopped(int pid, unsigned *seen)
{
    struct ws_process_facts now;
    bool stopped = !ws_process_look(pid, &now) && ws_process_is_stopped(&now);
    *seen = stopped ? *seen + 1 : 0;
    if (*seen == 2)
        tool_say("%s (%d) is stopped: the recording cannot end before kill -CONT %d lets it go on", now.name, pid,
                 pid);
}

const char *tool_session_wait(const struct ws_process_facts *process, int socket, int signals)
{
    static struct ws_attach_message message;
    unsigned stopped = 0;
    for (bool told = false;;) {
        struct pollfd polled[] = { { .fd = socket, .events = POLLIN }, { .fd = signals, .events = POLLIN } };
        struct signalfd_siginfo info;
        int came;
        int ready = poll(polled, 2, LOOK_MS);
        if (ready < 0 && errno != EINTR)
            return NULL;
        if (!ready)
            say_if_stopped(process->pid, &stopped);
        if (ready <= 0)
            continue;
        if (polled[1].revents & POLLIN && read(signals, &info, sizeof(info)) > 0)
            tell_end(socket, &told);
        if (!polled[0].revents)
            continue;
        if (ws_attach_receive(socket, &message, &came))
            return NULL;
        if (message.kind == WS_ATTACH_ENDED)
            return message.text;
    }
}
