/* The traces that a recording left behind. */
#ifndef WALLSHIM_TOOLS_OUTPUTS_H
#define WALLSHIM_TOOLS_OUTPUTS_H

#include <stddef.h>

#include "wire/options.h"

struct tool_outputs {
    char recording[WS_RECORDING_SIZE]; /* what the traces of the command say; empty: nothing */
    char *pattern;                     /* for glob(3) */
    char *counted;                     /* the same for names that were counted up */
    char **before;                     /* what matched before the command ran */
    size_t before_count;
    char folder[4096]; /* where traces go; empty: their name says it only once they are written */
    char **paths;      /* what is new since */
    size_t count;
};

/* Lists what is there, and names what the command will write by the variable WS_RECORDING. name is WALLSHIM_OUTPUT's
 * value, NULL for the default. Returns 0, or TOOL_ERROR after a line. */
int tool_outputs_init(struct tool_outputs *outputs, const char *name);

/* Those that came since, without the ones that say that another recording in the folder wrote them. */
size_t tool_outputs_find_new(struct tool_outputs *outputs);

/* errno of why nothing can be written to the folder, or 0. */
int tool_outputs_hindrance(const struct tool_outputs *outputs);

void tool_outputs_finish(struct tool_outputs *outputs);

#endif
