/* libwallshim.so, and why it may not have been loaded. */
#ifndef WALLSHIM_TOOLS_LIBRARY_H
#define WALLSHIM_TOOLS_LIBRARY_H

#include <stddef.h>

/* WALLSHIM_LIBRARY, else where it lies beside this program, installed or in a build tree. Returns 0, or
 * TOOL_ERROR after a line on stderr. */
int tool_find_library(char *path, size_t capacity);

/* Why nothing can be loaded into a command, or NULL. */
const char *tool_why_nothing(const char *command);

#endif
