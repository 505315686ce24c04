/* Gates: a stream waits for a value in our memory (cuStreamWaitValue32) until its queue holds event, kernel and event
 * together. So the difference of the two events is the kernel's time plus a constant, however short the kernel is.
 *
 * The thread that closes a gate opens it again, microseconds later. If that thread is held up, a thread of ours opens
 * the gate. It does so by a plain store, without calling the driver. So a gate is closed for GATE_NS at most, plus
 * what the system takes to run the thread that opens it. */
#ifndef WALLSHIM_SHIM_TIMING_GATES_H
#define WALLSHIM_SHIM_TIMING_GATES_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/objects/contexts.h"

enum { GATE_NS = 200000 };

/* For the drain, with the context current: makes the context's gates, if driver and device can wait for values. */
void gates_prepare(struct shim_context *context);

/* Closes a gate behind all that the stream has: what is put in later waits. Returns the gate, or 0 where none is
 * free. *kept is set before the gate is closed, as a signal handler may leave by longjmp at any time. */
uint64_t gate_close(struct shim_context *context, ws_CUstream stream, uint64_t *kept);

/* Opens the gate. True: it was closed until now; false: our thread had opened it. */
bool gate_open(uint64_t name);

/* How many threads of ours look after gates, 0 or 1. */
unsigned gates_thread_count(void);

#endif
