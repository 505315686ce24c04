/* Converts ticks of the processor's counter to nanoseconds of CLOCK_MONOTONIC.
 *
 * The shim's wrappers only read the counter. The drain thread regularly compares the counter with the clock. The
 * operating system changes the rate of its clock, so each reading of the counter is converted by interpolation
 * between the comparisons before and after it. */
#ifndef WALLSHIM_SHIM_TIMING_TICKS_H
#define WALLSHIM_SHIM_TIMING_TICKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* True: this machine has no reliable counter, and a tick is a nanosecond of clock_gettime. The bit SHIM_NO_COUNTER of
 * the shim's phase (state/phase.h) says the same. */
extern __attribute__((visibility("hidden"))) _Atomic bool ticks_are_ns;

static inline uint64_t ticks_now(void)
{
    return __builtin_expect(atomic_load_explicit(&ticks_are_ns, memory_order_relaxed), 0) ? (uint64_t)ws_clock_ns()
                                                                                          : ws_clock_ticks();
}

/* Approximate rate of the counter, in ticks per second and in ticks per 1024 ns; set by the drain thread after its
 * first measurement. */
extern _Atomic uint64_t ticks_a_second, ticks_in_1024_ns;

/* Converts ns to ticks of the counter, roughly. Takes only a multiplication and a shift, because it runs for each
 * recorded stack. */
static inline uint64_t ticks_in(uint64_t ns)
{
    return atomic_load_explicit(&ticks_in_1024_ns, memory_order_relaxed) * ns >> 10;
}

/* Decides whether the counter can be trusted (ticks_are_ns). */
void ticks_choose(void);

/* Makes the first comparisons of counter and clock, which takes a millisecond. */
void ticks_init(void);

/* Makes one more comparison of counter and clock. Only the drain (a thread of the shim) calls this function,
 * ticks_init and ticks_to_ns, because floating-point arithmetic would set exception flags in a thread of the program.
 */
void ticks_compare(void);

int64_t ticks_to_ns(uint64_t ticks);

#endif
