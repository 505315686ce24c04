/* Derives each kernel's roofline class from its work, and sums over all kernels. */
#ifndef WALLSHIM_ANALYSIS_ROOFLINE_ROOFLINE_JUDGE_H
#define WALLSHIM_ANALYSIS_ROOFLINE_ROOFLINE_JUDGE_H

#include "analysis/activity/activity.h"
#include "analysis/roofline/roofline.h"
#include "analysis/steps/steps.h"

/* Judges the rows, one per name of the model. Keeps the rows of kernels that ran, in result->rows, and sums over
 * them. The result must hold its GPU, its number of steps, and initialised vectors. Returns 0 or -ENOMEM. */
int ws_roofline_judge(const struct ws_report *report, struct ws_roofline_row *rows, struct ws_track_roofline *result);

/* Divides the FLOPs among the steady steps, and finds the MFU. */
void ws_roofline_count_steps(const struct ws_track_steps *all, const struct ws_track_activity *activity,
                             struct ws_track_roofline *result);

#endif
