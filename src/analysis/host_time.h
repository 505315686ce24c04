/* What the threads that launch work did with their time: how much of a stretch of host time went into
 * which kind of call, and how much of the rest into waiting for input or for other ranks.
 */
#ifndef WALLSHIM_ANALYSIS_HOST_TIME_H
#define WALLSHIM_ANALYSIS_HOST_TIME_H

#include "analysis/registry.h"
#include "base/interval.h"
#include "model/host.h"

enum ws_host_use {
    WS_USE_SYNC,       /* in calls that wait for the device, and in operations that block: as recorded, or seen */
    WS_USE_ALLOCATION, /* allocating or freeing memory, loading modules, making contexts and streams */
    WS_USE_COMM,       /* in NCCL's calls; in no call, inside a range of a collective */
    WS_USE_LAUNCH,     /* in calls that make operations, and in whatever other call */
    WS_USE_INPUT,      /* in no call, inside a range that names a loader of data */
    WS_USE_OWN,        /* in no call and no such range: the program's and its framework's own work */
    WS_USE_COUNT
};

/* A first launch of a kernel that takes longer than this did more than launch: the driver loads modules lazily.
 * Launches take 2 to 20 µs. The threshold is ours. */
#define WS_LAUNCH_MOST 500000

/* A copy whose call lasts longer than this and returns only when it is done blocked, whatever it was called: a copy
 * from or to pageable memory may. The threshold is ours: several times what a call takes that does not wait. */
#define WS_COPY_CALL_MOST 50000

struct ws_host_time {
    struct ws_host host;
    uint32_t *firsts;              /* first operation of each name */
    uint8_t *functions;            /* enum ws_host_use by place in ws_process.driver_functions */
    struct ws_interval_set *input; /* by thread */
    struct ws_interval_set *comm;
};

/* A stretch of a thread's time. */
struct ws_host_window {
    int64_t used[WS_USE_COUNT];  /* adds up to the length */
    int64_t whole[WS_USE_COUNT]; /* in calls that touch it, with what they lasted before it */
    uint32_t calls;              /* that touch it */
    struct {
        int64_t length; /* within the window; 0: none */
        struct ws_host_event event;
    } longest[WS_USE_COUNT]; /* call of each use; of WS_USE_INPUT and WS_USE_OWN the longest time in no call */
};

/* Of a process; no section of its own. */
extern const struct ws_analysis ws_analysis_host_time;

/* What the cursor's thread did from `from` to `to`. Cheapest when asked in order of time. A call that ended up
 * to `slack` before `from` touches the window too. */
void ws_host_time_window(const struct ws_host_time *time, struct ws_host_cursor *cursor, int64_t from, int64_t to,
                         int64_t slack, struct ws_host_window *window);

enum ws_host_use ws_host_time_use(const struct ws_host_time *time, const struct ws_host_event *event);

/* The function that an event called, in ws_process.driver_functions; 0 when not known. */
uint32_t ws_host_event_function(const struct ws_process *process, const struct ws_host_event *event);

static inline bool ws_is_host_to_device(const struct ws_shape *shape)
{
    return shape->kind == WS_OP_COPY &&
           (shape->from_space == WS_SPACE_PAGEABLE || shape->from_space == WS_SPACE_PINNED) &&
           shape->to_space != WS_SPACE_PAGEABLE && shape->to_space != WS_SPACE_PINNED;
}

/* Does the name of a range say that data are loaded in it? */
bool ws_is_input_range(const char *name);

#endif
