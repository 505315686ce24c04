/* What the device of a track can do at most: hardware/gpu.h, asked by what the trace knows of it. */
#ifndef WALLSHIM_ANALYSIS_PEAKS_H
#define WALLSHIM_ANALYSIS_PEAKS_H

#include "analysis/registry.h"
#include "hardware/gpu.h"

/* What the reader of the report has named, else what the trace says. Where the trace does not describe the device but
 * all those that it describes are of one kind, it is taken for one of them. */
enum ws_gpu_match ws_track_gpu(const struct ws_report *report, const struct ws_track *track, struct ws_gpu *gpu);

/* Bytes a nanosecond of its memory; 0 when that is not known. */
double ws_track_bandwidth(const struct ws_report *report, const struct ws_track *track);

#endif
