/* What identifies a process on a machine: its start time and the id of the system's boot. The shim and the collector
 * read both, and compare. Allocates nothing. */
#ifndef WALLSHIM_WIRE_PROCESS_STAT_H
#define WALLSHIM_WIRE_PROCESS_STAT_H

#include <stdbool.h>
#include <stdint.h>

enum { WS_BOOT_ID_SIZE = 40 };

/* The start time in clock ticks since the boot, from a file such as /proc/self/stat; 0: not known. */
uint64_t ws_process_start_time(const char *path);

/* Does the process that started then still run, or stand still? One that has ended and waits for its parent does not.
 */
bool ws_process_is_alive(int pid, uint64_t start_time);

/* The id of the system's boot; "": not known. */
void ws_boot_id(char id[WS_BOOT_ID_SIZE]);

#endif
