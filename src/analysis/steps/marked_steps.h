/* Makes the steps of a device from the program's step markers, which are ranges of kind WS_RANGE_STEP. */
#ifndef WALLSHIM_ANALYSIS_STEPS_MARKED_STEPS_H
#define WALLSHIM_ANALYSIS_STEPS_MARKED_STEPS_H

#include "analysis/steps/steps.h"

/* Fills `source` and `steps` (begin, end, host_begin, host_end, number, kind) of the result from the thread with the
 * most step markers. Sets `why_none` if there are no steps. Returns 0 or -ENOMEM. */
int ws_marked_steps(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *result);

/* Fills the steps of the result from the `count` entries of `begins`: the host times at which iterations began, in
 * ascending order. The last entry of `begins` is the end of the last step. Returns 0 or -ENOMEM. */
int ws_steps_between(const struct ws_report *report, const struct ws_track *track, const int64_t *begins,
                     size_t count, struct ws_track_steps *result);

#endif
