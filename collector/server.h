/* The collector: one event loop for the socket, its clients, a clock and signals. */
#ifndef WALLSHIM_COLLECTOR_SERVER_H
#define WALLSHIM_COLLECTOR_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/quota.h"
#include "collector/tls.h"

struct server_options {
    const char *path;    /* of the socket for programs; NULL: there is none */
    const char *address; /* HOST:PORT for other collectors; NULL: none */
    const char *relay;   /* HOST:PORT of the collector that gets all traces; NULL: none */
    struct tls_files tls;
    const char *folder;
    const char *job;      /* NULL: clients name their jobs */
    uint64_t size_limit;  /* of a trace */
    uint64_t patience_ns; /* how long a frame may take to come whole */
    struct quota quota;
    uint64_t flight_ns;   /* what the flight recorder keeps; 0: traces go to files */
    uint64_t hang_ns;     /* how long nothing may move; 0: hangs are not looked for */
    uint64_t flight_size; /* of a process at most, in bytes */
    const char *metrics;  /* where to serve them; NULL: nowhere */
    bool metrics_for_all;
    bool while_input; /* end when standard input has ended and the last client is gone */
};

/* Runs until it is asked to end. Returns 0, or -1 after a line on stderr. */
int server_run(const struct server_options *options);

#endif
