/* The relay: sends the traces of all jobs on to another collector, from their files, as shims send them. The files
 * are all that it keeps, so after a cut or a restart it asks the other collector how much is there, and goes on. */
#ifndef WALLSHIM_COLLECTOR_RELAY_H
#define WALLSHIM_COLLECTOR_RELAY_H

#include <uv.h>

#include "collector/client.h"
#include "collector/tls.h"

enum { RELAY_STREAMS_MAX = 256 }; /* traces at a time */

struct relay;

/* tls: NULL: none, which is allowed on the loopback alone. Returns NULL after a line on stderr. */
struct relay *relay_start(uv_loop_t *loop, const char *address, struct tls_context *tls, struct clients *clients);

/* Closes all connections. Free it when the loop has run to its end. NULL: nothing. */
void relay_stop(struct relay *relay);
void relay_free(struct relay *relay);

#endif
