/* One connection: its messages, and the file that they fill. */
#ifndef WALLSHIM_COLLECTOR_CLIENT_H
#define WALLSHIM_COLLECTOR_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

#include "collector/dump.h"
#include "collector/job.h"
#include "collector/figures.h"
#include "collector/remains.h"
#include "collector/stream.h"
#include "wire/channel.h"

struct clients {
    struct client *first;
    unsigned count, limit;
    uint64_t size_limit; /* of a trace, in bytes */
    struct jobs jobs;
    struct remains_list remains;
    struct dumps dumps;
    struct stream_memory memory;
    uv_loop_t *loop;
    uint64_t patience_ms;    /* how long a frame may take to come whole */
    uv_idle_t reading;       /* runs while a client is resuming */
    struct figures *figures; /* NULL: nobody asks for live figures */
    bool ending;             /* who started the collector has gone */
    uint64_t hang_ms;        /* how long nothing may move; 0: hangs are not looked for */
    uint64_t hangs;          /* that were said */
    uint64_t cut_off;        /* connections that broke the rules */
};

enum client_state { CLIENT_STATE_UNKNOWN, CLIENT_STOPPED, CLIENT_RECORDS };

struct client {
    uv_poll_t poll;
    struct client *next;
    struct clients *all;
    int fd;
    int events;              /* what `poll` waits for */
    struct ucred peer;       /* of a remote client: what its HELLO says, and no user */
    char from[FROM_SIZE];    /* name of the collector that relays it (gate.h); "": it is a process of this machine */
    uint64_t since;          /* when it connected, in ms of the loop */
    bool greeted;            /* HELLO has come */
    bool asks;               /* it is `wallshim ctl` */
    unsigned dumps, dumped;  /* that it asked for: still being written; all of them */
    enum client_state state; /* as the shim says */
    bool stuck;              /* the file takes nothing now; clients_tick tries again */
    bool owes;               /* TAKEN did not fit into the socket */
    bool resuming;           /* its file is being read; until then nothing is read from it */
    bool to_trim;            /* the file may hold more than `stream` has taken */
    bool closing;
    uint64_t unit_since; /* when the last whole unit came, or the first byte behind it, in ms of the loop */
    struct identity identity;
    struct ws_channel_hello hello;
    struct recording *recording; /* NULL: it has sent no trace yet */
    int file;                    /* -1: there is none, with --flight */
    int memory;                  /* live memory of the process (record/live.h), from HELLO; -1: none */
    struct stream stream;
    struct figures_stream *figures;
};

/* What clients.c does with one of them. */

void client_close(struct client *client, const char *ended);

/* Ends a connection that broke the rules. `bytes`: of the message that was refused, if the stream does not have them.
 */
void client_cut_off(struct client *client, enum ws_channel_reason reason, size_t bytes);

/* Handles at most this many messages. */
void client_read(struct client *client, unsigned most);

/* Tries again to write what the file did not take. */
void client_retry(struct client *client);

/* Tells the loop what the client waits for now. */
void client_wait(struct client *client);

/* Begins to count what the trace tells, if somebody asks for live figures (watch.c). The client has a recording; what
 * its file has already is not counted again. */
void client_watch(struct client *client);

#endif
