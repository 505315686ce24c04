/* Distinguishes files of the program's own code from files of installed packages, libraries and the interpreter. */
#ifndef WALLSHIM_MODEL_OWN_CODE_H
#define WALLSHIM_MODEL_OWN_CODE_H

#include <stdbool.h>
#include <stddef.h>

/* Is the file the program's own? `path` need not be zero-terminated. */
bool ws_is_own_file(const char *path, size_t length);

/* Like ws_is_own_file, for native code: the path of a module (program, shared library) or of a source file. */
bool ws_is_own_module(const char *path, size_t length);

#endif
