/* All connections: how they begin, what they share, and how they end. */
#ifndef WALLSHIM_COLLECTOR_CLIENTS_H
#define WALLSHIM_COLLECTOR_CLIENTS_H

#include "collector/client.h"

/* Initializes members of `clients`. Before the call, the caller must set its members loop, jobs and the limits. */
void clients_init(struct clients *clients);

/* Takes over the connection. If there are too many, closes the oldest one that has sent no trace yet, or else refuses
 * the new one. */
void client_accept(struct clients *clients, int fd);

/* Like client_accept, for the connection of another collector, which has authenticated as `from`. It sends the
 * messages of a shim, but may not send ASK or descriptors. */
void client_accept_remote(struct clients *clients, int fd, const char *from);

/* To be called once a second. Retries failed writes, ends connections that are too slow, looks for hangs, and writes
 * manifests. */
void clients_tick(struct clients *clients);

/* Handles the messages that have already come, closes all connections, and finishes dumps and manifests. */
void clients_end(struct clients *clients);

#endif
