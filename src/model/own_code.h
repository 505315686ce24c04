/* Which files are the program's own code, and which belong to an installed package or to the interpreter. */
#ifndef WALLSHIM_MODEL_OWN_CODE_H
#define WALLSHIM_MODEL_OWN_CODE_H

#include <stdbool.h>
#include <stddef.h>

/* path: not zero-terminated. */
bool ws_is_own_file(const char *path, size_t length);

#endif
