/* Samples of the GPUs' clocks, power and temperature. A thread of the shim, the sampler, asks NVML for the samples,
 * because a call of NVML may block for seconds. The drain thread (it writes the trace) tells the sampler when a
 * sample is due, and reads the samples that are done. No other thread ever waits for NVML, except for a moment before
 * the driver shuts down.
 *
 * The sampler has no timer of its own: the drain thread wakes it once for each sample. While the program is idle,
 * samples are rare (one in 16 s), so that they seldom wake the process.
 *
 * Only the drain thread calls these functions. */
#ifndef WALLSHIM_SHIM_HEALTH_HEALTH_H
#define WALLSHIM_SHIM_HEALTH_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"

/* Called when the recording begins. now: host time, ns. */
void health_begin(int64_t now);

/* Tells the sampler to take a sample if one is due. active: the program has used a device since health_keep was last
 * called. */
void health_keep(int64_t now, bool active);

/* ns until the next sample is due; INT64_MAX: no sample is due for which the drain thread must wake up. */
int64_t health_due_in(int64_t now);

/* Stores the oldest sample that the drain thread has not read yet in *sample. Returns false if there is none. */
bool health_take(struct ws_health *sample);

/* Ends sampling. Waits at most patience_ns for the sampler's current call of NVML to return. If the call has not
 * returned by then, the caller goes on. In this case NVML may shut down, at the process's end, while the sampler is
 * still in the call. */
void health_end(int64_t patience_ns);

/* A line for the trace: how many samples were taken, or why none were. NULL: no sample was due yet, or the options
 * ask for none. */
const char *health_summary(void);

/* The number of sampler threads: 0 or 1. */
unsigned health_thread_count(void);

#endif
