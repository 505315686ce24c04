/* How the program's threads wake the drain. Anybody may, from anywhere: it takes no lock. */
#ifndef WALLSHIM_SHIM_STATE_WAKE_H
#define WALLSHIM_SHIM_STATE_WAKE_H

#include <stdint.h>

/* A ring is filling up, or events are used up: there will be a round within a millisecond. */
void wake_drain_soon(void);

/* Somebody waits. */
void wake_drain_now(void);

/* The drain's side: sleeps until `next` (ns, ws_clock_ns), or until it is woken. Returns when it was woken, 0 where
 * it was not. */
int64_t wake_wait(int64_t next);

/* The second half, where it was woken: goes on sleeping until `soonest` where nobody waits. */
void wake_wait_gap(int64_t soonest);

#endif
