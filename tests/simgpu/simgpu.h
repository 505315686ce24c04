/* Functions that only the simulated driver exports, for test programs and for the other simulated libraries. Find
 * them with dlsym: a program that links to them would not start with the real driver. */
#ifndef SIMGPU_H
#define SIMGPU_H

#include <stdint.h>

typedef void (*simgpu_run)(void **parameters, const unsigned grid[3], const unsigned block[3]);
typedef uint64_t (*simgpu_duration)(void **parameters, const unsigned grid[3], const unsigned block[3]);

/* Called once, when the kernel has begun and all work before it in its stream is done. start_host_ns is the kernel's
 * begin on CLOCK_MONOTONIC. */
typedef void (*simgpu_begin)(void **parameters, int64_t start_host_ns);

/* Called repeatedly after the begin function. It returns the kernel's end (CLOCK_MONOTONIC ns), or -1 while the end
 * is not known. It must not call the driver. */
typedef int64_t (*simgpu_poll)(void **parameters, int64_t start_host_ns);

/* After this call, kernels of this name compute run(…) and take duration(…) nanoseconds. A name that ends in '*'
 * stands for all names that begin with the text before it. run and duration may be NULL. Register a kernel before its
 * module is loaded. The name is copied. Returns 0, or -1 when the table is full. */
int simgpuRegisterKernel(const char *name, simgpu_run run, simgpu_duration duration);

/* Registers a kernel whose end does not depend on the device alone, such as the kernel of a collective: poll returns
 * its end. Returns the same as simgpuRegisterKernel. */
int simgpuRegisterPolledKernel(const char *name, simgpu_begin begin, simgpu_run run, simgpu_poll poll);

/* The speed of a simulated device, from which cuBLAS and cuDNN compute the durations of their kernels. */
struct simgpu_device {
    int capability;                    /* compute capability times 10: 90 for 9.0 */
    double bytes_per_ns, flops_per_ns; /* peaks of the memory and of bf16 arithmetic (of fp16 on GPUs without bf16) */
};

/* Describes any simulated device, as they are all alike. */
void simgpuDescribeDevice(struct simgpu_device *device);

/* The FLOPs and bytes of a kernel, for the hardware counters of the simulated CUPTI. */
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
    uint64_t bytes_read, bytes_written; /* bytes of device memory */
    uint64_t flops[SIMGPU_PRECISIONS];  /* FLOPs on ordinary cores */
    uint64_t tensor[SIMGPU_PRECISIONS]; /* FLOPs on tensor cores */
};
typedef void (*simgpu_count)(void **parameters, const unsigned grid[3], const unsigned block[3],
                             struct simgpu_work *work);

/* Registers the function `count`, which fills in the FLOPs and bytes of each kernel of this name. The structure
 * passed to it is all 0. Call simgpuRegisterKernel first. Returns 0, or -1 when no kernel of this name is
 * registered. */
int simgpuRegisterWork(const char *name, simgpu_count count);

/* Sums over the kernels that have ended on the device by now: their number, their durations in ns, and their work.
 * Kernels that still run do not count. Returns 0, or -1 when there is no such device. */
struct simgpu_counters {
    uint64_t kernels, ns;
    struct simgpu_work work;
};
int simgpuCounters(int device, struct simgpu_counters *counters);

/* CUPTI's name of the chip, such as "GH100"; NULL if there is no such device. */
const char *simgpuChip(int device);

/* Retains a device's primary context and returns it (a CUcontext). This stands for programs that retain it not with a
 * public function but through the driver's private tables (cuGetExportTable). NULL: no such device. */
void *simgpuRetainPrimary(int device);

/* The number of the device of a context (a CUcontext), or -1. */
int simgpuDeviceOf(void *context);

#endif
