/* Bounds of busy time where times are computed.
 *
 * A computed begin may be off by some µs, and so may the end; the length is off by far less, since both are off by
 * the same. Errors of single times therefore say too much about a sum. The length of a computed operation comes from
 * measured launches of the same shape. The mean of n such samples with standard deviation s lies within 3 s / √n of
 * the true mean in 99.7 % of cases (central limit theorem; all samples count as independent). Each shape's total is
 * held against this mean. A difference of two events has a constant error of its own, SYSTEMATIC_NS (our choice; the
 * constant is learned, see shim/timing/dispatch.h).
 *
 * Operations of one stream do not overlap, so the sum of their lengths is busy time wherever they lie. Only the
 * overlap of streams depends on where operations lie. It is at most the time of all streams but the longest. */
#ifndef WALLSHIM_ANALYSIS_ACTIVITY_BUSY_BOUNDS_H
#define WALLSHIM_ANALYSIS_ACTIVITY_BUSY_BOUNDS_H

#include "analysis/activity/activity.h"

/* Narrows busy_least and busy_most where the lengths of computed operations tell more than the errors of their times.
 * Returns 0 or -ENOMEM. */
int ws_activity_narrow_bounds(const struct ws_process *process, const struct ws_track *track,
                              struct ws_track_activity *activity);

#endif
