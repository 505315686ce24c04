/* A time during which the clocks of the simulated devices are held down. The simulated libcuda runs kernels more
 * slowly during it, and the simulated libnvidia-ml reports the lower clock and the reasons.
 *
 * SIMGPU_THROTTLE=BEGIN-END:MHZ:REASONS, where BEGIN and END are in ns of CLOCK_MONOTONIC, MHZ is the clock during
 * that time, and REASONS are NVML's clocks event reasons in hexadecimal. */
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
