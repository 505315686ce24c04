/* The live figures of one process on one device: busy time, gaps and their causes, exposed communication, storms.
 *
 * Busy time is the length of a union of intervals. Operations come nearly in order: each thread and stream is in
 * order, but a long kernel comes after short ones that began later. So they wait in a buffer until they are half a
 * second older than the newest one. Then they are sorted by their begin and swept. The time up to the sweep's
 * position is final. An operation that comes still later counts only from that position on, and is counted in `late`:
 * its time before that may have been counted as a gap. If the buffer is full, its older half is swept at once. */
#ifndef WALLSHIM_COLLECTOR_FIGURES_DEVICE_H
#define WALLSHIM_COLLECTOR_FIGURES_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/figures_waits.h"
#include "record/record.h"

enum {
    FIGURES_UUID_SIZE = 48,
    FIGURES_SETTLE_NS = 500000000,
    FIGURES_BUFFER_MAX = 8192, /* operations that wait for the sweep */
};

/* What runs: the groups of the report (analysis/activity). */
enum figures_group { FIGURES_COMPUTE, FIGURES_COMMUNICATION, FIGURES_MEMORY, FIGURES_GROUPS };

/* Why the device was idle, as far as that can be known at once. The names are those of the report. X(NAME, "label"):
 * SYNC, ALLOCATION: the launch came late, and its thread was in such calls for a quarter of that time;
 * LAUNCH: the launch came late by less than 0.1 ms, so the thread did nothing else for long; or its call took long;
 * DISPATCH, WAIT: the launch had been there before, and the gap was up to 20 µs or longer;
 * UNKNOWN: the rest. The report knows more: it sees ranges, steps and other streams. */
#define FIGURES_CAUSES(X)       \
    X(SYNC, "sync")             \
    X(ALLOCATION, "allocation") \
    X(LAUNCH, "launch")         \
    X(DISPATCH, "dispatch")     \
    X(WAIT, "wait")             \
    X(UNKNOWN, "unknown")

enum figures_cause {
#define FIGURES_CAUSE(name, label) FIGURES_CAUSE_##name,
    FIGURES_CAUSES(FIGURES_CAUSE)
#undef FIGURES_CAUSE
        FIGURES_CAUSE_COUNT
};

/* Classes of launches: kinds of operations, and one more for kernels that NCCL launched. */
enum { FIGURES_CLASS_COMMUNICATION = WS_OP_KIND_COUNT, FIGURES_CLASSES };

enum figures_direction {
    FIGURES_UNKNOWN_DIRECTION,
    FIGURES_HOST_TO_DEVICE,
    FIGURES_DEVICE_TO_HOST,
    FIGURES_DEVICE_TO_DEVICE,
    FIGURES_HOST_TO_HOST,
    FIGURES_DIRECTIONS
};

/* One operation. Times are of the host's clock, in ns. */
struct figures_op {
    int64_t begin, end;
    int64_t launch_begin, launch_end;
    uint32_t thread; /* 0: the launch is not known */
    uint32_t group;
};

/* Operations of a quarter of a second, for the storm flag. */
struct figures_window {
    int64_t begin;
    uint64_t operations, launch_gaps;
    int64_t run_ns, launch_gap_ns;
};

struct figures_device {
    struct figures_device *next;
    char uuid[FIGURES_UUID_SIZE]; /* "unknown" if the client gives none */
    bool used; /* something ran on it: the driver names devices that the process leaves alone, too */
    uint64_t launches[FIGURES_CLASSES];
    uint64_t copied_bytes[FIGURES_DIRECTIONS];
    int64_t busy_ns, group_ns[FIGURES_GROUPS], exposed_ns; /* exposed: communication outside compute */
    int64_t gap_ns[FIGURES_CAUSE_COUNT];
    uint64_t late;
    bool storm;
    struct figures_window window;
    struct figures_op *buffer;
    uint32_t count, capacity;
    bool unsorted, changed; /* changed: an operation came since the last figures_device_tick */
    bool begun;
    int64_t newest;                /* latest begin */
    int64_t now;                   /* the sweep's position: all time before it is counted */
    int64_t reach[FIGURES_GROUPS]; /* latest end of the operations that have begun */
};

/* Adds an operation with end > begin. `waits`: of the process. */
void figures_device_add(struct figures_device *device, struct figures_memory *memory,
                        const struct figures_waits *waits, const struct figures_op *op);

/* Sweeps what has settled; everything if nothing came since the last call. */
void figures_device_tick(struct figures_device *device, const struct figures_waits *waits);

/* Sweeps everything. */
void figures_device_settle(struct figures_device *device, const struct figures_waits *waits);

void figures_device_finish(struct figures_device *device, struct figures_memory *memory);

#endif
