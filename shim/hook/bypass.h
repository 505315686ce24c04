/* Finds out whether CUDA calls go around the shim: they reach the driver without going through a wrapper. These cases
 * are detected: libraries that are bound directly to the driver or to NCCL (RTLD_DEEPBIND); a second copy of the
 * driver (dlmopen, or a file of another name); a library in front of the shim that answers dlsym itself and never
 * calls the shim's dlsym. Not detected are look-ups by code in another linker namespace (dlmopen). */
#ifndef WALLSHIM_SHIM_HOOK_BYPASS_H
#define WALLSHIM_SHIM_HOOK_BYPASS_H

#include <stdbool.h>
#include <stdint.h>

/* Counts the cases in which CUDA calls go around the shim, as far as the shim can detect them when this function is
 * called. Called at the end of a recording. Slow: it reads the loader's lists and /proc/self/maps. */
uint64_t bypass_count(void);

/* Called at the end of a process that recorded nothing. Warns if the driver was loaded, and the program's calls of
 * dlsym did not reach the shim's dlsym. */
void bypass_say(void);

#endif
