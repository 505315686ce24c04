/* Steps from the program's own markers: ranges of kind WS_RANGE_STEP. */
#ifndef WALLSHIM_ANALYSIS_MARKED_STEPS_H
#define WALLSHIM_ANALYSIS_MARKED_STEPS_H

#include "analysis/steps.h"

/* Fills source and steps (begin, end, number, kind) from the thread of the process that marks most; leaves
 * why_none where there are none. Returns 0 or -ENOMEM. */
int ws_marked_steps(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *result);

#endif
