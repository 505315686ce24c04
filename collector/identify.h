/* Finds out which process a connection belongs to. */
#ifndef WALLSHIM_COLLECTOR_IDENTIFY_H
#define WALLSHIM_COLLECTOR_IDENTIFY_H

#include <stdbool.h>

#include "collector/job.h"
#include "wire/channel.h"

/* Identifies a process of this machine. `pid` comes from the kernel. Returns false if the start time or boot id in
 * HELLO (the first message of the process) differs from the kernel's. */
bool identify_process(struct identity *identity, pid_t pid, const struct ws_channel_hello *hello);

/* Identifies a process whose trace the collector `from` relays. Only the values in HELLO, the first message, identify
 * the process. Returns false if a manifest could not hold the values in HELLO. */
bool identify_relayed(struct identity *identity, const char from[FROM_SIZE], const struct ws_channel_hello *hello);

#endif
