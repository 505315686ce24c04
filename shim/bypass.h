/* Ways around the shim that leave tracks: libraries bound to the driver itself (RTLD_DEEPBIND), and
 * drivers that were loaded once more (dlmopen, or a file of another name). What such a library asks of
 * its own dlsym leaves none. */
#ifndef WALLSHIM_SHIM_BYPASS_H
#define WALLSHIM_SHIM_BYPASS_H

#include <stdint.h>

/* Look-ups that went around, as far as is seen now: functions of our table that libraries have bound
 * past us, and other copies of the driver. Reads the loader's lists and /proc/self/maps: for the end of
 * a recording. */
uint64_t bypass_count(void);

#endif
