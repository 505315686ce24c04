/* Reads the GPU's hardware counters for single launches, for the roofline analysis (option --counters).
 *
 * Counters are read for the first launches of each kernel, grid and block on a device. During each of these launches
 * (the counted ones), one group of metrics is counted. Each group is counted in two launches. A counted launch runs
 * alone on the device. The calling thread waits before the launch until its context has no work, and after the launch
 * until its kernel has ended. These waits change the times of the launch and of its neighbours, so the launch's
 * record has the flag WS_OP_COUNTED. If another thread gave the device work during the counted launch, the counters
 * are dropped. The waits before and after a counted launch have deadlines. Counting ends once the waits that reached
 * their deadlines have taken 3 s in all. CUPTI's own calls have no deadline, but the time that these calls take
 * beyond CALLS_DEADLINE_NS counts towards the 3 s, too.
 *
 * Not counted are launches of graphs, launches while any stream is being captured, collectives and other kernels that
 * wait for other ranks, and launches into a context that is green or not current. Counters cover the whole device,
 * including the work of other processes.
 *
 * If CUPTI or the driver refuses, counting ends with one line on stderr, and the recording goes on. */
#ifndef WALLSHIM_SHIM_COUNTERS_COUNTERS_H
#define WALLSHIM_SHIM_COUNTERS_COUNTERS_H

#include <stdbool.h>

#include "record/ring_records.h"
#include "shim/objects/thread.h"

struct shim_context;

/* True if the program is recorded with --counters, and counting has not ended. */
bool counters_wanted(void);

/* Called before and after every operation while SHIM_COUNTING is set in the shim's phase. */
void counters_before(struct shim_thread *thread, struct ws_ring_op *record, struct shape_entry *shape);
void counters_after(struct shim_thread *thread, struct ws_ring_op *record);

/* Called when the operation's call was left by longjmp or an exception: counters_after will not be called. */
void counters_given_up(struct shim_thread *thread);

/* Called by a thread that is about to begin a stream capture: waits until no launch is being counted, but about a
 * second at most. */
void counters_pause(void);

/* Ends the counting in the context, which is about to be destroyed; NULL: in all contexts, because the driver is
 * about to shut down. */
void counters_end(struct shim_context *context);

/* A line of text for the trace: how many launches were counted, and why counting ended, if it did. NULL: the program
 * is recorded without --counters. */
const char *counters_summary(void);

#endif
