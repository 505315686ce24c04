/* Memory allocated and freed: the bytes alive (allocated and not yet freed) at each time, their peak, the allocations
 * in steady steps, and whether the bytes alive grow from step to step.
 *
 * Programs allocate device memory and pinned host memory from the driver. A caching allocator calls the driver
 * rarely, and allocates memory in large pieces. The trace may also hold the memory that a framework's allocator hands
 * out from these pieces. This handed-out memory is counted separately, as a pool of its own. Times are host times:
 * memory is alive from the return of the call that allocates it to the start of the call that frees it. */
#ifndef WALLSHIM_ANALYSIS_MEMORY_MEMORY_H
#define WALLSHIM_ANALYSIS_MEMORY_MEMORY_H

#include <stdint.h>

#include "report/analysis.h"

enum ws_memory_pool {
    WS_MEMORY_DEVICE,    /* device memory from the driver */
    WS_MEMORY_PINNED,    /* pinned host memory from the driver */
    WS_MEMORY_FRAMEWORK, /* device memory from the framework's allocator */
    WS_MEMORY_POOL_COUNT
};

enum {
    WS_MEMORY_POINTS = 200, /* number of points of a timeline */
    /* memory counts as full if more than this percentage is in use, as in PyTorch's TensorBoard plugin */
    WS_MEMORY_FULL_PERCENT = 90
};

/* Calls that allocate (take) or free (give) memory. */
struct ws_memory_calls {
    uint64_t takes, gives, waits; /* numbers of calls; `waits`: number of gives that wait until the device is idle */
    /* time: ns that the host spent in all takes and gives; wait_time: ns in the calls that `waits` counts */
    int64_t time, wait_time;
};

struct ws_memory_use {
    struct ws_memory_calls all, steady; /* calls in the whole recording; calls in steady steps */
    uint64_t unsized;                   /* number of takes (calls that allocate) of unknown size */
    uint64_t unmatched;                 /* number of gives (calls that free) of memory whose allocation was not
                                           recorded */
    /* bytes alive (allocated and not yet freed) at the peak and at the end of the recording, without memory that was
     * allocated before the recording */
    uint64_t peak, end;
    int64_t peak_time;
    uint64_t most[WS_MEMORY_POINTS]; /* the timeline: for each slice of time, the most bytes alive in the slice */
};

struct ws_track_memory {
    struct ws_memory_use pools[WS_MEMORY_POOL_COUNT];
    /* start of the timelines, and length of one slice, both in ns; `slice` 0: there are no timelines */
    int64_t begin, slice;
    uint64_t device_bytes; /* size of the device's memory; 0: not known */
    size_t steps;          /* number of steady steps */

    /* `growth` and `grown_steps` describe the framework's pool if the trace has one, else the pool of device
     * memory. */
    /* bytes by which memory use grew per steady step, in the second half of the steady steps; 0: no lasting growth */
    int64_t growth;
    /* number of steady steps in the second half that ended with more bytes alive than the steady step before */
    size_t grown_steps;
};

extern const struct ws_analysis ws_analysis_memory;

/* defined in memory_report.c */
void ws_memory_text(const struct ws_report *report, size_t subject, const void *result, struct ws_page *page);
int ws_memory_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);

/* Returns an upper limit of the size of an array that a kernel can access: the peak of device memory plus the peak of
 * pinned memory, in bytes. Global variables of modules are not included. Returns 0 if this limit is not known,
 * because the trace lacks some allocations or their sizes. The result is always 0 for traces of other profilers, and
 * for traces in which some calls of the program were only counted. It is also 0 for processes with several devices,
 * because devices may read each other's memory. Memory that was allocated before the recording is noticed only if it
 * is freed during the recording. */
uint64_t ws_memory_most(const struct ws_report *report, size_t subject);

static inline bool ws_memory_is_used(const struct ws_memory_use *use)
{
    return use->all.takes || use->all.gives;
}

#endif
