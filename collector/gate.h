/* The gate: the entry for other collectors, which listens at HOST:PORT. For each connection that authenticates, it
 * makes a client (client.h) as for a connection of the Unix socket. The gate passes the messages between the network
 * and that client through a socket pair, so client.c needs no TLS. */
#ifndef WALLSHIM_COLLECTOR_GATE_H
#define WALLSHIM_COLLECTOR_GATE_H

#include <uv.h>

#include "collector/clients.h"
#include "collector/tls.h"

struct gates;

/* `tls` may be NULL if the address is on the loopback. On failure, prints a line on stderr and returns NULL. */
struct gates *gates_start(uv_loop_t *loop, const char *address, struct tls_context *tls, struct clients *clients);

/* Closes all connections. Accepts NULL. The loop must run once more before gates_free. */
void gates_stop(struct gates *gates);
void gates_free(struct gates *gates);

#endif
