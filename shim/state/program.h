/* The program's name and arguments when the shim was loaded. Programs write over them later to show a title of their
 * own. */
#ifndef WALLSHIM_SHIM_STATE_PROGRAM_H
#define WALLSHIM_SHIM_STATE_PROGRAM_H

#include <stddef.h>

/* Without its folder. */
const char *program_name(void);

/* All arguments, each zero-terminated. If they are longer than 16 KiB in all, the last ones are missing. */
const char *program_arguments(size_t *size);

#endif
