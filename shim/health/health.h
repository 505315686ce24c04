/* Samples of the GPUs' clocks, power and heat. A thread of ours asks NVML, because a call may block for seconds. The
 * drain tells that thread when a sample is due, and takes the samples that are done. Nobody ever waits for NVML, but
 * for a moment before the driver shuts down.
 *
 * The thread has no timer of its own: it is woken once for each sample. While the program is idle, samples are rare
 * (one in 16 s), so that the process stays asleep.
 *
 * All functions are for the drain thread. */
#ifndef WALLSHIM_SHIM_HEALTH_HEALTH_H
#define WALLSHIM_SHIM_HEALTH_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"

/* Called when the recording begins. */
void health_begin(int64_t now);

/* Asks for a sample if one is due. active: the program has used a device since the last call. */
void health_keep(int64_t now, bool active);

/* ns until the next sample is due; INT64_MAX if that may wait until the drain wakes up for another reason. */
int64_t health_due_in(int64_t now);

/* Takes the next sample that is done. Returns false if there is none. */
bool health_take(struct ws_health *sample);

/* Ends sampling. Waits until the call of NVML under way has returned, for patience_ns at most: after that, the
 * library's own end may run beside it. */
void health_end(int64_t patience_ns);

/* What became of it, for the trace; NULL: nothing was due yet, or samples are not wanted. */
const char *health_summary(void);

/* How many threads of ours there are for this: 0 or 1. */
unsigned health_thread_count(void);

#endif
