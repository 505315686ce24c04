/* Which trace files a command line means. */
#ifndef WALLSHIM_TOOLS_TRACES_H
#define WALLSHIM_TOOLS_TRACES_H

#include <stddef.h>

#include "command.h"

struct tool_traces {
    char **paths;
    size_t count;
    bool *found; /* in a folder: not asked for by its own name */
};

/* Files as they are; folders as the traces of ours in them, or, where there are none, those of other
 * profilers; nothing at all as the newest trace in the current
 * folder, which is then named on stderr. Returns 0, or TOOL_ERROR after a line on stderr. */
int tool_find_traces(struct tool_traces *traces, const struct tool_arguments *arguments);

/* The same for one path. */
int tool_find_traces_at(struct tool_traces *traces, const char *path);

/* May the command do without a trace that cannot be read? If so says on stderr that it is left out, and why: a line
 * that names the file. What was asked for by its name, or is the only one, is wanted. */
bool tool_trace_left_out(const struct tool_traces *traces, size_t index, const char *why);

void tool_traces_finish(struct tool_traces *traces);

/* The one trace that a command takes. */
int tool_find_trace(struct tool_traces *traces, const struct tool_arguments *arguments);

#endif
