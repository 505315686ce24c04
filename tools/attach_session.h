/* Records a running process: creates the trace's file, and has the shim in the process write into it for a time,
 * which is called a session. */
#ifndef WALLSHIM_TOOLS_ATTACH_SESSION_H
#define WALLSHIM_TOOLS_ATTACH_SESSION_H

#include <sys/types.h>

#include "attach/client.h"

struct tool_trace_file {
    char path[WS_ATTACH_TEXT];
    int fd;
};

enum { TOOL_AGAIN = -1 };

/* Writes "NAME-PID" of the process, without characters that a file name cannot have. */
void tool_process_stem(const struct ws_process_facts *process, char *stem, size_t capacity);

/* Creates FOLDER/NAME-PID.wst, or the file `wanted` if that is not NULL. `folder`: "" is the current folder. If the
 * file exists, creates another one, such as NAME-PID-1.wst. Returns 0, or TOOL_ERROR after a line on stderr. */
int tool_trace_file_create(const struct ws_process_facts *process, const char *folder, const char *wanted,
                           struct tool_trace_file *file);

/* Returns the file's size in bytes; 0: nothing was written. */
off_t tool_trace_file_size(const struct tool_trace_file *file);

/* Blocks the signals that end a recording, and returns a signalfd for them. */
int tool_watch_end(void);

/* Begins a session that writes into the file, over a connection to the process. `wish` holds the duration, the value
 * of the option `overhead`, and the token that a shim loaded by attach expects. Returns 0; TOOL_AGAIN: the shim has
 * closed the connection, because an earlier session has just ended; or TOOL_ERROR after a line on stderr. */
int tool_session_begin(const struct ws_process_facts *process, int socket, const struct tool_trace_file *file,
                       const struct ws_attach_message *wish);

/* Waits for the session's end. Ends the session when a signal comes. Returns why the session has ended, in a static
 * buffer; NULL: the connection was lost, so the process has probably ended. */
const char *tool_session_wait(int socket, int signals);

#endif
