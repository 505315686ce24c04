/* From the traces that a command line means to a model. */
#ifndef WALLSHIM_TOOLS_READING_H
#define WALLSHIM_TOOLS_READING_H

#include "model/model.h"
#include "progress.h"
#include "traces.h"

struct tool_reading {
    struct tool_progress progress;
    const struct tool_traces *traces;
    struct ws_model_options options; /* for further reading of the same traces, too */
};

/* Reads the traces, with progress on a terminal until that is ended. A trace that cannot be read and was only found
 * in a folder is named on stderr and left out. Returns 0, or TOOL_ERROR after a line on stderr and the progress's
 * end. */
int tool_read(struct tool_reading *reading, struct ws_model **model, const struct tool_traces *traces,
              bool references_only);

#endif
