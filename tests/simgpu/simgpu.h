/* What the simulated driver exports beyond the real one's names, for the test programs and for the
 * other simulated libraries. Find these with dlsym: the real driver has none of them. */
#ifndef SIMGPU_H
#define SIMGPU_H

#include <stdint.h>

typedef void (*simgpu_run)(void **parameters, const unsigned grid[3], const unsigned block[3]);
typedef uint64_t (*simgpu_duration)(void **parameters, const unsigned grid[3], const unsigned block[3]);

/* Asked until it answers the operation's end in host nanoseconds (CLOCK_MONOTONIC); -1: not yet known. */
typedef int64_t (*simgpu_poll)(void **parameters, int64_t start_host_ns);

/* From now on kernels of this name do run(…) and take duration(…) nanoseconds. Either may be NULL. Call it
 * before the module that holds the kernel is loaded. The name is copied. 0, or -1 when the table is full. */
int simgpuRegisterKernel(const char *name, simgpu_run run, simgpu_duration duration);

/* A kernel that ends when something outside the device says so: a collective. */
int simgpuRegisterPolledKernel(const char *name, simgpu_run run, simgpu_poll poll);

#endif
