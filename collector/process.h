/* What the system says about processes. */
#ifndef WALLSHIM_COLLECTOR_PROCESS_H
#define WALLSHIM_COLLECTOR_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The process's start time in clock ticks since the system booted; 0: not known, as the process has ended. */
uint64_t process_start_time(pid_t pid);

/* The id of this boot of the system, or "". */
const char *process_boot_id(void);

#endif
