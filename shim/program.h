/* What the program was when the shim was loaded into it: its name and its arguments, which programs write over later
 * to show a title of their own. */
#ifndef WALLSHIM_SHIM_PROGRAM_H
#define WALLSHIM_SHIM_PROGRAM_H

#include <stddef.h>

/* Without its folder. */
const char *program_name(void);

/* "argument" after "argument", each with its zero; the last ones are missing where they are longer than 16 KiB. */
const char *program_arguments(size_t *size);

#endif
