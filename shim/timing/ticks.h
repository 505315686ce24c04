/* From clock ticks to nanoseconds of CLOCK_MONOTONIC.
 *
 * Wrappers read the counter. The drain compares both clocks at every round, and interpolates between the comparisons
 * around a reading: the kernel slews its clock. */
#ifndef WALLSHIM_SHIM_TIMING_TICKS_H
#define WALLSHIM_SHIM_TIMING_TICKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* No counter to be trusted here: ticks are clock_gettime's. The phase says so too (SHIM_NO_COUNTER). */
extern __attribute__((visibility("hidden"))) _Atomic bool ticks_are_ns;

static inline uint64_t ticks_now(void)
{
    return __builtin_expect(atomic_load_explicit(&ticks_are_ns, memory_order_relaxed), 0) ? (uint64_t)ws_clock_ns()
                                                                                          : ws_clock_ticks();
}

extern _Atomic uint64_t ticks_a_second; /* about; the drain thread sets it once it has measured */

/* So many ticks, about; 0 before a tick is known. */
static inline uint64_t ticks_in(uint64_t ns)
{
    return atomic_load_explicit(&ticks_a_second, memory_order_relaxed) / 1000000 * ns / 1000;
}

/* Decides on the counter. */
void ticks_choose(void);

/* Makes the first comparisons, which takes a millisecond. */
void ticks_init(void);

/* One more comparison. Only for the drain, as its neighbours: floating point leaves traces in the thread that uses
 * it. */
void ticks_compare(void);

int64_t ticks_to_ns(uint64_t ticks);

#endif
