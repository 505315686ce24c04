/* Runs the collector: one event loop that serves the sockets, the clients, a timer and signals. */
#ifndef WALLSHIM_COLLECTOR_SERVER_H
#define WALLSHIM_COLLECTOR_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/quota.h"
#include "collector/tls.h"

struct server_options {
    const char *path;    /* path of the socket for programs; NULL: there is none */
    const char *address; /* HOST:PORT at which to listen for other collectors; NULL: none */
    const char *relay;   /* HOST:PORT of the other collector to which all traces are sent; NULL: none */
    struct tls_files tls;
    const char *folder;
    const char *job;      /* name of the only job; NULL: each client tells the name of its job */
    uint64_t size_limit;  /* largest size of a trace, in bytes */
    uint64_t patience_ns; /* longest time for a frame to arrive completely */
    struct quota quota;
    uint64_t flight_ns;   /* how many ns of each trace the flight recorder keeps; 0: traces go to files */
    uint64_t hang_ns;     /* a job hangs after this time without progress; 0: hangs are not looked for */
    double slow_factor;   /* a step that takes this many times the median causes a dump; 0: no step does */
    uint64_t flight_size; /* flight recorder's memory for one process, in bytes */
    const char *metrics;  /* address at which metrics are served; NULL: they are not served */
    bool metrics_for_all;
    bool while_input; /* the collector ends when standard input has ended and the last client is gone */
};

/* Runs until SIGTERM, SIGINT or `while_input` ends the collector. Returns 0, or -1 after a line on stderr. */
int server_run(const struct server_options *options);

#endif
