/* What the system says about processes. */
#ifndef WALLSHIM_COLLECTOR_PROCESS_H
#define WALLSHIM_COLLECTOR_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* The process's start time in clock ticks since the system booted; 0: not known, as the process has ended. */
uint64_t process_start_time(pid_t pid);

/* That time in ns of CLOCK_MONOTONIC; 0: not known. A boot's clock ticks on while the machine sleeps, and this one
 * does not, so the result may be earlier than the process, but never later. */
int64_t process_began(uint64_t start_time);

/* Takes the process behind the socket. Returns whether it is of this user, or of root. */
bool process_may_connect(int fd, struct ucred *peer);

/* The id of this boot of the system, or "". */
const char *process_boot_id(void);

#endif
