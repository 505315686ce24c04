/* Gates: a stream waits for a word of ours until its queue holds event, kernel and event together. So the difference
 * of the two events is the kernel and a constant, however short the kernel is.
 *
 * The thread that closes a gate opens it again, microseconds later. Should it be held up, a thread of ours opens the
 * gate, by a plain store: that thread calls no driver. A gate is never closed for longer than GATE_NS, beside what
 * the system needs to run that thread. */
#ifndef WALLSHIM_SHIM_TIMING_GATES_H
#define WALLSHIM_SHIM_TIMING_GATES_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/objects/contexts.h"

enum { GATE_NS = 200000 };

/* For the drain, with the context current: makes the context's gates, where its driver has waits for values. */
void gates_prepare(struct shim_context *context);

/* Holds the stream behind all that it has. Returns the gate, or 0 where there is none to be had. *kept is set as soon
 * as the gate is closed: a signal handler may jump at any time. */
uint64_t gate_close(struct shim_context *context, ws_CUstream stream, uint64_t *kept);

/* Opens the gate. True: it was closed until now. */
bool gate_open(uint64_t name);

/* How many threads of ours look after gates, 0 or 1. */
unsigned gates_thread_count(void);

#endif
