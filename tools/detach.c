#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach/client.h"
#include "command.h"
#include "target.h"

enum { LOOKS = 200, LOOK_NS = 50000000 }; /* 200 checks, one every 50 ms: ten seconds in all */

static const struct tool_switch *detach_switches(size_t *count)
{
    *count = 0;
    return NULL;
}

/* Sends a request to the shim in the process, over a new connection. Returns the kind of the answer, or -1 after a
 * line on stderr. */
static int ask(const struct ws_process_facts *process, enum ws_attach_kind kind)
{
    static struct ws_attach_message message;
    int socket = tool_target_connect("detach", process);
    if (socket < 0)
        return -1;
    message = (struct ws_attach_message){ .kind = (uint16_t)kind };
    int error = ws_client_ask(socket, &message, -1);
    close(socket);
    if (error || message.kind == WS_ATTACH_REFUSED) {
        tool_error("detach %d: %s", process->pid,
                   error == -ECONNRESET ? "nobody records it any more"
                   : error              ? strerror(-error)
                                        : message.text);
        return -1;
    }
    return message.kind;
}

/* Is the process still recorded? If `wallshim attach` has loaded the shim (the library that records), the shim stops
 * listening when the recording is over. */
static bool is_awake(const struct ws_process_facts *process)
{
    static struct ws_attach_message message;
    int socket = ws_client_connect(process);
    if (socket < 0)
        return socket == -EAGAIN;
    message = (struct ws_attach_message){ .kind = WS_ATTACH_STATUS };
    int error = ws_client_ask(socket, &message, -1);
    close(socket);
    return !error && message.kind == WS_ATTACH_AWAKE;
}

static int detach_run(const struct tool_arguments *arguments)
{
    struct ws_process_facts process;
    int status = tool_target("detach", arguments, &process);
    if (status)
        return status;
    int state = ask(&process, WS_ATTACH_END);
    if (state == WS_ATTACH_ASLEEP)
        return tool_error("detach %d: nobody records it", process.pid);
    for (unsigned look = 0; state == WS_ATTACH_AWAKE && look < LOOKS; look++) {
        nanosleep(&(struct timespec){ 0, LOOK_NS }, NULL);
        if (!is_awake(&process))
            return TOOL_DONE;
    }
    return state == WS_ATTACH_AWAKE ? tool_error("detach %d: it does not end", process.pid) : TOOL_ERROR;
}

const struct tool_command tool_detach = {
    .name = "detach",
    .operands = "PID",
    .summary = "end the recording that wallshim attach began",
    .text = "Returns when the recording has ended. wallshim attach then says where the trace is.",
    .switches = detach_switches,
    .run = detach_run,
};
