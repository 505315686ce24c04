/* A relay stream sends one trace to another collector, over a connection of its own. */
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
    RELAY_ASKS,    /* HELLO, which names the trace, was sent */
    RELAY_SENDS,   /* WELCOME has come, with the number of bytes that the other collector has already */
    RELAY_LEAVES,  /* the whole trace and GOODBYE were sent */
    RELAY_DONE,    /* ended in order; relay_stream_has_all tells whether the other collector has the whole trace */
    RELAY_CUT,     /* the connection was lost or could not be made; see `why` */
    RELAY_REFUSED, /* this trace cannot be relayed now; see `why` */
};

struct relay_stream {
    struct tcp *tcp; /* NULL in the last three states */
    struct job *job; /* job->relays counts this stream */
    enum relay_state state;
    bool seen;              /* the relay's current tick has found the trace's recording; false: it was removed */
    bool begins;            /* the recording had ended before the stream started */
    bool welcomed, counted; /* WELCOME has come; relay.unanswered no longer counts this stream */
    char why[200];
    struct ws_channel_hello hello;
    struct relay_file file;
    uint64_t sent;  /* bytes of the trace that were sent, or that the other collector had already */
    uint64_t taken; /* bytes of the trace that are in the other collector's file */
    /* relay_stream_update sets the following fields. */
    uint64_t limit;    /* how many bytes of the trace may be sent */
    bool ended, whole; /* the recording has ended; all complete frames below `limit` were found in the file */
    char how[96];      /* how the recording ended (recording.ended); "": it has not ended */
};

/* Takes over `tls`, and a socket on which connect() was called. Returns NULL if memory runs out or the file cannot be
 * opened. */
struct relay_stream *relay_stream_create(uv_loop_t *loop, int fd, struct tls *tls, struct job *job,
                                         const struct recording *recording);

/* Updates the stream from the recording's state, and sends what is new. */
void relay_stream_update(struct relay_stream *stream, const struct recording *recording);

/* Does the other collector have the whole trace, and has the recording not changed since? */
bool relay_stream_has_all(struct relay_stream *stream, const struct recording *recording);

void relay_stream_destroy(struct relay_stream *stream);

#endif
