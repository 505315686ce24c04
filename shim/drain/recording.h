/* When recording is on: delay and duration, bursts, the range that the program marks, the size of the trace. */
#ifndef WALLSHIM_SHIM_DRAIN_RECORDING_H
#define WALLSHIM_SHIM_DRAIN_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"

/* What the options say; when the shim is loaded. */
void recording_prepare(void);

/* The recording starts now. Returns the phase to start in (enum shim_phase): recording begins with the start itself,
 * so that calls which other threads make during the rest of it are recorded. */
uint32_t recording_start(int64_t now);

/* Moves between recording and not. The drain calls it at every round. */
void recording_update(int64_t now);

/* ns until the clock may move it; INT64_MAX: never. */
int64_t recording_next_edge(int64_t now);

/* cuProfilerStart and cuProfilerStop, for --capture-range=profiler. */
void recording_set_range(bool inside);

/* Why recording is off, or was last: what to count unrecorded calls under. */
enum ws_loss_reason recording_off_reason(void);

#endif
