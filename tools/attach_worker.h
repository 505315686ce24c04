/* `wallshim attach --all` forks a child for each process that it attaches to: a worker. The workers attach at the
 * same time, so a process that takes long does not delay the others.
 *
 * A worker reports its state over a socket, in struct tool_worker_word. After it has reported READY, the worker waits
 * until the command sends a uint64_t, the duration in ns. So the command can let all recordings begin at the same
 * time. A worker that fails prints the reason on stderr and ends. On SIGTERM, the worker ends the recording. The
 * kernel also sends SIGTERM to the worker when the command dies. */
#ifndef WALLSHIM_TOOLS_ATTACH_WORKER_H
#define WALLSHIM_TOOLS_ATTACH_WORKER_H

#include <signal.h>
#include <sys/types.h>

#include "attach_session.h"

enum tool_worker_state {
    TOOL_WORKER_PREPARES,
    TOOL_WORKER_READY,
    TOOL_WORKER_BEGINS, /* the command has sent the duration to the worker */
    TOOL_WORKER_RECORDS,
    TOOL_WORKER_ENDED,  /* the trace is complete */
    TOOL_WORKER_GONE,   /* the process has ended while it was recorded, or its worker was killed */
    TOOL_WORKER_FAILED, /* nothing was recorded */
};

struct tool_worker_word {
    enum tool_worker_state state;
    char why[64]; /* in the states ENDED and GONE: why the recording has ended */
};

struct tool_worker {
    pid_t pid; /* process id of the worker; 0: the worker is not started, or has ended */
    int socket;
};

/* Starts a worker with the signal mask `mask`. `wish` holds the value of the option `overhead`, and no duration yet.
 * Returns 0 or -errno. */
int tool_worker_start(struct tool_worker *worker, const sigset_t *mask, const struct ws_process_facts *process,
                      const struct tool_trace_file *file, const struct ws_attach_message *wish);

/* Waits for a message of the worker. If the worker has ended instead, reaps it and returns false. */
bool tool_worker_hear(struct tool_worker *worker, struct tool_worker_word *word);

void tool_worker_release(const struct tool_worker *worker, uint64_t duration_ns);

#endif
