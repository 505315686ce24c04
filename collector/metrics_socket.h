/* The socket on which metrics are served. */
#ifndef WALLSHIM_COLLECTOR_METRICS_SOCKET_H
#define WALLSHIM_COLLECTOR_METRICS_SOCKET_H

#include <stdbool.h>

#include "collector/socket.h"

/* `address` is unix:PATH or HOST:PORT. HOST is numeric (IPv6 in brackets) or "localhost". Addresses that other
 * machines can reach are refused unless `for_all`. For HOST:PORT, listening->path is "". Returns 0, or -1 after a
 * line on stderr. */
int metrics_socket_start(struct listening *listening, const char *address, bool for_all);

#endif
