/* All connections: how they begin, what they share, and how they end. */
#ifndef WALLSHIM_COLLECTOR_CLIENTS_H
#define WALLSHIM_COLLECTOR_CLIENTS_H

#include "collector/client.h"

/* `clients` has its loop, limits and jobs already. */
void clients_init(struct clients *clients);

/* Takes over the connection. If there are too many, one that has said nothing yet makes room, or the new one is
 * refused. */
void client_accept(struct clients *clients, int fd);

/* The same for a connection of another collector, which has proved that it is `from`. It sends what a shim sends, but
 * has no say over other clients, and no descriptors. */
void client_accept_remote(struct clients *clients, int fd, const char *from);

/* To be called once a second: tries again what did not work, ends connections that say nothing, writes manifests. */
void clients_tick(struct clients *clients);

/* Reads what has come, then closes all connections. */
void clients_end(struct clients *clients);

#endif
