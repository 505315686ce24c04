/* A window of a recording: only a part of a process's rows is read, as if the recording had begun and ended at the
 * window's edges.
 *
 * A call, an operation or a collective is in the window if its host call began in the window. The time at which an
 * operation ran on the device does not matter. So if one window begins where another ends, an operation is in only
 * one of the two. If the trace lacks the launch of an operation, both host times of the operation equal its start on
 * the device. In this case, that start decides.
 * - Ranges are cut at the edges. A step marker is in the window only if it begins and ends in the window.
 * - Losses are in the window if they were counted in the window or up to WS_LOSSES_LATE ns after it. Losses that were
 *   counted at an unknown time are in every window.
 * - All rows that other rows refer to are read: names, streams, shapes, clocks. */
#ifndef WALLSHIM_MODEL_WINDOW_H
#define WALLSHIM_MODEL_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/interval.h"
#include "base/vector.h"
#include "record/record.h"

/* The longest time in ns from a loss to the row that counts it: the shim writes counts every 250 ms, and may be late.
 */
enum { WS_LOSSES_LATE = 300000000 };

/* Facts about a device that come from the whole recording. Times are in ns of the host's clock. */
struct ws_window_device {
    uint32_t device; /* ordinal of the device + 1; 0: unknown */
    bool later;      /* the recording has operations on this device that were launched before the window */
    int64_t first;   /* start of the device's first operation in the whole recording */
    /* The intervals of operations that are not in the window, but ran between the first start and the last end of the
     * window's operations. */
    struct ws_interval_set outside;
};

struct ws_window {
    const char *path, *file; /* paths of the process's file, as in struct ws_process */
    size_t part;
    int64_t begin, end;       /* start and end in ns of the process's own host clock; `end` is not in the window */
    struct ws_vector devices; /* elements: struct ws_window_device */
};

static inline bool ws_window_holds(const struct ws_window *window, int64_t host_begin)
{
    return host_begin >= window->begin && host_begin < window->end;
}

/* Is a row of this family in the window? Cuts a range at the window's edges. */
bool ws_window_take(const struct ws_window *window, enum ws_family family, void *row);

/* Returns the facts about the device, or NULL if the window lists none. */
const struct ws_window_device *ws_window_device(const struct ws_window *window, uint32_t device);

#endif
