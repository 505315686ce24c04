/* Divides the time of a device's kernels between the walls compute and bandwidth, by the source of the evidence.
 *
 * The roofline decides (roofline.h): compute-bound kernels count for compute, memory-bound ones for bandwidth.
 * Latency-bound kernels reach neither roof, and count for the roof that they would meet first. So the first section
 * and the roofline's section agree. For kernels without a class, and for launches whose work is not known, the wall
 * is not known. The wall that their names suggest is counted separately: compute for GEMMs, convolutions and
 * attention, bandwidth for other kernels. A name also suggests bandwidth if it tells of few rows (matmul_name.h), of
 * attention in a decode step or of a depthwise convolution (classify.h). If some launches of a kernel have a class,
 * this class is the suggestion for the kernel's other launches. */
#ifndef WALLSHIM_ANALYSIS_VERDICT_WALL_KERNELS_H
#define WALLSHIM_ANALYSIS_VERDICT_WALL_KERNELS_H

#include "analysis/verdict/wall.h"

struct ws_track_steps;

/* Divides `compute` in proportion to the summed times of the kernels. `compute` is the union of all kernels'
 * intervals in the steady steps or the recording. Fills `parts`, `in_wall` and `kernels` of the result. Returns 0 or
 * -ENOMEM. */
int ws_wall_split_kernels(const struct ws_report *report, size_t subject, const struct ws_track_steps *steps,
                          int64_t compute, struct ws_track_wall *result);

#endif
