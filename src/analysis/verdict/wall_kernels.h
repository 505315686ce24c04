/* Divides the time of a device's kernels between the walls compute and bandwidth (wall.h). Counts the time separately
 * for each source of a kernel's FLOPs and bytes (operator, parameters, counters, name …).
 *
 * The roofline decides (roofline.h): compute-bound kernels count for compute, memory-bound kernels for bandwidth.
 * Latency-bound kernels reach neither roof (the peak FLOP rate or the memory bandwidth), and count for the roof that
 * they would meet first if they were fast enough. For kernels without a class, and for launches whose work is not
 * known, the names of the kernels suggest a wall: compute for GEMMs, convolutions and attention, bandwidth for all
 * other kernels. A name also suggests bandwidth if it shows that the product has few rows (matmul_name.h), or that
 * the kernel is attention in a decode step or a depthwise convolution (classify.h). If only some launches of a kernel
 * have a class, the other launches count for the wall of the same class, but only as suggested. */
#ifndef WALLSHIM_ANALYSIS_VERDICT_WALL_KERNELS_H
#define WALLSHIM_ANALYSIS_VERDICT_WALL_KERNELS_H

#include "analysis/verdict/wall.h"

struct ws_track_steps;

/* Divides `compute` between the kernels in proportion to their summed durations. `compute` is the ns in which at
 * least one kernel ran, in the steady steps or in the whole recording. Fills `parts`, `in_wall`, `kernels` and
 * `by_class` of the result. Returns 0 or -ENOMEM. */
int ws_wall_split_kernels(const struct ws_report *report, size_t subject, const struct ws_track_steps *steps,
                          int64_t compute, struct ws_track_wall *result);

#endif
