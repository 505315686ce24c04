/* The progress of a process: what its streams, communicators and threads are doing. The shim sends it when the
 * collector asks (wire/channel.h: FLUSH, PROGRESS). Before it sends the progress, the shim reads the times of all
 * finished operations and sends their records. The message holds struct ws_progress_head, then the rows of streams,
 * communicators and threads. */
#ifndef WALLSHIM_WIRE_PROGRESS_H
#define WALLSHIM_WIRE_PROGRESS_H

#include <stdint.h>

enum {
    WS_PROGRESS_STREAMS = 64,
    WS_PROGRESS_COMMS = 64,
    WS_PROGRESS_THREADS = 128,
    WS_PROGRESS_NAME = 96,
};

/* An operation or a collective. The name ends with a zero byte; a longer name is cut. */
struct ws_progress_op {
    int64_t launched_ns; /* time of the launch on the process's CLOCK_MONOTONIC, in ns; 0: no operation */
    char name[WS_PROGRESS_NAME];
};

struct ws_progress_head {
    uint32_t streams, comms, threads; /* number of streams, communicators and threads whose rows follow */
    uint32_t recording;               /* 1: the shim records now; 0: it does not */
    uint64_t settled;                 /* number of launched operations whose end is known, or will never be known */
    uint64_t waiting;                 /* number of launched operations whose end is not known yet */
    int64_t now_ns;                   /* time at which the message was made, on the process's CLOCK_MONOTONIC */
    struct ws_progress_op last;       /* the operation that was launched last */
};

/* A stream with waiting operations. */
struct ws_progress_stream {
    uint32_t stream, device; /* ids of the stream and the device, as in the trace's families `stream` and `device` */
    uint64_t waiting;
    uint64_t correlation; /* correlation id of the oldest waiting operation */
    struct ws_progress_op first;
};

/* A communicator. Collectives are numbered on each rank, from 1. */
struct ws_progress_comm {
    uint64_t name_hash; /* hash of the communicator's name, as in column name_hash of the trace's family `comm` */
    uint32_t rank, size, device, reserved;
    /* Number of the collective that was launched last, and of the oldest unfinished one; 0: none. */
    uint64_t entered, open;
    struct ws_progress_op entered_op, open_op;
};

/* A thread that is inside a call of CUDA or NCCL. */
struct ws_progress_thread {
    int32_t tid;
    uint32_t in_nccl;
    /* Number of calls that the thread has begun. If a later message has the same number, the thread has not left its
     * call since. */
    uint64_t calls;
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
