/* Finds steps from ranges that the program named after its iterations ("train step", "iteration 7", "batch"). These
 * ranges differ from step markers, whose names have a number sign ("#").
 *
 * Ranges named in this way are steps only if they come at even intervals. Programs warm up, so only the later half of
 * the ranges is checked. Nine in ten of the intervals between the start times of these ranges must be between half
 * and twice the median interval. If the program has ranges of several such names, those that take most time in sum
 * are checked: "train step" and not the "optimizer step" in it. From the start of the first range to the end of the
 * last, the host must have launched at least half of the device's operations. If the ranges fail a check, the steps
 * are found from the order of operations (found_steps.h). All limits are our choice. */
#ifndef WALLSHIM_ANALYSIS_STEPS_EVEN_STEPS_H
#define WALLSHIM_ANALYSIS_STEPS_EVEN_STEPS_H

#include "analysis/steps/steps.h"

/* Fills source, proof and steps of the result. Leaves the result unchanged if the program has no ranges that qualify.
 * Returns 0 or -ENOMEM. */
int ws_even_steps(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *result);

#endif
