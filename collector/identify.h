/* Who a client is. */
#ifndef WALLSHIM_COLLECTOR_IDENTIFY_H
#define WALLSHIM_COLLECTOR_IDENTIFY_H

#include <stdbool.h>

#include "collector/job.h"
#include "wire/channel.h"

/* pid: of the process at the other end of the socket, as the kernel says. Returns whether the process is the one it
 * says it is. */
bool identify_process(struct identity *identity, pid_t pid, const struct ws_channel_hello *hello);

/* from: the collector that relays the process, and alone knows it. Returns whether what it says can be: the manifest
 * must be able to say the same. */
bool identify_relayed(struct identity *identity, const char from[FROM_SIZE], const struct ws_channel_hello *hello);

#endif
