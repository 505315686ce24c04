/* Memory taken and given back: what lives when, the peak, how much of it happens in steady steps, and whether it
 * grows from step to step.
 *
 * What the driver is asked for is memory of the device or pinned memory of the host; behind a caching allocator it
 * is asked rarely, and for large pieces. What the framework's allocator hands out of them is a pool of its own,
 * where the trace has it. Times are the host's: memory lives from the return of the call that took it to the begin
 * of the one that gives it back.
 */
#ifndef WALLSHIM_ANALYSIS_MEMORY_H
#define WALLSHIM_ANALYSIS_MEMORY_H

#include <stdint.h>

#include "analysis/registry.h"

enum ws_memory_pool {
    WS_MEMORY_DEVICE,    /* the driver's, of the device */
    WS_MEMORY_PINNED,    /* the driver's, of the host */
    WS_MEMORY_FRAMEWORK, /* the framework's allocator's, of the device */
    WS_MEMORY_POOL_COUNT
};

enum {
    WS_MEMORY_POINTS = 200,     /* of a timeline, at most */
    WS_MEMORY_FULL_PERCENT = 90 /* of the device's memory, as PyTorch's TensorBoard plugin has it */
};

/* Calls that take or give back memory. */
struct ws_memory_calls {
    uint64_t takes, gives, waits; /* waits: of gives, those that wait for the device first */
    int64_t time, wait_time;      /* of the host, in all and in waits */
};

struct ws_memory_use {
    struct ws_memory_calls all, steady; /* in steady steps */
    uint64_t unsized;                   /* takes whose size the trace does not hold */
    uint64_t unmatched;                 /* gives of what was never taken, or taken before the recording */
    uint64_t peak, end;                 /* bytes alive at most, and at last: of what was taken in the recording */
    int64_t peak_time;
    uint64_t most[WS_MEMORY_POINTS]; /* alive in each slice of the time at most */
};

struct ws_track_memory {
    struct ws_memory_use pools[WS_MEMORY_POOL_COUNT];
    int64_t begin, slice;  /* of the timelines: begin, length of a slice; slice 0: there is none */
    uint64_t device_bytes; /* 0: not known */
    size_t steps;          /* steady ones; 0: there are none */

    /* Of the framework's pool if there is one, else the device's. */
    int64_t growth;     /* bytes a steady step, over the second half of them; 0: none that lasts */
    size_t grown_steps; /* of the second half: those at whose end more lived than a step before */
};

extern const struct ws_analysis ws_analysis_memory;

/* How a report shows it: memory_report.c. */
void ws_memory_text(const struct ws_report *report, size_t subject, const void *result, struct ws_page *page);
int ws_memory_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);

/* Bytes alive at most, of the device's and of pinned memory: no array of a kernel is larger. 0 where not all that was
 * taken was seen with its size: in other profilers' traces, in those that do not hold all of the program, and where a
 * process has several devices, which may read each other's. Globals of modules are not in it. */
uint64_t ws_memory_most(const struct ws_report *report, size_t subject);

static inline bool ws_memory_is_used(const struct ws_memory_use *use)
{
    return use->all.takes || use->all.gives;
}

#endif
