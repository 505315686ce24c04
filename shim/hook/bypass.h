/* Ways around the shim that can be seen: libraries bound to the driver itself (RTLD_DEEPBIND), drivers that were
 * loaded once more (dlmopen, or a file of another name), and a library in front of us that answers dlsym and never
 * asks us. What a library in a namespace of its own asks there cannot be seen. */
#ifndef WALLSHIM_SHIM_HOOK_BYPASS_H
#define WALLSHIM_SHIM_HOOK_BYPASS_H

#include <stdbool.h>
#include <stdint.h>

/* Look-ups that went around the shim, as far as can be seen now. Reads the loader's lists and /proc/self/maps: for
 * the end of a recording. */
uint64_t bypass_count(void);

/* At the end of a process that left no trace: warns where CUDA was loaded and look-ups went around the shim. */
void bypass_say(void);

#endif
