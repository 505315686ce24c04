/* Sends the trace to a collector (wire/channel.h), a process that receives the traces of many programs. Used by the
 * file thread (the shim's thread that does the trace's input and output).
 *
 * The link keeps each part of the trace in a buffer until the collector has this part in its file. If the collector
 * ends and is started again, the link sends the new collector the parts that its file lacks. While the buffer is
 * full, link_write refuses new parts, and the encoder counts their rows as lost. */
#ifndef WALLSHIM_SHIM_DRAIN_COLLECTOR_LINK_H
#define WALLSHIM_SHIM_DRAIN_COLLECTOR_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/channel.h"

enum link_state {
    LINK_UNUSED,    /* there is no collector: the trace goes to a file */
    LINK_DOWN,      /* there is no connection to the collector now */
    LINK_CONNECTED, /* connected, and the first message (HELLO) is sent; the collector has not answered */
    LINK_WELCOME,   /* the collector has answered WELCOME: it takes the trace */
};

/* The requests of `wallshim ctl` that the drain (the thread that writes the trace) has not carried out yet. */
struct link_wishes {
    bool start, stop, burst;
    bool flush;            /* the drain is to write all rows, and to send a progress report */
    uint32_t flush_number; /* number of the request `flush`, which the answer repeats */
    char burst_text[WS_CHANNEL_TEXT_MAX + 1];
};

/* A link to a collector. The link also passes the live memory (state/live.h) to the collector, which completes the
 * trace from this memory if this process is killed. */
struct collector_link {
    enum link_state state;
    char path[108]; /* path of the collector's socket; "": no collector is to be used */
    struct ws_channel_hello hello;
    int fd;
    /* identify the socket: if the program has closed fd and reused its number, fd has other values */
    uint64_t device, inode;
    int live_fd; /* descriptor of the live memory (state/live.h), sent with HELLO; -1: none */
    /* number of the part of the live memory that holds `kept`; 0: `kept` is not in the live memory */
    uint32_t kept_part;
    uint8_t *kept; /* buffer with the last bytes of the trace; byte x of the trace is kept[x % capacity] */
    size_t capacity;
    uint64_t begin; /* number of bytes of the trace that the collector has confirmed */
    /* sent: number of the trace's bytes that were sent to the collector. end: number of all its bytes so far. */
    uint64_t sent, end;
    int64_t started, tried; /* host ns: of the call of link_start; of the last attempt to connect */
    bool was_welcome;       /* the collector has answered with WELCOME at least once */
    bool refused;           /* the collector has refused the trace, for `reason` */
    bool final;             /* the collector would refuse the trace again, so the link no longer tries to connect */
    uint64_t reason;        /* why the collector refused (enum ws_channel_reason) */
    /* link_write has waited for room in the buffer in vain, and the collector has confirmed nothing since that
     * wait. */
    bool stalled;
    /* the user was told (by `message`) that the collector is gone; false again once the collector confirms more
     * bytes */
    bool said;
    struct link_wishes wishes;
    /* Progress report (wire/progress.h), to be sent once the first progress_at bytes of the trace are sent; NULL: no
     * report */
    const uint8_t *progress;
    size_t progress_size;
    uint32_t progress_number;
    uint64_t progress_at;
    /* recording: recording is on now. told: the collector was told, over this connection, whether recording is on.
     * told_recording: what the collector was last told. */
    bool recording, told_recording, told;
    char message[512]; /* text that the drain is to print, because the file thread has no stderr; "": no text */
};

/* Called in a thread of the program. Keeps the socket's path, which is made from `where`, and the job's name.
 * capacity: size of the buffer in bytes. Returns 0 or -ENAMETOOLONG. */
int link_init(struct collector_link *link, const char *where, size_t capacity);

/* This function and all functions below are for the file thread. Connects to the collector, and waits up to 40 ms for
 * its answer. file: the name that the trace would have as a file. Returns 0. Returns -errno if nobody listens at the
 * socket, if the collector refuses the trace, or if there is no memory. */
int link_start(struct collector_link *link, const char *rank, const char *file);

/* Adds a part of the trace to the buffer, whole or not at all. Waits a few milliseconds at most. Returns 0; -ENOBUFS:
 * the buffer is full; -ECONNABORTED: the collector takes no more of this trace, and link->message says why. */
int link_write(struct collector_link *link, const void *bytes, size_t size);

/* Sends the collector a report of how far the process is (wire/progress.h), after all bytes that the trace has now
 * are sent. number: the number of the request that the report answers. `bytes` must stay unchanged until the next
 * call of this function. */
void link_tell_progress(struct collector_link *link, uint32_t number, const uint8_t *bytes, size_t size);

/* Reads the collector's answers, and sends as much of the trace as the socket takes. Without a connection, tries once
 * a second to connect. Never waits. */
void link_keep(struct collector_link *link);

/* Has the collector confirmed no byte so far, and is it unlikely to confirm any? If so, the whole trace is still in
 * the buffer, and can go to a file. last: the program is about to end. */
bool link_is_hopeless(const struct collector_link *link, bool last);

/* Waits until the collector has confirmed the whole trace, or a deadline has passed. Returns 0 or -ECONNABORTED. If
 * the collector has confirmed only a part, link->message says how many bytes the collector lacks. */
int link_finish(struct collector_link *link);

/* Puts a message into link->message, for the drain to print. The message replaces an earlier one that is not printed
 * yet. */
void link_say(struct collector_link *link, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Closes the socket, and frees the buffer. */
void link_end(struct collector_link *link);

#endif
