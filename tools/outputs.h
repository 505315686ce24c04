/* Finds the traces that the command of `wallshim record` has written. */
#ifndef WALLSHIM_TOOLS_OUTPUTS_H
#define WALLSHIM_TOOLS_OUTPUTS_H

#include <stddef.h>

#include "wire/options.h"

struct tool_outputs {
    char recording[WS_RECORDING_SIZE]; /* name of this recording, which is also in its traces; empty: no name */
    char *pattern;                     /* pattern for glob(3) that matches the traces */
    char *counted;                     /* pattern for names with a counter: "NAME-1.wst" */
    char **before;                     /* files that matched a pattern before the command ran */
    size_t before_count;
    char folder[4096]; /* folder of the traces; empty: its path has '%' sequences that only the shim can replace */
    char **paths;      /* matching files that are not in `before` */
    size_t count;
};

/* To be called before the command runs. Lists the files that match already. Gives this recording a name, and passes
 * the name to the command in the environment variable WS_RECORDING. `name` is the value of WALLSHIM_OUTPUT; NULL: the
 * default. Returns 0, or TOOL_ERROR after a line on stderr. */
int tool_outputs_init(struct tool_outputs *outputs, const char *name);

/* To be called after the command. Finds the files that are new. Leaves out the traces of other recordings that write
 * to the same folder. Returns the number of files found. */
size_t tool_outputs_find_new(struct tool_outputs *outputs);

/* Returns 0 if the folder can be written to, else the errno that says why not. */
int tool_outputs_hindrance(const struct tool_outputs *outputs);

void tool_outputs_finish(struct tool_outputs *outputs);

#endif
