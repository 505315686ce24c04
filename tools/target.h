/* Finds the process that `wallshim attach`, `detach` or `doctor` is to act on, and connects to the shim (the library
 * that records) in it. */
#ifndef WALLSHIM_TOOLS_TARGET_H
#define WALLSHIM_TOOLS_TARGET_H

#include "attach/process.h"
#include "command.h"
#include "wire/attach.h"

/* Reads the process id from the command's operands. Returns 0, or TOOL_ERROR after a line on stderr. */
int tool_target(const char *command, const struct tool_arguments *arguments, struct ws_process_facts *process);

/* Connects to the shim in the process. Returns the socket, or -1 after a line on stderr. */
int tool_target_connect(const char *command, const struct ws_process_facts *process);

/* Can the process be attached to? Changes nothing in the process. Returns 0, or TOOL_ERROR after a line on stderr. */
int tool_target_check(const struct ws_process_facts *process);

/* Like tool_target_connect, but if no shim listens in the process, first loads a shim into it. In this case, stores
 * in *message the token that the shim expects in the message BEGIN. */
int tool_target_attach(const struct ws_process_facts *process, struct ws_attach_message *message);

/* Loads the shim into the process if no shim listens there. Does not connect. The caller must call tool_target_attach
 * soon, because a shim that was just loaded waits only five seconds for a connection. Returns 0, or TOOL_ERROR after
 * a line on stderr. */
int tool_target_prepare(const struct ws_process_facts *process, struct ws_attach_message *message);

#endif
