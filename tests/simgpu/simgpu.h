/* What the simulated driver exports beyond the real one's names, for the test programs and for the
 * other simulated libraries. Find these with dlsym: the real driver has none of them. */
#ifndef SIMGPU_H
#define SIMGPU_H

#include <stdint.h>

typedef void (*simgpu_run)(void **parameters, const unsigned grid[3], const unsigned block[3]);
typedef uint64_t (*simgpu_duration)(void **parameters, const unsigned grid[3], const unsigned block[3]);

/* Called once when the kernel has begun and all before it in its stream is done; start: CLOCK_MONOTONIC ns. */
typedef void (*simgpu_begin)(void **parameters, int64_t start_host_ns);

/* Asked from then on until it answers the operation's end in host nanoseconds; -1: not yet known. It may not
 * call the driver. */
typedef int64_t (*simgpu_poll)(void **parameters, int64_t start_host_ns);

/* From now on kernels of this name (ending in '*': of names that begin so) do run(…) and take duration(…)
 * nanoseconds. Either may be NULL. Call it before the module that holds the kernel is loaded. The name is copied. 0,
 * or -1 when the table is full. */
int simgpuRegisterKernel(const char *name, simgpu_run run, simgpu_duration duration);

/* A kernel that ends when something outside the device says so: a collective. */
int simgpuRegisterPolledKernel(const char *name, simgpu_begin begin, simgpu_run run, simgpu_poll poll);

/* What its device can do, for libraries that say how long their kernels take. */
struct simgpu_device {
    int capability;                    /* 90 for 9.0 */
    double bytes_per_ns, flops_per_ns; /* of its memory; of bf16 or, before there was that, fp16 */
};

/* The simulated devices are all alike. */
void simgpuDescribeDevice(struct simgpu_device *device);

/* What a kernel computes and moves, for the hardware counters of the simulated CUPTI. */
enum simgpu_precision {
    SIMGPU_FP64,
    SIMGPU_FP32,
    SIMGPU_TF32,
    SIMGPU_FP16,
    SIMGPU_BF16,
    SIMGPU_FP8,
    SIMGPU_INT8,
    SIMGPU_FP4,
    SIMGPU_PRECISIONS
};
struct simgpu_work {
    uint64_t bytes_read, bytes_written; /* of device memory */
    uint64_t flops[SIMGPU_PRECISIONS];  /* by ordinary cores */
    uint64_t tensor[SIMGPU_PRECISIONS]; /* by tensor cores */
};
typedef void (*simgpu_count)(void **parameters, const unsigned grid[3], const unsigned block[3],
                             struct simgpu_work *work);

/* Says what kernels of a name that was registered before compute and move; the work given is all 0. 0, or -1 when
 * there is no such kernel. */
int simgpuRegisterWork(const char *name, simgpu_count count);

/* Sums over the kernels that have ended on the device by now, and the ns they took. Looks the clock up: what is still
 * running is not in it. Returns 0, or -1 when there is no such device. */
struct simgpu_counters {
    uint64_t kernels, ns;
    struct simgpu_work work;
};
int simgpuCounters(int device, struct simgpu_counters *counters);

/* The chip as CUPTI calls it: "GH100"; NULL when there is no such device. */
const char *simgpuChip(int device);

/* Retains a device's primary context (a CUcontext) by none of the driver's functions, as who has its private tables
 * may. NULL when there is no such device. */
void *simgpuRetainPrimary(int device);

/* The device of a context (a CUcontext), or -1. */
int simgpuDeviceOf(void *context);

#endif
