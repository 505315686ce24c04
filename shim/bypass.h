/* Ways around the shim that leave tracks: libraries bound to the driver itself (RTLD_DEEPBIND), and
 * drivers that were loaded once more (dlmopen, or a file of another name), and a library in front of us that answers
 * dlsym and never asks us. What a library in a namespace of its own asks there leaves none. */
#ifndef WALLSHIM_SHIM_BYPASS_H
#define WALLSHIM_SHIM_BYPASS_H

#include <stdbool.h>
#include <stdint.h>

/* Look-ups that went around, as far as is seen now: functions of our table that libraries have bound
 * past us, and other copies of the driver. Reads the loader's lists and /proc/self/maps: for the end of
 * a recording. */
uint64_t bypass_count(void);

/* At the end of a process that left no trace: says so where CUDA was there and what was looked up went around us. */
void bypass_say(void);

#endif
