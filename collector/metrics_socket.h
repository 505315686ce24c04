/* The socket that metrics are asked for on. */
#ifndef WALLSHIM_COLLECTOR_METRICS_SOCKET_H
#define WALLSHIM_COLLECTOR_METRICS_SOCKET_H

#include <stdbool.h>

#include "collector/socket.h"

/* `address`: unix:PATH, or HOST:PORT with a numeric host, in brackets if it is one of IPv6, or "localhost". An
 * address that other machines can reach is refused, unless `for_all`. listening->path is "" for HOST:PORT. Returns 0,
 * or -1 after a line on stderr. */
int metrics_socket_start(struct listening *listening, const char *address, bool for_all);

#endif
