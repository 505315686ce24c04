/* The live figures of one process on one device: busy time, gaps and their causes, exposed communication, storms.
 *
 * Busy time is the length of the union of the operations' intervals. Operations come nearly in order of time, but a
 * long kernel comes after short ones that began later. So operations wait in a buffer until they are half a second
 * older than the newest one. Then they are counted in order of their begins (the sweep). Busy times and gaps before
 * the sweep's position (`now`) do not change any more. An operation that comes too late counts only from that
 * position on, because its earlier time may have been counted as a gap; `late` counts such operations. If the buffer
 * is full, the older half of its operations is counted at once. */
#ifndef WALLSHIM_COLLECTOR_FIGURES_DEVICE_H
#define WALLSHIM_COLLECTOR_FIGURES_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/figures_waits.h"
#include "record/record.h"

enum {
    FIGURES_UUID_SIZE = 48,
    FIGURES_SETTLE_NS = 500000000,
    FIGURES_BUFFER_MAX = 8192, /* most operations that wait in the buffer to be counted */
};

/* Groups of operations. The report (analysis/activity) has the same groups. */
enum figures_group { FIGURES_COMPUTE, FIGURES_COMMUNICATION, FIGURES_MEMORY, FIGURES_GROUPS };

/* Causes of idle time, as far as they can be found while records come in. The report uses the same names, and finds
 * more causes, because it also looks at ranges, steps and other streams. X(NAME, "label"):
 *
 * The idle time before an operation has up to two parts. The part before the operation was queued is the delay.
 *
 * SYNC, ALLOCATION: the delay, if the launching thread spent a quarter of it or more waiting or allocating
 * LAUNCH: any other delay of less than 0.1 ms, or any other delay of which the launch call took more than half
 * DISPATCH: the part after the operation was queued, if it is at most 20 µs long
 * WAIT: the part after the operation was queued, if it is longer than 20 µs
 * UNKNOWN: any other delay, and all idle time before an operation whose launch is not known */
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

/* Classes of launches: the kinds of operations, and one more for the kernels of NCCL. */
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
    uint32_t thread; /* id of the thread that launched it; 0: the launch is not known */
    uint32_t group;
};

/* Sums over a quarter of a second, to detect launch storms. In a launch storm the device runs many short operations,
 * with gaps between them because launching an operation takes longer than running it. */
struct figures_window {
    int64_t begin;
    uint64_t operations, launch_gaps;
    int64_t run_ns, launch_gap_ns;
};

struct figures_device {
    struct figures_device *next;
    char uuid[FIGURES_UUID_SIZE]; /* "unknown" if the client gives none */
    bool used;                    /* false: the driver lists the device, but the process has run nothing on it */
    uint64_t launches[FIGURES_CLASSES];
    uint64_t copied_bytes[FIGURES_DIRECTIONS];
    int64_t busy_ns, group_ns[FIGURES_GROUPS], exposed_ns; /* exposed_ns: time of communication without compute */
    int64_t gap_ns[FIGURES_CAUSE_COUNT];
    uint64_t late;
    bool storm;
    struct figures_window window;
    struct figures_op *buffer;
    uint32_t count, capacity;
    bool unsorted, changed; /* changed: an operation came since the last figures_device_tick */
    bool begun;
    int64_t newest;                /* latest begin of an operation in `buffer` */
    int64_t now;                   /* time up to which busy times and gaps are counted; it only grows */
    int64_t reach[FIGURES_GROUPS]; /* latest end of the operations counted so far, by group */
};

/* Adds an operation with end > begin. `waits`: when the threads of the device's process waited. */
void figures_device_add(struct figures_device *device, struct figures_memory *memory,
                        const struct figures_waits *waits, const struct figures_op *op);

/* Counts the operations of the buffer that are FIGURES_SETTLE_NS older than the newest one. Counts all of them if
 * none was added since this function was last called. */
void figures_device_tick(struct figures_device *device, const struct figures_waits *waits);

/* Counts all operations of the buffer. */
void figures_device_settle(struct figures_device *device, const struct figures_waits *waits);

void figures_device_finish(struct figures_device *device, struct figures_memory *memory);

#endif
