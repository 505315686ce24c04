/* Finds out whether CUDA calls go around the shim. These ways can be seen: libraries bound to the driver itself
 * (RTLD_DEEPBIND); a second copy of the driver (dlmopen, or a file of another name); a library in front of the shim
 * that answers dlsym and never asks the shim. Look-ups within a namespace of dlmopen cannot be seen. */
#ifndef WALLSHIM_SHIM_HOOK_BYPASS_H
#define WALLSHIM_SHIM_HOOK_BYPASS_H

#include <stdbool.h>
#include <stdint.h>

/* How many look-ups went around the shim, as far as can be seen now. Slow, as it reads the loader's lists and
 * /proc/self/maps: for the end of a recording. */
uint64_t bypass_count(void);

/* At the end of a process that left no trace: warns where CUDA was loaded and look-ups went around the shim. */
void bypass_say(void);

#endif
