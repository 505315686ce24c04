/* The traces that a recording left behind. */
#ifndef WALLSHIM_TOOLS_OUTPUTS_H
#define WALLSHIM_TOOLS_OUTPUTS_H

#include <stddef.h>

struct tool_outputs {
    char *pattern; /* for glob(3) */
    char **before; /* what matched before the command ran */
    size_t before_count;
    char **paths; /* what is new since */
    size_t count;
};

/* name is WALLSHIM_OUTPUT's value, NULL for the default. Returns 0, or TOOL_ERROR after a line. */
int tool_outputs_init(struct tool_outputs *outputs, const char *name);

size_t tool_outputs_find_new(struct tool_outputs *outputs);

void tool_outputs_finish(struct tool_outputs *outputs);

#endif
