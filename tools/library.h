/* Finds libwallshim.so, the library that records, and the reason why it cannot be loaded into a command. */
#ifndef WALLSHIM_TOOLS_LIBRARY_H
#define WALLSHIM_TOOLS_LIBRARY_H

#include <stddef.h>

/* Uses the path in WALLSHIM_LIBRARY. If this variable is not set, looks in the folders near this program, of an
 * installation or of a build tree. Returns 0, or TOOL_ERROR after a line on stderr. */
int tool_find_library(char *path, size_t capacity);

/* Returns the reason why no library can be preloaded into the command, or NULL if one can be preloaded. */
const char *tool_why_nothing(const char *command);

#endif
