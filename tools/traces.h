/* Finds the trace files that a command line names. */
#ifndef WALLSHIM_TOOLS_TRACES_H
#define WALLSHIM_TOOLS_TRACES_H

#include <stddef.h>

#include "command.h"

struct tool_traces {
    char **paths; /* paths for messages, as the user knows them */
    char **files; /* files to open: the path itself, or a temporary file that was copied or unpacked from it */
    size_t count;
    bool *found; /* found[i]: true if the trace was found in a folder, false if the command line names it */
};

/* Finds the traces of all operands. In a folder or an archive, finds wallshim's traces; if there are none, those of
 * other profilers. "-" is standard input. Pipes are copied and packed files unpacked (unpack.h). Without operands,
 * finds the newest trace in the current folder and prints its name on stderr. Returns 0, or TOOL_ERROR after a line
 * on stderr. */
int tool_find_traces(struct tool_traces *traces, const struct tool_arguments *arguments);

/* Like tool_find_traces, for one path. */
int tool_find_traces_at(struct tool_traces *traces, const char *path);

/* May the command leave out this unreadable trace? If so, prints its name and the reason on stderr. A trace must not
 * be left out if the command line names it, or if it is the only trace. */
bool tool_trace_left_out(const struct tool_traces *traces, size_t index, const char *why);

/* A paragraph for help texts: the forms that a TRACE can have. */
#define TOOL_TRACES_TEXT                                                                                        \
    "A trace may also be - (standard input) or a pipe, packed by gzip, zstd, xz or bzip2, or an archive (tar, " \
    "zip), "                                                                                                    \
    "which is read as a folder is. Contents decide what a file is, not names."

void tool_traces_finish(struct tool_traces *traces);

/* Finds the trace for a command that takes only one. */
int tool_find_trace(struct tool_traces *traces, const struct tool_arguments *arguments);

#endif
