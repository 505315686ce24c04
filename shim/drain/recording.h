/* Decides when recording is on: by the options (delay, duration, bursts, size of the trace, overhead), and by the
 * range that the program marks. */
#ifndef WALLSHIM_SHIM_DRAIN_RECORDING_H
#define WALLSHIM_SHIM_DRAIN_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"

/* Reads the options; called when the shim is loaded. */
void recording_prepare(void);

/* Called when the shim starts. Returns the phase to start in (enum shim_phase). If recording is to be on, this phase
 * already has SHIM_RECORDING: so calls that other threads make during the rest of the start are recorded, too. */
uint32_t recording_start(int64_t now);

/* Turns recording on or off, if it is time. The drain calls it at every round. */
void recording_update(int64_t now);

/* excess and length: the results of cost_of_records. If the records alone cost more than --overhead allows, fewer
 * parameters are kept. If the cost stays too high for several windows in a row, recording pauses until the average
 * cost is within --overhead again. */
void recording_govern(double excess, int64_t length);

/* For `wallshim ctl`: turns recording off until it is turned on again, or changes the bursts. */
void recording_set_stopped(bool stopped);
void recording_set_burst(uint64_t on, uint64_t period);

/* Are fewer parameters to be kept, for --overhead? */
bool recording_is_thinned(void);

/* ns until the delay, the duration or a burst next turns recording on or off; INT64_MAX: never. */
int64_t recording_next_edge(int64_t now);

/* Called by the wrappers of cuProfilerStart and cuProfilerStop, for --capture-range=profiler. */
void recording_set_range(bool inside);

/* The reason why recording is off now, or why it was off last. Calls that are not recorded count as lost for this
 * reason. */
enum ws_loss_reason recording_off_reason(void);

#endif
