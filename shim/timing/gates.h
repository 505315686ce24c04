/* A gate makes a stream wait for a value in the shim's memory (cuStreamWaitValue32) until an event, a kernel and
 * another event are in the stream's queue together. So the difference of the two events' times is the kernel's time
 * plus a constant, however short the kernel is.
 *
 * The thread that closes a gate opens it again, microseconds later. If this thread is delayed, a timer wakes a thread
 * of the shim, which opens the gate. Opening is a plain store, without a call of the driver. So a gate is closed for
 * at most GATE_NS, plus the time that the system takes to run the thread that opens it. */
#ifndef WALLSHIM_SHIM_TIMING_GATES_H
#define WALLSHIM_SHIM_TIMING_GATES_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/objects/contexts.h"

enum { GATE_NS = 200000 };

/* Called by the drain thread, with the context current: makes the context's gates, if driver and device allow streams
 * to wait for values. */
void gates_prepare(struct shim_context *context);

/* Puts a closed gate into the stream: all later operations of the stream wait. Returns the gate's name, or 0 if the
 * stream does not wait, because no gate is free, the context has none, or the driver refused. *kept is set to this
 * name before the stream waits: if a signal handler leaves gate_close by longjmp, the shim can still open the gate
 * later. */
uint64_t gate_close(struct shim_context *context, ws_CUstream stream, uint64_t *kept);

/* Opens the gate that gate_close returned. Returns true if the gate was closed until now, false if the shim's own
 * thread had already opened it because it was closed for too long. */
bool gate_open(uint64_t name);

/* The number of the shim's threads that open gates: 0 or 1. */
unsigned gates_thread_count(void);

#endif
