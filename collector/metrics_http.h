/* Serves GET /metrics over HTTP, within the collector's event loop. */
#ifndef WALLSHIM_COLLECTOR_METRICS_HTTP_H
#define WALLSHIM_COLLECTOR_METRICS_HTTP_H

#include <stdbool.h>

#include "collector/client.h"

struct metrics_http;

/* `address`: unix:PATH, or HOST:PORT with a numeric host or "localhost". An address that other machines can reach is
 * refused, unless `for_all`. On failure, prints a line on stderr and returns NULL. */
struct metrics_http *metrics_http_start(uv_loop_t *loop, const char *address, bool for_all,
                                        const struct clients *clients);

/* To be called once a second. Ends connections that take too long. */
void metrics_http_tick(struct metrics_http *http);

/* Stops serving. Accepts NULL. The event loop must run until libuv has closed the handles; only then may
 * metrics_http_free be called. */
void metrics_http_stop(struct metrics_http *http);
void metrics_http_free(struct metrics_http *http);

#endif
