/* The way of the trace to a collector (wire/channel.h), used by the file thread.
 *
 * The link keeps the trace in a buffer until the collector has it in its file. So a collector that ends and comes
 * back is sent what it lacks. When the buffer is full, what is written is refused as a whole: the encoder counts its
 * rows as lost. */
#ifndef WALLSHIM_SHIM_DRAIN_COLLECTOR_LINK_H
#define WALLSHIM_SHIM_DRAIN_COLLECTOR_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/channel.h"

enum link_state {
    LINK_UNUSED,    /* there is no collector: the trace goes to a file */
    LINK_DOWN,      /* not connected */
    LINK_CONNECTED, /* HELLO is sent */
    LINK_WELCOME,   /* the collector takes the trace */
};

/* What `wallshim ctl` wants, until the drain does it. */
struct link_wishes {
    bool start, stop, burst;
    bool flush;
    uint32_t flush_number; /* to be given back with the answer */
    char burst_text[WS_CHANNEL_TEXT_MAX + 1];
};

struct collector_link {
    enum link_state state;
    char path[108]; /* of the socket; "": no collector is wanted */
    struct ws_channel_hello hello;
    int fd;
    uint64_t device, inode; /* of the socket: the program may reuse its descriptor */
    int live_fd;            /* of the live memory (state/live.h), which HELLO carries; -1: none */
    uint32_t kept_part;     /* of the live memory, if `kept` lies there */
    uint8_t *kept;          /* the last bytes of the trace; the byte at offset x is kept[x % capacity] */
    size_t capacity;
    uint64_t begin;         /* offset of the first byte that the collector may lack */
    uint64_t sent, end;     /* offsets behind what was sent, and behind the trace */
    int64_t started, tried; /* when the link was made, and when it last tried to connect */
    bool was_welcome;       /* the collector has taken something before */
    bool refused;           /* by the collector, for `reason` */
    bool final;             /* that reason will not pass: the link does not connect again */
    uint64_t reason;        /* enum ws_channel_reason */
    bool stalled;           /* the buffer was full for a while, and the collector has taken nothing since */
    bool said;              /* that the collector is gone; until it takes something again */
    struct link_wishes wishes;
    const uint8_t *progress; /* what is to be sent once the trace is sent up to `progress_at`; NULL: nothing */
    size_t progress_size;
    uint32_t progress_number;
    uint64_t progress_at;
    bool recording, told_recording, told; /* what the drain does now, and what the collector was told of that */
    char message[512]; /* what the drain is to print, as the file thread has no stderr; "": nothing */
};

/* Called in a thread of the program: notes the path and the name of the job. capacity: of the buffer. Returns 0 or
 * -ENAMETOOLONG. */
int link_init(struct collector_link *link, const char *where, size_t capacity);

/* All below are for the file thread. `file`: the name that the trace's file would have. Returns 0; or -errno if
 * nobody listens there, or it refuses. */
int link_start(struct collector_link *link, const char *rank, const char *file);

/* Adds a part of the trace, whole or not at all. Waits a few milliseconds at most. Returns 0; -ENOBUFS: the buffer
 * is full; -ECONNABORTED: the collector takes no more of this trace, and the message says why. */
int link_write(struct collector_link *link, const void *bytes, size_t size);

/* Has the collector told how far the process is (wire/progress.h), behind all of the trace so far. `bytes` must stay
 * as they are until the next call of this function. */
void link_tell_progress(struct collector_link *link, uint32_t number, const uint8_t *bytes, size_t size);

/* Sends what can be sent, and connects again if it is time to. Never waits. */
void link_keep(struct collector_link *link);

/* Has the collector never taken anything, and is not going to? Then the trace so far is in the buffer, and can go to
 * a file. `last`: the program ends. */
bool link_is_hopeless(const struct collector_link *link, bool last);

/* Waits until the collector has everything, or a deadline has passed. Returns 0; or -ECONNABORTED, with a message
 * that says how much it lacks. */
int link_finish(struct collector_link *link);

/* Leaves a message for the drain, in place of one that it has not printed. */
void link_say(struct collector_link *link, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Closes the socket, and gives the buffer back. */
void link_end(struct collector_link *link);

#endif
