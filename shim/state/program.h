/* The program's name and arguments, as they were when the shim was loaded. Later the program may overwrite them, to
 * show a process title of its own. */
#ifndef WALLSHIM_SHIM_STATE_PROGRAM_H
#define WALLSHIM_SHIM_STATE_PROGRAM_H

#include <stddef.h>

/* The program's file name, without its folder. */
const char *program_name(void);

/* All arguments, each zero-terminated. If they are longer than 16 KiB in all, the last ones are missing. */
const char *program_arguments(size_t *size);

#endif
