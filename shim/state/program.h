/* The program's name and arguments, as they were when the shim was loaded. Later the program may overwrite them, to
 * show a process title of its own. */
#ifndef WALLSHIM_SHIM_STATE_PROGRAM_H
#define WALLSHIM_SHIM_STATE_PROGRAM_H

#include <stddef.h>

/* The program's file name, without its folder. */
const char *program_name(void);

/* All arguments of the program, each zero-terminated. *size: number of bytes of all arguments together. If they have
 * more than 16 KiB in all, the last arguments are missing. */
const char *program_arguments(size_t *size);

/* The path in NVTX_INJECTION64_PATH, if it names another library than the shim. That library, and not the shim, gets
 * the program's NVTX ranges. "": the variable names no other library. */
const char *program_other_injection(void);

#endif
