/* How the launching threads spent a window of host time: ns in each kind of call, and ns outside calls. Time outside
 * calls is divided into waiting for input, collectives, and the program's own work.
 */
#ifndef WALLSHIM_ANALYSIS_ACTIVITY_HOST_TIME_H
#define WALLSHIM_ANALYSIS_ACTIVITY_HOST_TIME_H

#include "base/interval.h"
#include "model/host.h"
#include "report/analysis.h"

enum ws_host_use {
    WS_USE_SYNC,       /* calls that wait for the device; launches and copies whose call blocked (WS_OP_BLOCKING,
                          WS_COPY_CALL_MOST) */
    WS_USE_ALLOCATION, /* allocating and freeing memory, creating contexts and streams, and loading modules; first
                          launches longer than WS_LAUNCH_MOST, which probably load modules */
    WS_USE_COMM,       /* NCCL calls; time outside calls in a range that marks a collective */
    WS_USE_LAUNCH,     /* calls that launch operations, and calls of no kind listed above */
    WS_USE_INPUT,      /* time outside calls in a range named like a data loader */
    WS_USE_OWN,        /* all other time outside calls: work of the program and its framework */
    WS_USE_COUNT
};

/* ns. If the first launch of a kernel takes longer than this, we assume that the launch also loaded the kernel's
 * module: the driver loads modules lazily. Other launches take 2 to 20 µs, except launches of graphs. The threshold
 * is our choice.
 */
#define WS_LAUNCH_MOST 500000

/* ns. We assume that a copy blocked if its call took longer than this and the copy ran within the call. Copies from
 * or to pageable memory may block, even asynchronous ones. The threshold is our choice: several times the length of a
 * call that does not wait. */
#define WS_COPY_CALL_MOST 50000

struct ws_host_time {
    struct ws_host host;
    uint32_t *firsts; /* by index in ws_model.names: the first operation of this name; UINT32_MAX: none */
    /* by index in ws_process.driver_functions: the use (enum ws_host_use) of the time in calls of the function */
    uint8_t *functions;
    struct ws_interval_set *input; /* by thread: the thread's ranges that are named like a data loader */
    struct ws_interval_set *comm;  /* by thread: the thread's ranges of collectives */
};

/* How a thread spent a window of host time. Times are in ns. */
struct ws_host_window {
    int64_t used[WS_USE_COUNT];  /* time of each use within the window; adds up to the window's length */
    int64_t whole[WS_USE_COUNT]; /* full length of the calls that touch the window, including the parts outside it */
    uint32_t calls;              /* number of calls that touch the window */
    struct {
        int64_t length; /* ns of the longest call within the window; 0: no call of this use */
        struct ws_host_event event;
    } longest[WS_USE_COUNT]; /* by use: the longest call; for WS_USE_INPUT and WS_USE_OWN, the longest time outside
                                calls */
};

/* This analysis runs once per process. It has no section of its own in the report. */
extern const struct ws_analysis ws_analysis_host_time;

/* Computes how the cursor's thread spent the window from `from` to `to`. The function is fastest if the windows of
 * successive calls with one cursor are in order of time. A host call that ended up to `slack` ns before `from` counts
 * as touching the window, because the clocks of host and device may differ by `slack`. */
void ws_host_time_window(const struct ws_host_time *time, struct ws_host_cursor *cursor, int64_t from, int64_t to,
                         int64_t slack, struct ws_host_window *window);

enum ws_host_use ws_host_time_use(const struct ws_host_time *time, const struct ws_host_event *event);

/* Does the driver function launch graphs, as cuGraphLaunch does? */
bool ws_launches_graph(const struct ws_process *process, uint32_t driver_function);

/* Did the call that launched the operation return only after the operation had ended? */
bool ws_op_blocks(const struct ws_process *process, uint32_t op);

/* Returns the id of the driver function that the event called; 0: not known. */
uint32_t ws_host_event_function(const struct ws_process *process, const struct ws_host_event *event);

static inline bool ws_is_host_to_device(const struct ws_shape *shape)
{
    return shape->kind == WS_OP_COPY && ws_space_is_host(shape->from_space) && !ws_space_is_host(shape->to_space);
}

#endif
