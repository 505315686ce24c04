/* Decides when recording is on: by the options (delay, duration, bursts, size of the trace, overhead), and by the
 * range that the program marks with cuProfilerStart and cuProfilerStop. */
#ifndef WALLSHIM_SHIM_DRAIN_RECORDING_H
#define WALLSHIM_SHIM_DRAIN_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"

/* Reads the options; called when the shim is loaded. */
void recording_prepare(void);

/* Called when the shim starts. Returns the phase (bits of enum shim_phase) to start in. If recording is to be on,
 * this phase already has SHIM_RECORDING. So calls that other threads make while the shim is still starting are
 * recorded, too. */
uint32_t recording_start(int64_t now);

/* Called when a session begins (session.h). Turns recording on, until recording_set_stopped turns it off. */
void recording_open(int64_t now);

/* Turns recording on or off, if the options or requests ask for a change now. The drain (the shim's own thread) calls
 * this function every few milliseconds while the program works. */
void recording_update(int64_t now);

/* excess, length: the results of cost_of_records for the last window of 100 ms. If the records cost more than three
 * quarters of what --overhead allows, fewer kernel parameters are recorded: the last quarter is for events. If the
 * cost stays that high for several windows in a row, recording pauses until the records cost three quarters on
 * average from then on, but for 10 s at most. */
void recording_govern(double excess, int64_t length);

/* For `wallshim ctl`. recording_set_stopped: turns recording off (true), or lets recording be on again (false).
 * recording_set_burst: sets the length of a burst, and the time from the start of a burst to the start of the next
 * one, ns. */
void recording_set_stopped(bool stopped);
void recording_set_burst(uint64_t on, uint64_t period);

/* Are fewer kernel parameters to be recorded, because records cost more than --overhead allows? */
bool recording_is_thinned(void);

/* ns until recording is next turned on or off: by one of the options delay, duration and burst, or at the end of a
 * pause (recording_govern); INT64_MAX: never. */
int64_t recording_next_edge(int64_t now);

/* Called by the wrappers of cuProfilerStart and cuProfilerStop, for --capture-range=profiler. */
void recording_set_range(bool inside);

/* The reason why recording is off now, or why it was off last. Calls that are not recorded count as lost for this
 * reason. */
enum ws_loss_reason recording_off_reason(void);

#endif
