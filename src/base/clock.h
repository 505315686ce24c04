/* Host time: nanoseconds of CLOCK_MONOTONIC, the clock every host time in a trace is on. */
#ifndef WALLSHIM_BASE_CLOCK_H
#define WALLSHIM_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t ws_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The cheapest counter there is: the time-stamp counter on x86-64, the virtual counter on aarch64. It
 * ticks at a constant rate on the machines CUDA runs on; its rate is found by comparing with
 * ws_clock_ns (shim/ticks.c). */
static inline uint64_t ws_clock_ticks(void)
{
#if defined(__x86_64__)
    uint64_t low, high; /* the upper halves of both registers become 0 */
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return high << 32 | low;
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return (uint64_t)ws_clock_ns();
#endif
}

#endif
