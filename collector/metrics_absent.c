/* Replaces metrics_http.c in builds without libmicrohttpd. */
#include "collector/metrics_http.h"
#include "collector/say.h"

struct metrics_http *metrics_http_start(uv_loop_t *loop, const char *address, bool for_all,
                                        const struct clients *clients)
{
    (void)loop;
    (void)for_all;
    (void)clients;
    say("--metrics %s: this collector was built without libmicrohttpd", address);
    return NULL;
}

void metrics_http_tick(struct metrics_http *http)
{
    (void)http;
}

void metrics_http_stop(struct metrics_http *http)
{
    (void)http;
}

void metrics_http_free(struct metrics_http *http)
{
    (void)http;
}
