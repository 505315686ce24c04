/* The gate for other collectors: listens at HOST:PORT, and makes each that proves who it is a client like those of
 * the Unix socket. The client is at the other end of a pair of sockets, so it knows nothing of TLS. */
#ifndef WALLSHIM_COLLECTOR_GATE_H
#define WALLSHIM_COLLECTOR_GATE_H

#include <uv.h>

#include "collector/clients.h"
#include "collector/tls.h"

struct gates;

/* tls: NULL: none, which is allowed on the loopback alone. Returns NULL after a line on stderr. */
struct gates *gates_start(uv_loop_t *loop, const char *address, struct tls_context *tls, struct clients *clients);

/* Closes all connections. Free it when the loop has run once more. NULL: nothing. */
void gates_stop(struct gates *gates);
void gates_free(struct gates *gates);

#endif
