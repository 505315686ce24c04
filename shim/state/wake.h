/* How threads wake the drain, the shim's thread that reads the rings and writes the trace. wake_drain_soon and
 * wake_drain_now take no lock, so any thread may call them anywhere, also in signal handlers. */
#ifndef WALLSHIM_SHIM_STATE_WAKE_H
#define WALLSHIM_SHIM_STATE_WAKE_H

#include <stdint.h>

/* Called, for example, when a ring fills up or few events are free: the drain reads all rings and events within a
 * millisecond. */
void wake_drain_soon(void);

/* Called when a thread waits for the drain: the drain reads all rings and events at once. */
void wake_drain_now(void);

/* For the drain: sleeps until `next` (ns, ws_clock_ns), or until another thread wakes it. Returns the time at which
 * it was woken, or 0 if no thread woke it. */
int64_t wake_wait(int64_t next);

/* For the drain, after another thread has woken it from wake_wait: sleeps until `soonest`, or until a thread calls
 * wake_drain_now. */
void wake_wait_gap(int64_t soonest);

#endif
