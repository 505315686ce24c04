/* From what is known of each kernel to its class of the roofline, and the sums over all of them. */
#ifndef WALLSHIM_ANALYSIS_ROOFLINE_JUDGE_H
#define WALLSHIM_ANALYSIS_ROOFLINE_JUDGE_H

#include "analysis/roofline.h"

/* Judges the rows, one for each of the model's names, keeps those that ran and sums them up. The result's GPU and
 * number of steps are known, its vectors ready. Returns 0 or -ENOMEM. */
int ws_roofline_judge(const struct ws_report *report, struct ws_roofline_row *rows, struct ws_track_roofline *result);

#endif
