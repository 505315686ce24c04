/* A client: one connection of a recorded process or of `wallshim ctl`. This code handles its messages, and writes the
 * trace that they carry into a file. */
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
    uint64_t size_limit; /* largest size of a trace, in bytes */
    struct jobs jobs;
    struct remains_list remains;
    struct dumps dumps;
    struct stream_memory memory;
    uv_loop_t *loop;
    uint64_t patience_ms;    /* longest time for a frame of a trace to arrive completely */
    uv_idle_t reading;       /* libuv handle, active while any client is `resuming` */
    struct figures *figures; /* live figures of the processes; NULL without --metrics and --slow-step */
    bool ending;             /* with --while-input: standard input has ended */
    uint64_t hang_ms;        /* a job hangs after this time without progress; 0: hangs are not looked for */
    uint64_t hangs;          /* number of hangs that were reported */
    uint32_t asked;          /* number of the last question (ask.h) that was sent to any process */
    uint64_t cut_off;        /* number of connections ended by client_cut_off */
};

enum client_state { CLIENT_STATE_UNKNOWN, CLIENT_STOPPED, CLIENT_RECORDS };

struct client {
    uv_poll_t poll;
    struct client *next;
    struct clients *all;
    int fd;
    int events;           /* events that `poll` waits for; 0: `poll` is stopped */
    struct ucred peer;    /* ids of the process, from the kernel; for a relayed process: pid from its HELLO, uid -1 */
    char from[FROM_SIZE]; /* name of the collector that relays the client (gate.h); "": the client is local */
    uint64_t since;       /* when the client connected, in ms of uv_now() */
    bool greeted;         /* HELLO, the first message of a shim, has come */
    bool asks;            /* the client has sent ASK, so it is `wallshim ctl` */
    unsigned dumps, dumped;  /* number of dumps that the client has requested: not yet written, and in all */
    enum client_state state; /* whether the process records now, as its last message STATE says */
    bool stuck;              /* a write failed because the disk is full; clients_tick tries again */
    bool owes;               /* the message TAKEN must be sent again, because the socket was full */
    bool resuming;           /* the client has reconnected; its messages wait while its trace's file is read */
    bool to_trim;            /* the file may end with an incomplete frame that job_trim is to cut off */
    bool closing;
    uint64_t unit_since; /* when the still incomplete frame began to arrive, in ms of uv_now(); 0: no such frame */
    struct identity identity;
    struct ws_channel_hello hello;
    struct recording *recording; /* the job's entry for the client's trace; NULL: no part of a trace has come yet */
    int file;                    /* descriptor of the trace's file; -1: not created yet; always -1 with --flight */
    int memory;                  /* descriptor of the process's live memory (record/live.h), from HELLO; -1: none */
    struct stream stream;
    struct figures_stream *figures;
};

/* The following functions act on one client. */

void client_close(struct client *client, const char *ended);

/* Ends a connection for the given reason, such as a malformed message or too little memory, and tells the client the
 * reason. Counts as refused bytes: the unwritten bytes of `client->stream`, and `bytes`, the size of a refused
 * message that was not added to the stream. */
void client_cut_off(struct client *client, enum ws_channel_reason reason, size_t bytes);

/* Reads and handles at most `most` messages. */
void client_read(struct client *client, unsigned most);

/* Tries again to write the part of the trace for which the disk had no room. */
void client_retry(struct client *client);

/* Tells libuv which events of the client's socket to poll for now. */
void client_wait(struct client *client);

/* Starts to count the trace's records for the live figures (figures.h), if the collector keeps such figures. The
 * client must have a recording. Records that are already in the recording's file are not counted again. */
void client_watch(struct client *client);

#endif
