#include "attach_worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "target.h"

/* --- in the worker -------------------------------------------------------------------------------- */

static void attach_worker_tell(int socket, enum tool_worker_state state, const char *why)
{
    struct tool_worker_word word = { .state = state };
    snprintf(word.why, sizeof(word.why), "%s", why);
    send(socket, &word, sizeof(word), MSG_NOSIGNAL);
}

/* Attaches to the process, and records it until the session (the recording by the shim in it) ends. Returns 0,
 * TOOL_AGAIN (attach_session.h) or TOOL_ERROR. */
static int run_session(const struct ws_process_facts *process, int link, const struct tool_trace_file *file,
                       struct ws_attach_message *wish)
{
    int connection = tool_target_attach(process, wish);
    if (connection < 0)
        return TOOL_ERROR;
    int signals = tool_watch_end();
    int status = tool_session_begin(process, connection, file, wish);
    if (!status) {
        attach_worker_tell(link, TOOL_WORKER_RECORDS, "");
        const char *why = tool_session_wait(process, connection, signals);
        attach_worker_tell(link, why ? TOOL_WORKER_ENDED : TOOL_WORKER_GONE, why ? why : "the process has ended");
    }
    close(connection);
    close(signals);
    return status;
}

static int run_worker(const struct ws_process_facts *process, int link, const struct tool_trace_file *file,
                      struct ws_attach_message *wish)
{
    int status = tool_target_prepare(process, wish);
    if (status)
        return status;
    attach_worker_tell(link, TOOL_WORKER_READY, "");
    if (recv(link, &wish->duration_ns, sizeof(wish->duration_ns), 0) != sizeof(wish->duration_ns))
        return TOOL_ERROR;
    while ((status = run_session(process, link, file, wish)) == TOOL_AGAIN)
        ;
    return status;
}

/* --- in the command ------------------------------------------------------------------------------- */

int tool_worker_start(struct tool_worker *worker, const sigset_t *mask, const struct ws_process_facts *process,
                      const struct tool_trace_file *file, const struct ws_attach_message *wish)
{
    static struct ws_attach_message own;
    int ends[2];
    pid_t command = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return -errno;
    worker->pid = fork();
    if (!worker->pid) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        sigprocmask(SIG_SETMASK, mask, NULL);
        close(ends[0]);
        own = *wish;
        _exit(getppid() == command ? run_worker(process, ends[1], file, &own) : TOOL_ERROR);
    }
    int error = worker->pid < 0 ? -errno : 0;
    close(ends[1]);
    worker->socket = ends[0];
    if (!error)
        return 0;
    close(ends[0]);
    *worker = (struct tool_worker){ .socket = -1 };
    return error;
}

bool tool_worker_hear(struct tool_worker *worker, struct tool_worker_word *word)
{
    if (recv(worker->socket, word, sizeof(*word), 0) == sizeof(*word))
        return true;
    close(worker->socket);
    waitpid(worker->pid, NULL, 0);
    *worker = (struct tool_worker){ .socket = -1 };
    return false;
}

void tool_worker_release(const struct tool_worker *worker, uint64_t duration_ns)
{
    send(worker->socket, &duration_ns, sizeof(duration_ns), MSG_NOSIGNAL);
}
