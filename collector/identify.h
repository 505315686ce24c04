/* Finds out which process a client is. */
#ifndef WALLSHIM_COLLECTOR_IDENTIFY_H
#define WALLSHIM_COLLECTOR_IDENTIFY_H

#include <stdbool.h>

#include "collector/job.h"
#include "wire/channel.h"

/* Identifies a process of this machine. `pid` comes from the kernel. Returns false if HELLO tells another start time
 * or boot. */
bool identify_process(struct identity *identity, pid_t pid, const struct ws_channel_hello *hello);

/* Identifies a process that the collector `from` relays, by its HELLO alone. Returns false if a manifest could not
 * hold these values. */
bool identify_relayed(struct identity *identity, const char from[FROM_SIZE], const struct ws_channel_hello *hello);

#endif
