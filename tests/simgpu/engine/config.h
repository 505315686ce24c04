/* The values of the SIMGPU_* variables. The one table SIM_SETTINGS gives the members of the structure, the defaults
 * and the variables' names. */
#ifndef SIMGPU_CONFIG_H
#define SIMGPU_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/throttle.h"

/* X(field, variable, default): whole numbers. Times are nanoseconds. */
#define SIM_SETTINGS(X)                                                                                              \
    X(devices, "SIMGPU_DEVICES", 1)                                                                                  \
    X(memory, "SIMGPU_MEMORY", 0) /* bytes of memory per device; 0: as many as the GPU model has */                  \
    X(seed, "SIMGPU_SEED", 1)                                                                                        \
    X(jitter_percent, "SIMGPU_JITTER", 0)                                                                            \
    X(kernel_ns, "SIMGPU_KERNEL_NS", -1) /* ns of kernels without a known duration; -1: from name and grid */        \
    X(submit_ns, "SIMGPU_SUBMIT_NS", 1500)                                                                           \
    X(dispatch_ns, "SIMGPU_DISPATCH_NS", 930)                                                                        \
    X(event_dispatch_ns, "SIMGPU_EVENT_DISPATCH_NS", -1) /* -1: dispatch_ns plus 330 ns */                           \
    X(after_event_ns, "SIMGPU_AFTER_EVENT_NS", -1)       /* -1: event_dispatch_ns plus 900 ns */                     \
    X(launch_ns, "SIMGPU_LAUNCH_NS", 1500)                                                                           \
    X(event_record_ns, "SIMGPU_EVENT_RECORD_NS", 2500)                                                               \
    X(event_create_ns, "SIMGPU_EVENT_CREATE_NS", 4000)                                                               \
    X(event_plain_ns, "SIMGPU_EVENT_RECORD_UNTIMED_NS", 240)                                                         \
    X(allocate_ns, "SIMGPU_ALLOCATE_NS", 0)                                                                          \
    X(module_ns, "SIMGPU_MODULE_NS", 0)                                                                              \
    X(event_query_ns, "SIMGPU_EVENT_QUERY_NS", 1050)                                                                 \
    X(event_resolution_ns, "SIMGPU_EVENT_RESOLUTION_NS", 32)                                                         \
    X(spin_ns, "SIMGPU_SPIN_NS", 80000)                                                                              \
    X(clock_drift_ppm, "SIMGPU_CLOCK_DRIFT_PPM", 20)                                                                 \
    X(clock_offset_ns, "SIMGPU_CLOCK_OFFSET_NS", 1000000000)                                                         \
    X(queue_depth, "SIMGPU_QUEUE_DEPTH", 1024)                                                                       \
    X(kernel_data, "SIMGPU_KERNEL_DATA", 1)                                                                          \
    X(copy_data, "SIMGPU_COPY_DATA", 1)                                                                              \
    X(stream_values, "SIMGPU_STREAM_VALUES", 1)   /* 0: stream memory operations are not supported */                \
    X(slowdown, "SIMGPU_SLOWDOWN", 1)             /* divides the GPU model's peak bandwidth and FLOP/s */            \
    X(verbose, "SIMGPU_VERBOSE", 0)               /* 1: prints a line for each look-up of a function */              \
    X(handles_again, "SIMGPU_HANDLES_AGAIN", 0)   /* 1: new functions reuse the handles of freed functions */        \
    X(capture_strict, "SIMGPU_CAPTURE_STRICT", 0) /* 1: calls fail if not documented as allowed in captures */       \
    X(late_exit, "SIMGPU_LATE_EXIT", 0)           /* 1: sets the exit handler at the first context, not in cuInit */ \
    X(stale_aborts, "SIMGPU_STALE_ABORTS", 0)     /* 1: the use of a stale handle aborts */                          \
    X(hold_signals, "SIMGPU_HOLD_SIGNALS", 0)     /* 1: no signal handler runs inside a driver call */               \
    X(truth_rows, "SIMGPU_TRUTH_ROWS", 1 << 16)                                                                      \
    X(truth_sync, "SIMGPU_TRUTH_SYNC", 0)

struct sim_config {
#define X(field, variable, fallback) int64_t field;
    SIM_SETTINGS(X)
#undef X
    int driver_version;
    const char *gpu;   /* name of the GPU model */
    const char *truth; /* path of the truth file (all operations with their times); NULL: no such file */
    struct sim_throttle throttle;
};

extern struct sim_config sim_config;

/* Reads the environment, in the first call only. */
void sim_config_load(void);

#endif
