/* One trace on its way to the other collector. */
#ifndef WALLSHIM_COLLECTOR_RELAY_STREAM_H
#define WALLSHIM_COLLECTOR_RELAY_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/job.h"
#include "collector/relay_file.h"
#include "collector/tcp.h"
#include "wire/channel.h"

enum relay_state {
    RELAY_CONNECTS,
    RELAY_ASKS,    /* HELLO was sent */
    RELAY_SENDS,   /* WELCOME has come */
    RELAY_LEAVES,  /* GOODBYE was sent */
    RELAY_DONE,    /* the other collector has all */
    RELAY_CUT,     /* the connection has ended, or never came about; see `why` */
    RELAY_REFUSED, /* this trace cannot go on now; see `why` */
};

struct relay_stream {
    struct tcp *tcp; /* NULL in the last three states */
    struct job *job; /* counts it in `relays` */
    enum relay_state state;
    bool seen;              /* in this turn: its recording is there still */
    bool begins;            /* the trace has ended already, and is not being written */
    bool welcomed, counted; /* WELCOME has come; and the relay knows */
    char why[200];
    struct ws_channel_hello hello;
    struct relay_file file;
    uint64_t sent;  /* bytes of the trace, those that were there already among them */
    uint64_t taken; /* bytes that the other collector has in its file */
    /* What the recording said last: */
    uint64_t limit;    /* bytes that may be sent */
    bool ended, whole; /* it has ended; all of the file was looked at */
    char how[96];
};

/* Starts on a socket on which connect() was called. Returns NULL if there is no memory or no file. */
struct relay_stream *relay_stream_create(uv_loop_t *loop, int fd, struct tls *tls, struct job *job,
                                         const struct recording *recording);

/* Takes what the recording says now, and sends what is new. */
void relay_stream_update(struct relay_stream *stream, const struct recording *recording);

/* It is done, and the recording has not changed since. */
bool relay_stream_has_all(struct relay_stream *stream, const struct recording *recording);

void relay_stream_destroy(struct relay_stream *stream);

#endif
