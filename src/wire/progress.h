/* How far a process is, as its shim says when the collector asks (wire/channel.h: FLUSH, PROGRESS). All that had
 * ended was read before, and the records of it were sent. The body is the head, then its streams, communicators and
 * threads. */
#ifndef WALLSHIM_WIRE_PROGRESS_H
#define WALLSHIM_WIRE_PROGRESS_H

#include <stdint.h>

enum {
    WS_PROGRESS_STREAMS = 64,
    WS_PROGRESS_COMMS = 64,
    WS_PROGRESS_THREADS = 128,
    WS_PROGRESS_NAME = 96,
};

/* An operation or a collective. Names end with a zero byte, and are cut. */
struct ws_progress_op {
    int64_t launched_ns; /* CLOCK_MONOTONIC of the process; 0: there is none */
    char name[WS_PROGRESS_NAME];
};

struct ws_progress_head {
    uint32_t streams, comms, threads; /* how many rows follow of each */
    uint32_t recording;               /* 1: it records now */
    uint64_t settled;                 /* operations of which the end is known, or will not be known */
    uint64_t waiting;                 /* operations that were launched, and of which no end is known yet */
    int64_t now_ns;                   /* when this was written */
    struct ws_progress_op last;       /* the operation that was launched last */
};

/* A stream with waiting operations. */
struct ws_progress_stream {
    uint32_t stream, device; /* → stream, → device */
    uint64_t waiting;
    uint64_t correlation; /* of the first that waits */
    struct ws_progress_op first;
};

/* A communicator. Collectives are numbered on each rank, from 1. */
struct ws_progress_comm {
    uint64_t name_hash; /* as in family comm */
    uint32_t rank, size, device, reserved;
    uint64_t entered, open; /* the last collective that was launched; the first of these that has not ended, or 0 */
    struct ws_progress_op entered_op, open_op;
};

/* A thread that is within a call of CUDA or NCCL. */
struct ws_progress_thread {
    int32_t tid;
    uint32_t in_nccl;
    uint64_t calls; /* that it has begun: the same number tells the same call */
};

enum {
    WS_PROGRESS_MAX = sizeof(struct ws_progress_head) + WS_PROGRESS_STREAMS * sizeof(struct ws_progress_stream) +
                      WS_PROGRESS_COMMS * sizeof(struct ws_progress_comm) +
                      WS_PROGRESS_THREADS * sizeof(struct ws_progress_thread)
};
_Static_assert(sizeof(struct ws_progress_head) == 144 && sizeof(struct ws_progress_stream) == 128 &&
                   sizeof(struct ws_progress_comm) == 248 && sizeof(struct ws_progress_thread) == 16,
               "without padding");

#endif
