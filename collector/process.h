/* Reads facts about processes from the system. */
#ifndef WALLSHIM_COLLECTOR_PROCESS_H
#define WALLSHIM_COLLECTOR_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* The process's start time in clock ticks since the system booted; 0: not known, as the process has ended. */
uint64_t process_start_time(pid_t pid);

/* Converts a result of process_start_time to ns of CLOCK_MONOTONIC; 0: not known. CLOCK_MONOTONIC stops while the
 * machine sleeps, but clock ticks since the boot go on. So all sleep since the boot is subtracted, even
 * sleep after the process's start. The result may therefore be too early, but not too late. */
int64_t process_began(uint64_t start_time);

/* Returns how long the process's threads have run or been ready to run, all together, in ns. The shim's threads do
 * not count. 0: not known. */
uint64_t process_host_ns(pid_t pid);

/* Finds the process at the other end of the socket. Returns whether it belongs to this user or to root. */
bool process_may_connect(int fd, struct ucred *peer);

/* The id of this boot of the system, or "". */
const char *process_boot_id(void);

#endif
