/* Finds hangs. A process hangs if operations wait on a device and none of them ends, or if threads stay in the same
 * CUDA or NCCL calls, although the process lives and its shim (the library that records it) answers. Every process is
 * asked for its progress (wire/progress.h) a few times within the allowed time (clients.hang_ms). Before its answer,
 * the shim reads which operations have ended. So an operation whose end was not read yet does not look like a
 * hang. */
#ifndef WALLSHIM_COLLECTOR_HANG_H
#define WALLSHIM_COLLECTOR_HANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/job.h"
#include "wire/progress.h"

enum { HANG_DEVICES = 16 };

/* The last answer of a process, and what the collector has computed from its answers. Kept after the process has
 * ended. */
struct progress {
    struct ws_progress_head head;
    struct ws_progress_stream streams[WS_PROGRESS_STREAMS];
    struct ws_progress_comm comms[WS_PROGRESS_COMMS];
    struct ws_progress_thread threads[WS_PROGRESS_THREADS];
    /* Times in ms of uv_now(), 0: never. asked_ms: when a question was last sent to the process while it owed no
     * answer. */
    uint64_t asked_ms, answered_ms;
    uint32_t asked; /* number of the last question */
    bool owes;      /* the last question is not answered yet */
    struct {
        uint32_t device;   /* id of a device on which operations wait; 0: unused entry */
        uint64_t mark;     /* hash of the waiting operations; changes with any progress */
        uint64_t since_ms; /* when the mark last changed */
    } devices[HANG_DEVICES];
    uint64_t host_ms, host_ns; /* when process_host_ns was last called for this process, and its result */
    /* The process computes on the host: between the last two calls of process_host_ns, its threads ran for at least
     * half of the time, and by its last answer none of them was inside CUDA or NCCL. */
    bool works;
    uint64_t call_mark, call_since_ms; /* hash of the calls its threads are in, 0: none; time of its last change */
};

/* Stores an answer. Returns false if the bytes are no valid answer. */
bool progress_take(struct progress *progress, const uint8_t *bytes, size_t size, uint64_t now_ms);

/* Returns how long, up to the last answer, no operation or call had made progress, in ms. 0: there was progress just
 * before that answer, or nothing waits. */
uint64_t progress_stuck_ms(const struct progress *progress);

/* Do other ranks wait in a collective that this rank has not entered? */
bool hang_is_missing(const struct job *job, const struct recording *one);

/* Writes one sentence on what hangs. */
void hang_summary(const struct job *job, char *text, size_t capacity);

/* Returns a text on what each process did last, and on the state of each thread. The caller frees it. NULL: no
 * memory. */
char *hang_text(const struct job *job, const char *summary, uint64_t now_ms);

#endif
