/* Bounds of busy time for traces with computed times.
 *
 * Operations of one stream do not overlap. So the sum of the lengths of a stream's operations is the stream's busy
 * time, no matter when the operations ran. The errors of such sums (kernels/lengths.h) are far smaller than the sums
 * of the errors of start and end times. Only the overlap of several streams depends on when operations ran. The
 * overlap of streams is at most the time of all streams except the busiest. */
#ifndef WALLSHIM_ANALYSIS_ACTIVITY_BUSY_BOUNDS_H
#define WALLSHIM_ANALYSIS_ACTIVITY_BUSY_BOUNDS_H

#include "analysis/activity/activity.h"
#include "analysis/kernels/lengths.h"

/* Narrows busy_least and busy_most if the lengths of the track's operations give closer bounds than the errors of
 * their start and end times. Returns 0 or -ENOMEM. */
int ws_activity_narrow_bounds(const struct ws_process *process, size_t track,
                              const struct ws_process_lengths *lengths, struct ws_track_activity *activity);

#endif
