/* Hardware counters of single launches, for the roofline (--counters).
 *
 * The first launches of each kernel, grid and block on a device are counted, a group of metrics a launch: all groups
 * in turn, and once more. Such a launch is alone on the device: what its context has to do is waited for before it
 * and itself after it, with deadlines, so its times and those around it are not the program's own, and its record
 * says so (WS_OP_COUNTED). Where another thread gave the device work meanwhile, nothing is kept. What launches wait
 * in vain comes to 3 s at most, then counting ends; CUPTI's own calls have no deadline, but what they take beyond
 * their usual time is part of that.
 *
 * Not counted are graph launches, launches while anything is being captured, collectives and what waits for other
 * ranks, and launches into a context that is not current. Counters are of the whole device: other processes' work is
 * in them too.
 *
 * Any refusal ends the counting with one line on stderr; the recording goes on. */
#ifndef WALLSHIM_SHIM_COUNTERS_H
#define WALLSHIM_SHIM_COUNTERS_H

#include <stdbool.h>

#include "record/ring_records.h"
#include "thread.h"

struct shim_context;

/* Were counters asked for, and not refused? */
bool counters_wanted(void);

/* Around every operation while SHIM_COUNTING. */
void counters_before(struct shim_thread *thread, struct ws_ring_op *record, struct shape_entry *shape);
void counters_after(struct shim_thread *thread, struct ws_ring_op *record);

/* The operation that it was under way with was left by a jump, so that nobody comes to end it. */
void counters_given_up(struct shim_thread *thread);

/* A capture is about to begin: waits for a moment until nothing is being counted. */
void counters_pause(void);

/* The context is about to go; NULL: the driver is. */
void counters_end(struct shim_context *context);

/* How it went, for the trace; NULL: they were not asked for. */
const char *counters_summary(void);

#endif
