/* How the time of a device's kernels divides between the walls compute and bandwidth, and by what evidence.
 *
 * The roofline decides (roofline.h): compute-bound kernels count for compute, memory-bound ones for bandwidth.
 * Latency-bound kernels reach neither roof, and count for the roof that they would meet first. So both sections say
 * the same. Kernels without a class, and launches whose work is not known, are not known here either. What their
 * names suggest is kept apart: compute for GEMMs, convolutions and attention, unless the name tells of few rows
 * (matmul_name.h), of attention in a decode step or of a depthwise convolution (classify.h); bandwidth for all
 * others. Where some launches of a kernel have a class, it is the suggestion for the others.
 */
#ifndef WALLSHIM_ANALYSIS_VERDICT_WALL_KERNELS_H
#define WALLSHIM_ANALYSIS_VERDICT_WALL_KERNELS_H

#include "analysis/verdict/wall.h"

struct ws_track_steps;

/* Divides `compute`, the union of all kernels' intervals in the steady steps or the recording, by the shares of the
 * kernels' summed time: fills `parts`, `in_wall` and `kernels` of the result. Returns 0 or -ENOMEM. */
int ws_wall_split_kernels(const struct ws_report *report, size_t subject, const struct ws_track_steps *steps,
                          int64_t compute, struct ws_track_wall *result);

#endif
