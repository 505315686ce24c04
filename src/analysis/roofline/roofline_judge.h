/* Derives each kernel's roofline class from its work, and sums over all kernels. */
#ifndef WALLSHIM_ANALYSIS_ROOFLINE_ROOFLINE_JUDGE_H
#define WALLSHIM_ANALYSIS_ROOFLINE_ROOFLINE_JUDGE_H

#include "analysis/activity/activity.h"
#include "analysis/roofline/roofline.h"
#include "analysis/steps/steps.h"

/* Sets the class of each row; there is one row per kernel name. Copies the rows of kernels that ran to result->rows,
 * and sums over them. The caller has set the GPU, the number of steps and empty vectors in `result`. Returns 0 or
 * -ENOMEM. */
int ws_roofline_judge(const struct ws_report *report, struct ws_roofline_row *rows, struct ws_track_roofline *result);

/* Divides the FLOPs by the number of steady steps, and computes the MFU. */
void ws_roofline_count_steps(const struct ws_track_steps *all, const struct ws_track_activity *activity,
                             struct ws_track_roofline *result);

/* The precision of a kernel with this element type. fp32 counts as TF32 if the kernel's name says so. */
enum ws_precision ws_roofline_precision(enum ws_element element, const char *kernel);

#endif
