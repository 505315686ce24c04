/* The program's name and arguments, as they were when the shim was loaded. Later the program may overwrite them, to
 * show a process title of its own. */
#ifndef WALLSHIM_SHIM_STATE_PROGRAM_H
#define WALLSHIM_SHIM_STATE_PROGRAM_H

#include <stddef.h>

/* The program's file name, without its folder. */
const char *program_name(void);

/* All arguments of the program, each zero-terminated; *size: their bytes. If they have more than 16 KiB in all, the
 * last ones are missing. */
const char *program_arguments(size_t *size);

/* The library that gets the program's NVTX ranges in place of the shim; "": none. */
const char *program_other_injection(void);

#endif
