/* Reads the start time of a process and the id of the system's boot. Together with the pid they identify a process on
 * a machine. The shim sends both to the collector. The collector also reads both itself, to check that the process is
 * the one it claims to be. Nothing here allocates memory. */
#ifndef WALLSHIM_WIRE_PROCESS_STAT_H
#define WALLSHIM_WIRE_PROCESS_STAT_H

#include <stdbool.h>
#include <stdint.h>

enum { WS_BOOT_ID_SIZE = 40 };

/* Returns the start time in clock ticks since boot, or 0 if it is unknown. path: a file such as /proc/self/stat. */
uint64_t ws_process_start_time(const char *path);

/* Does a process with this pid and start time exist? A zombie does not count. */
bool ws_process_is_alive(int pid, uint64_t start_time);

/* Stores the id of the system's boot; "": unknown. */
void ws_boot_id(char id[WS_BOOT_ID_SIZE]);

#endif
