/* Manages all connections: accepts them, watches over them once a second, and ends them. */
#ifndef WALLSHIM_COLLECTOR_CLIENTS_H
#define WALLSHIM_COLLECTOR_CLIENTS_H

#include "collector/client.h"

/* Initializes members of `clients`. Before the call, the caller must set its members loop, jobs and the limits. */
void clients_init(struct clients *clients);

/* Takes over the connection. If there are too many connections, closes the oldest one that has sent no part of a
 * trace yet. If all connections have sent a part, refuses the new connection. */
void client_accept(struct clients *clients, int fd);

/* Like client_accept, for a connection from another collector, which has authenticated as `from`. That collector
 * passes on the messages of a recorded process. The other collector may not send ASK (a request of `wallshim ctl`) or
 * file descriptors. */
void client_accept_remote(struct clients *clients, int fd, const char *from);

/* To be called once a second. Retries failed writes, ends connections that are too slow, looks for hangs, and writes
 * manifests. */
void clients_tick(struct clients *clients);

/* Handles the messages that have already come, closes all connections, and finishes dumps and manifests. */
void clients_end(struct clients *clients);

#endif
