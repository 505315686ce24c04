/* Finds the traces that a recording left. */
#ifndef WALLSHIM_TOOLS_OUTPUTS_H
#define WALLSHIM_TOOLS_OUTPUTS_H

#include <stddef.h>

#include "wire/options.h"

struct tool_outputs {
    char recording[WS_RECORDING_SIZE]; /* name of this recording, which its traces contain; empty: no name */
    char *pattern;                     /* pattern for glob(3) that matches the traces */
    char *counted;                     /* pattern for names with a counter: "NAME-1.wst" */
    char **before;                     /* files that matched before the command ran */
    size_t before_count;
    char folder[4096]; /* folder of the traces; empty: its path has '%' sequences that only the shim can replace */
    char **paths;      /* matching files that are not in `before` */
    size_t count;
};

/* Lists the existing files, and passes the command a name for the recording in the environment variable
 * WS_RECORDING. `name` is the value of WALLSHIM_OUTPUT, NULL for the default. Returns 0, or TOOL_ERROR after a line
 * on stderr. */
int tool_outputs_init(struct tool_outputs *outputs, const char *name);

/* Finds the new files. Leaves out traces of other recordings that write to the same folder. Returns the number of
 * files found. */
size_t tool_outputs_find_new(struct tool_outputs *outputs);

/* Returns 0 if the folder can be written to, else the errno that says why not. */
int tool_outputs_hindrance(const struct tool_outputs *outputs);

void tool_outputs_finish(struct tool_outputs *outputs);

#endif
