/* How threads wake the drain. Waking takes no lock, so any thread may do it anywhere, also in signal handlers. */
#ifndef WALLSHIM_SHIM_STATE_WAKE_H
#define WALLSHIM_SHIM_STATE_WAKE_H

#include <stdint.h>

/* Called when a ring fills up or few events are free: the drain makes a round within a millisecond. */
void wake_drain_soon(void);

/* Called when a thread waits for the drain: the drain makes a round at once. */
void wake_drain_now(void);

/* For the drain: sleeps until `next` (ns, ws_clock_ns), or until it is woken. Returns the time at which it was woken,
 * or 0 if it was not woken. */
int64_t wake_wait(int64_t next);

/* For the drain, after wake_wait returned because it was woken: goes on sleeping until `soonest`, unless a thread
 * waits (wake_drain_now). */
void wake_wait_gap(int64_t soonest);

#endif
