/* Host time in nanoseconds of CLOCK_MONOTONIC. Every host time in a trace is on this clock. */
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

/* The cheapest clock of the CPU: the time-stamp counter on x86-64, the virtual counter on aarch64. On machines that
 * run CUDA it ticks at a constant rate. shim/timing/ticks.c finds that rate by comparison with ws_clock_ns. */
static inline uint64_t ws_clock_ticks(void)
{
#if defined(__x86_64__)
    uint64_t low, high; /* rdtsc clears the upper halves of both registers */
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

/* Stores the time that ws_clock_ticks returns. On x86-64 this function stores the two halves separately, which takes
 * one instruction less than joining them first. */
static inline __attribute__((always_inline)) void ws_clock_store_ticks(uint64_t *to)
{
#if defined(__x86_64__)
    typedef uint32_t __attribute__((may_alias)) half;
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    ((volatile half *)to)[0] = low;
    ((volatile half *)to)[1] = high;
#else
    *to = ws_clock_ticks();
#endif
}

#endif
