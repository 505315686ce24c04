/* A window of a recording: the part of a process that is read, as if recording had begun and ended there.
 *
 * A call, an operation and a collective are in the window if the host began the call there: an operation counts where
 * it was launched, whenever it runs. So each operation is in exactly one of two windows that meet. If the trace lacks
 * the launch, both host times of the operation equal its begin on the device, which then decides.
 * - Ranges are cut at the edges. Step markers are in the window only as a whole.
 * - Losses are in the window if they were counted there or up to WS_LOSSES_LATE ns later, or at an unknown time.
 * - Everything that other rows refer to is read: names, streams, shapes, clocks. */
#ifndef WALLSHIM_MODEL_WINDOW_H
#define WALLSHIM_MODEL_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/interval.h"
#include "base/vector.h"
#include "record/record.h"

/* ns. The longest time from a loss to the row that counts it: the shim writes counts every 250 ms, and may be late.
 */
enum { WS_LOSSES_LATE = 300000000 };

/* What the whole recording says of a device. Times are in ns of the host's clock. */
struct ws_window_device {
    uint32_t device; /* ordinal + 1; 0: unknown */
    bool later;      /* the window leaves out operations that were launched before it */
    int64_t first;   /* begin of the device's first operation */
    /* When work from outside the window ran, between the first begin and the last end of the window's operations. */
    struct ws_interval_set outside;
};

struct ws_window {
    const char *path, *file; /* as in struct ws_process */
    size_t part;
    int64_t begin, end;       /* ns of the process's own host clock; `end` is outside */
    struct ws_vector devices; /* struct ws_window_device */
};

static inline bool ws_window_holds(const struct ws_window *window, int64_t host_begin)
{
    return host_begin >= window->begin && host_begin < window->end;
}

/* Is a row of this family in the window? Cuts ranges at the window's edges. */
bool ws_window_take(const struct ws_window *window, enum ws_family family, void *row);

/* What the whole recording says of the device, or NULL. */
const struct ws_window_device *ws_window_device(const struct ws_window *window, uint32_t device);

#endif
