/* A time in which the simulated devices' clocks are held down. libcuda runs kernels more slowly in it, libnvidia-ml
 * says so.
 *
 * SIMGPU_THROTTLE=BEGIN-END:MHZ:REASONS   CLOCK_MONOTONIC ns; REASONS: NVML's clocks event reasons, in hexadecimal */
#ifndef SIMGPU_THROTTLE_H
#define SIMGPU_THROTTLE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct sim_throttle {
    long long begin, end;
    unsigned mhz;
    unsigned long long reasons;
};

/* Reads the environment. Without the variable, begin and end are 0. */
static inline struct sim_throttle sim_throttle_read(void)
{
    struct sim_throttle throttle = { 0 };
    const char *text = getenv("SIMGPU_THROTTLE");
    if (!text ||
        sscanf(text, "%lld-%lld:%u:%llx", &throttle.begin, &throttle.end, &throttle.mhz, &throttle.reasons) != 4)
        return (struct sim_throttle){ 0 };
    return throttle;
}

static inline int sim_throttle_holds(const struct sim_throttle *throttle, int64_t host_ns)
{
    return host_ns >= throttle->begin && host_ns < throttle->end;
}

#endif
