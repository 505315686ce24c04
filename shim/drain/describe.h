/* What the trace says about the program: its command line, environment, libraries, driver, and the options that it is
 * recorded with. */
#ifndef WALLSHIM_SHIM_DRAIN_DESCRIBE_H
#define WALLSHIM_SHIM_DRAIN_DESCRIBE_H

#include "shim/drain/output.h"

/* Called in a thread of the program: keeps a copy of the environment variables that the trace will hold. */
void describe_keep_environment(void);

/* Called by the drain when a trace begins: adds these facts about the program as rows of the family `meta`. rank: the
 * process's rank. */
void describe_program(struct output *output, const char *rank);

#endif
