/* What each thread of a process did on the host, in order of time: the calls that made operations, the
 * other calls, and the collectives. Events of a thread mostly follow each other in the trace in that order, so orders
 * are kept by runs of rows.
 */
#ifndef WALLSHIM_MODEL_HOST_H
#define WALLSHIM_MODEL_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "model/model.h"

enum ws_host_kind { WS_HOST_OP, WS_HOST_CALL, WS_HOST_COLLECTIVE, WS_HOST_KINDS };

/* Rows one after the other that are one thread's, by begin. */
struct ws_host_run {
    uint32_t first;  /* index into ws_process.ops, .calls or .collectives */
    uint32_t before; /* events of the list before it */
};

/* Events of one kind of one thread, by begin. */
struct ws_host_list {
    struct ws_vector runs; /* struct ws_host_run; where there are any, one more ends the last of them */
    uint32_t count;        /* events */
};

/* Threads are those that made operations, by their place in ws_ops.threads. */
struct ws_host {
    const struct ws_process *process;
    size_t thread_count;
    struct ws_host_list *lists[WS_HOST_KINDS]; /* by thread */
};

struct ws_host_event {
    enum ws_host_kind kind;
    uint32_t index;
    int64_t begin, end;
};

/* The next events of a thread: a place in each of its lists, and about which run that is in. All 0 but for thread is
 * where any is. */
struct ws_host_cursor {
    size_t thread;
    size_t place[WS_HOST_KINDS];
    size_t run[WS_HOST_KINDS];
};

/* Returns 0 or -ENOMEM. The process outlives it. */
int ws_host_init(struct ws_host *host, const struct ws_process *process);
void ws_host_finish(struct ws_host *host);

/* Puts the cursor on the first events that reach beyond a time: that begin then or later, or are the last to
 * have begun before and end after it. Costs the logarithm of how far it moves. */
void ws_host_seek(const struct ws_host *host, struct ws_host_cursor *cursor, int64_t time);

/* Moves on to the event that begins next of all three lists, if it begins before `until`. */
bool ws_host_next(const struct ws_host *host, struct ws_host_cursor *cursor, int64_t until,
                  struct ws_host_event *event);

#endif
