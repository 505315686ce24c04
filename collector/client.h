/* One connection: its messages, and the file that they fill. */
#ifndef WALLSHIM_COLLECTOR_CLIENT_H
#define WALLSHIM_COLLECTOR_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

#include "collector/job.h"
#include "collector/stream.h"
#include "wire/channel.h"

struct clients {
    struct client *first;
    unsigned count, limit;
    uint64_t size_limit; /* of a trace, in bytes */
    struct jobs jobs;
    struct stream_memory memory;
    uv_loop_t *loop;
    bool ending;      /* who started the collector has gone */
    uint64_t cut_off; /* connections that broke the rules */
};

struct client {
    uv_poll_t poll;
    struct client *next;
    struct clients *all;
    int fd;
    int events; /* what `poll` waits for */
    struct ucred peer;
    uint64_t since; /* when it connected, in ms of the loop */
    bool greeted;   /* HELLO has come */
    bool stuck;     /* the file takes nothing now; clients_tick tries again */
    bool owes;      /* TAKEN did not fit into the socket */
    bool closing;
    struct identity identity;
    struct ws_channel_hello hello;
    struct recording *recording; /* NULL: it has sent no trace yet */
    int file;
    struct stream stream;
};

/* Takes over the connection. If there are too many, one that has said nothing yet makes room, or the new one is
 * refused. */
void client_accept(struct clients *clients, int fd);

/* To be called once a second: tries again what did not work, ends connections that say nothing, writes manifests. */
void clients_tick(struct clients *clients);

/* Reads what has come, then closes all connections. */
void clients_end(struct clients *clients);

#endif
