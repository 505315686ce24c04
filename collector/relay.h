/* The relay reads the traces of all jobs from their files, and sends them to another collector (--relay), with the
 * same messages as a recorded process. After a lost connection or a restart, the other collector tells how much of
 * each trace it has, and the relay continues at that position. */
#ifndef WALLSHIM_COLLECTOR_RELAY_H
#define WALLSHIM_COLLECTOR_RELAY_H

#include <uv.h>

#include "collector/client.h"
#include "collector/tls.h"

enum { RELAY_STREAMS_MAX = 256 }; /* most traces that are sent at the same time */

struct relay;

/* Starts to relay. `tls` may be NULL if the address is on the loopback. On failure, prints a line on stderr and
 * returns NULL. */
struct relay *relay_start(uv_loop_t *loop, const char *address, struct tls_context *tls, struct clients *clients);

/* Closes all connections. Accepts NULL. The event loop must run until libuv has closed all handles; only then may
 * relay_free be called. */
void relay_stop(struct relay *relay);
void relay_free(struct relay *relay);

#endif
