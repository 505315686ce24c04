/* Records a running process: creates the trace's file, and has the shim (the library that records) in the process
 * write into it. A session is one such recording. */
#ifndef WALLSHIM_TOOLS_ATTACH_SESSION_H
#define WALLSHIM_TOOLS_ATTACH_SESSION_H

#include <sys/types.h>

#include "attach/client.h"

struct tool_trace_file {
    char path[WS_ATTACH_TEXT];
    int fd;
};

enum { TOOL_AGAIN = -1 }; /* the caller must attach anew; see tool_session_begin */

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

/* Begins a session: over the connection `socket`, asks the shim in the process to record into the file. `wish` holds
 * the duration, the value of the option `overhead`, and the token that the shim expects if attach has loaded it.
 * Returns 0; TOOL_AGAIN: the shim has closed the connection, because an earlier session has just ended; or TOOL_ERROR
 * after a line on stderr. */
int tool_session_begin(const struct ws_process_facts *process, int socket, const struct tool_trace_file *file,
                       const struct ws_attach_message *wish);

/* Waits until the session ends. Asks the shim to end it when a signal comes. Says so if the process is stopped,
 * because the session cannot end then. Returns why the session has ended, in a static buffer; NULL: the connection
 * was lost, so the process has probably ended. */
const char *tool_session_wait(const struct ws_process_facts *process, int socket, int signals);

#endif
