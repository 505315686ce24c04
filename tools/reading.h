/* Reads the traces of a command line into a model (the timeline of all recorded processes, src/model). */
#ifndef WALLSHIM_TOOLS_READING_H
#define WALLSHIM_TOOLS_READING_H

#include "model/model.h"
#include "progress.h"
#include "traces.h"

struct tool_reading {
    struct tool_progress progress;
    const struct tool_traces *traces;
    struct ws_model_options options; /* options of the first reading, for reading the same traces again */
};

/* Reads the traces. Shows progress on a terminal until the caller calls tool_progress_end. Leaves out unreadable
 * traces that were found in a folder, and lists them on stderr. `references_only`: loads only the tables that
 * operations and calls refer to (streams, kernels …), but no operations or calls. On failure ends the progress,
 * prints a line on stderr and returns TOOL_ERROR. Otherwise returns 0. */
int tool_read(struct tool_reading *reading, struct ws_model **model, const struct tool_traces *traces,
              bool references_only);

/* Like tool_read, but reads only the given windows (spans of time) of traces that tool_read has read before. The
 * windows must outlive the model.
 */
int tool_read_windows(struct tool_reading *reading, struct ws_model **model, const struct ws_window *windows,
                      size_t count, bool references_only);

#endif
