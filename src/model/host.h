/* The host events of each thread of a process, in order of time: calls that made operations, other calls, and
 * collectives. The rows of a thread's events are mostly adjacent in the trace and ordered by time, so the order is
 * stored as runs of adjacent rows. */
#ifndef WALLSHIM_MODEL_HOST_H
#define WALLSHIM_MODEL_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "model/model.h"

enum ws_host_kind { WS_HOST_OP, WS_HOST_CALL, WS_HOST_COLLECTIVE, WS_HOST_KINDS };

/* Adjacent rows of one thread, ordered by start. */
struct ws_host_run {
    uint32_t first;  /* the run's first row: an index into ws_process.ops, .calls or .collectives */
    uint32_t before; /* number of events in the list's earlier runs */
};

/* The events of one kind and one thread, ordered by start. */
struct ws_host_list {
    struct ws_vector
        runs;       /* struct ws_host_run; a list with runs ends with an extra run, whose `before` equals `count` */
    uint32_t count; /* number of events in the list */
};

/* The lists of the threads that made operations. A thread's index here is its index in ws_ops.threads. */
struct ws_host {
    const struct ws_process *process;
    size_t thread_count;
    struct ws_host_list *lists[WS_HOST_KINDS]; /* for each kind of event: one list per thread */
};

struct ws_host_event {
    enum ws_host_kind kind;
    uint32_t index;
    int64_t begin, end;
};

/* A position in the events of a thread. For each of the thread's lists, holds the index of an event (`place`) and the
 * index of a run near that event (`run`). In a new cursor all these indices are 0. */
struct ws_host_cursor {
    size_t thread;
    size_t place[WS_HOST_KINDS];
    size_t run[WS_HOST_KINDS];
};

/* Returns 0 or -ENOMEM. The process must outlive host. */
int ws_host_init(struct ws_host *host, const struct ws_process *process);
void ws_host_finish(struct ws_host *host);

/* Moves the cursor to `time`. In each of the three lists the cursor then stands at the first event that begins at or
 * after `time`. If the preceding event ends after `time`, the cursor stands at the preceding event instead. The cost
 * is logarithmic in the distance moved. */
void ws_host_seek(const struct ws_host *host, struct ws_host_cursor *cursor, int64_t time);

/* Finds the event that begins next in the three lists. Stores the event in *event, and moves the cursor past the
 * event. Returns false if no further event begins before `until`. */
bool ws_host_next(const struct ws_host *host, struct ws_host_cursor *cursor, int64_t until,
                  struct ws_host_event *event);

#endif
