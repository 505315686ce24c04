#ifndef WALLSHIM_TOOLS_ATTACH_ALL_H
#define WALLSHIM_TOOLS_ATTACH_ALL_H

#include "attach/process.h"
#include "wire/attach.h"

/* `wallshim attach --all`: records the launcher, if it uses CUDA, and all of its descendants that use CUDA, into one
 * folder. `folder` is the folder's path; NULL: a folder is named NAME-PID after the launcher. `wish` holds the
 * duration and the value of the option `overhead`. Returns 0, or TOOL_ERROR after a line on stderr. */
int tool_attach_all(const struct ws_process_facts *launcher, const char *folder,
                    const struct ws_attach_message *wish);

#endif
