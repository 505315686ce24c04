/* Finds steps in the operations of a device, for programs that set no step markers. period.h describes the method. */
#ifndef WALLSHIM_ANALYSIS_STEPS_FOUND_STEPS_H
#define WALLSHIM_ANALYSIS_STEPS_FOUND_STEPS_H

#include "analysis/steps/steps.h"

/* Fills `source`, `proof` and `steps` (begin, end, number, kind) of the result. If no steps are found, `why_none`
 * gives the reason. Returns 0 or -ENOMEM. */
int ws_found_steps(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *result);

#endif
