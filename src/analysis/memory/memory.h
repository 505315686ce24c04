/* Memory allocated and freed: the bytes alive at each time, the peak, the allocations in steady steps, and whether
 * memory use grows from step to step.
 *
 * Programs allocate device memory and pinned host memory from the driver. A caching allocator calls the driver
 * rarely, and takes memory in large pieces. The trace may also hold the memory that a framework's allocator hands out
 * from these pieces. The framework's memory is counted as a pool of its own. Times are host times: memory is alive
 * from the return of the call that allocates it to the begin of the call that frees it. */
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
    WS_MEMORY_POINTS = 200,     /* most points of a timeline */
    WS_MEMORY_FULL_PERCENT = 90 /* memory counts as full above this percentage, as in PyTorch's TensorBoard plugin */
};

/* Calls that allocate (take) or free (give) memory. */
struct ws_memory_calls {
    uint64_t takes, gives, waits; /* waits: the gives whose call waits until the device is idle */
    int64_t time, wait_time;      /* host time in all calls, and in waits; ns */
};

struct ws_memory_use {
    struct ws_memory_calls all, steady; /* all calls; calls in steady steps */
    uint64_t unsized;                   /* takes of unknown size */
    uint64_t unmatched;                 /* gives of memory that was not taken in the recording */
    uint64_t peak, end;                 /* bytes alive at the peak and at the end, of memory taken in the recording */
    int64_t peak_time;
    uint64_t most[WS_MEMORY_POINTS]; /* most bytes alive in each slice of time */
};

struct ws_track_memory {
    struct ws_memory_use pools[WS_MEMORY_POOL_COUNT];
    int64_t begin, slice;  /* begin of the timelines and length of a slice, ns; slice 0: no timelines */
    uint64_t device_bytes; /* 0: not known */
    size_t steps;          /* number of steady steps; 0: none */

    /* growth and grown_steps are for the framework's pool if there is one, else for device memory. */
    int64_t growth;     /* bytes per steady step, over the second half of the steps; 0: no lasting growth */
    size_t grown_steps; /* steps of the second half that ended with more bytes alive than the step before */
};

extern const struct ws_analysis ws_analysis_memory;

/* defined in memory_report.c */
void ws_memory_text(const struct ws_report *report, size_t subject, const void *result, struct ws_page *page);
int ws_memory_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);

/* An upper limit of the size of a kernel's array: the peak of device memory plus the peak of pinned memory, in bytes.
 * Global variables of modules are not included. 0: not known, because the trace lacks some allocations or their
 * sizes. The result is always 0 for traces of other profilers, for traces of a part of the program, and for processes
 * with several devices, which may read each other's memory. */
uint64_t ws_memory_most(const struct ws_report *report, size_t subject);

static inline bool ws_memory_is_used(const struct ws_memory_use *use)
{
    return use->all.takes || use->all.gives;
}

#endif
