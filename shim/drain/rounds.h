/* The rounds of the drain (the shim's own thread). A round reads the rings (buffers of records) of all threads, reads
 * the events, compares the clocks of devices and host, and from time to time writes what is new to the trace. Only
 * the drain calls these functions. */
#ifndef WALLSHIM_SHIM_DRAIN_ROUNDS_H
#define WALLSHIM_SHIM_DRAIN_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

struct shim_context;

enum {
    ROUNDS_GAP_NS = 1000000
}; /* the shortest pause between rounds, even if launches wake the drain all the time */

/* Called when the drain's thread starts: from now on, rounds may call the driver. */
void rounds_restart(void);

/* Called when a trace begins. Prepares the clocks, the health samples and the times of flushes for this trace. */
void rounds_begin(int64_t now);

void rounds_once(void);

/* A round while the shim sleeps (records nothing: session.h). The driver is not called, and nothing is written. Gives
 * back the memory of threads that have ended, and drops records that threads have made since the last session's
 * end. */
void rounds_asleep(void);

/* Makes rounds until no operation of the context (NULL: of any context) waits for its events, or until no event could
 * be read for deadline_ns. Each round that reads events extends the deadline, up to ROUNDS_DEADLINES times
 * deadline_ns in all: on a busy machine, many events may be unread although the device has finished long ago. */
void rounds_until_read(struct shim_context *context, int64_t deadline_ns);

enum { ROUNDS_DEADLINES = 4 };

/* Makes events in advance for the contexts that have too few. Each round calls this twice, because launches may use
 * up all events during a long round. */
void rounds_grow_pools(void);

/* Writes all rows to the trace, including rows for the losses since the last flush. Returns whether the rows of
 * losses were written. */
bool rounds_flush(int64_t now);

/* rounds_driver_goes: the driver is about to shut down, so rounds no longer call it. rounds_have_driver: may the
 * driver be called? */
void rounds_driver_goes(void);
bool rounds_have_driver(void);

/* Notes that a thread woke the drain at the time `at` (host ns). So the next rounds follow soon. */
void rounds_woken(int64_t at);

/* ns until the next round, if no thread wakes the drain. */
int64_t rounds_pause_ns(int64_t now);

#endif
