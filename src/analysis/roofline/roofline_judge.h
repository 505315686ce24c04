/* Derives each kernel's roofline class from the kernel's work, and sums over all kernels. */
#ifndef WALLSHIM_ANALYSIS_ROOFLINE_ROOFLINE_JUDGE_H
#define WALLSHIM_ANALYSIS_ROOFLINE_ROOFLINE_JUDGE_H

#include "analysis/activity/activity.h"
#include "analysis/roofline/roofline.h"
#include "analysis/steps/steps.h"

/* Sets the roofline class of each row; there is one row per kernel name. Copies the rows of kernels that ran to
 * result->rows, and sets the sums over all rows in `result`. Before the call, `result` must have the GPU, the number
 * of steps and empty vectors. Returns 0 or -ENOMEM. */
int ws_roofline_judge(const struct ws_report *report, struct ws_roofline_row *rows, struct ws_track_roofline *result);

/* Do the matrix kernels seem faster than the GPU can be? The peak must be known. If so, the peak that was given, the
 * FLOPs or the times are wrong. */
bool ws_roofline_is_impossible(const struct ws_track_roofline *result);

/* Divides result->step_flops by the number of steady steps, and computes the MFU (roofline.h). */
void ws_roofline_count_steps(const struct ws_track_steps *all, const struct ws_track_activity *activity,
                             struct ws_track_roofline *result);

/* Returns the precision of a kernel with this element type. fp32 counts as TF32 if the kernel's name tells that the
 * kernel uses TF32. */
enum ws_precision ws_roofline_precision(enum ws_element element, const char *kernel);

#endif
