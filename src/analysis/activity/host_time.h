/* How the launching threads spent their time: how much of a stretch of host time went into each kind of call,
 * and how much of the time outside calls was spent waiting for input or for other ranks.
 */
#ifndef WALLSHIM_ANALYSIS_ACTIVITY_HOST_TIME_H
#define WALLSHIM_ANALYSIS_ACTIVITY_HOST_TIME_H

#include "base/interval.h"
#include "model/host.h"
#include "report/analysis.h"

enum ws_host_use {
    WS_USE_SYNC, /* calls that wait for the device; launches and copies whose call blocked, by their flag or times */
    WS_USE_ALLOCATION, /* allocating and freeing memory, loading modules, creating contexts and streams */
    WS_USE_COMM,       /* NCCL calls; time outside calls, inside a range of a collective */
    WS_USE_LAUNCH,     /* calls that launch operations, and all other calls */
    WS_USE_INPUT,      /* time outside calls, inside a range named like a data loader */
    WS_USE_OWN,        /* all other time outside calls: work of the program and its framework */
    WS_USE_COUNT
};

/* ns. A kernel's first launch that takes longer than this also loaded its module, as the driver loads modules
 * lazily. A launch takes 2 to 20 µs. The threshold is our choice. */
#define WS_LAUNCH_MOST 500000

/* ns. A copy blocked if its call took longer than this and returned after the copy had finished. Copies from or
 * to pageable memory may block, even asynchronous ones. The threshold is our choice: several times the length
 * of a call that does not wait. */
#define WS_COPY_CALL_MOST 50000

struct ws_host_time {
    struct ws_host host;
    uint32_t *firsts;              /* by name: the first operation of this name */
    uint8_t *functions;            /* enum ws_host_use by index in ws_process.driver_functions */
    struct ws_interval_set *input; /* by thread: its ranges named like a data loader */
    struct ws_interval_set *comm;  /* by thread: its ranges of collectives */
};

/* How a thread spent a stretch of its time. Times are in ns. */
struct ws_host_window {
    int64_t used[WS_USE_COUNT];  /* within the stretch; adds up to its length */
    int64_t whole[WS_USE_COUNT]; /* full length of the calls that touch the stretch, including what lies outside it */
    uint32_t calls;              /* calls that touch the stretch */
    struct {
        int64_t length; /* within the window; 0: none */
        struct ws_host_event event;
    } longest[WS_USE_COUNT]; /* the longest call by use; for WS_USE_INPUT and WS_USE_OWN the longest time outside
                                calls */
};

/* Scope: process. It has no section in the report. */
extern const struct ws_analysis ws_analysis_host_time;

/* What the cursor's thread did from `from` to `to`, the window. Fastest if windows are asked for in order of
 * time. A call that ended at most `slack` ns before `from` touches the window too, because clocks may be off by
 * that much. */
void ws_host_time_window(const struct ws_host_time *time, struct ws_host_cursor *cursor, int64_t from, int64_t to,
                         int64_t slack, struct ws_host_window *window);

enum ws_host_use ws_host_time_use(const struct ws_host_time *time, const struct ws_host_event *event);

/* The index in ws_process.driver_functions of the function that was called; 0: not known. */
uint32_t ws_host_event_function(const struct ws_process *process, const struct ws_host_event *event);

static inline bool ws_is_host_to_device(const struct ws_shape *shape)
{
    return shape->kind == WS_OP_COPY &&
           (shape->from_space == WS_SPACE_PAGEABLE || shape->from_space == WS_SPACE_PINNED) &&
           shape->to_space != WS_SPACE_PAGEABLE && shape->to_space != WS_SPACE_PINNED;
}

#endif
