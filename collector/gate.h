/* Gates let other collectors send us their traces. The collector listens for them at HOST:PORT. A gate is one
 * connection from another collector. When that collector has authenticated, the gate makes a client (client.h), as
 * for a connection of the Unix socket. The gate passes messages between the network and the client through a socket
 * pair, so client.c needs no TLS. */
#ifndef WALLSHIM_COLLECTOR_GATE_H
#define WALLSHIM_COLLECTOR_GATE_H

#include <uv.h>

#include "collector/clients.h"
#include "collector/tls.h"

struct gates;

/* Starts to listen. `tls` may be NULL if the address is on the loopback. On failure, prints a line on stderr and
 * returns NULL. */
struct gates *gates_start(uv_loop_t *loop, const char *address, struct tls_context *tls, struct clients *clients);

/* Closes all connections. Accepts NULL. The loop must run once more before gates_free. */
void gates_stop(struct gates *gates);
void gates_free(struct gates *gates);

#endif
