/* What the device of a track can do at most: hardware/gpu.h, asked by what the trace knows of it. */
#ifndef WALLSHIM_ANALYSIS_PEAKS_H
#define WALLSHIM_ANALYSIS_PEAKS_H

#include "analysis/registry.h"
#include "hardware/gpu.h"

/* What the trace says of the track's device; NULL: nothing. Where it does not describe the device but all those that
 * it describes are of one kind, it is taken for one of them. */
const struct ws_device *ws_track_peaks_device(const struct ws_model *model, const struct ws_track *track);

/* What the reader of the report has named, else what was calibrated where that is asked for, else what is known of
 * the device. */
enum ws_gpu_match ws_track_gpu(const struct ws_report *report, const struct ws_track *track, struct ws_gpu *gpu);

/* The GPU of the table that the trace's words and figures of a device mean. */
enum ws_gpu_match ws_device_gpu(const struct ws_device *device, struct ws_gpu *gpu);

/* Why they are not known where they are not, and what to do: "the trace does not name the GPU; name it with --gpu
 * NAME". */
const char *ws_why_no_peaks(const struct ws_report *report, const struct ws_track *track);

/* Bytes a nanosecond of its memory; 0 when that is not known. */
double ws_track_bandwidth(const struct ws_report *report, const struct ws_track *track);

/* Where a peak comes from, and the bandwidth: "measured", "data_sheet", "given" or "estimated". */
const char *ws_peak_source(enum ws_gpu_match match, const struct ws_gpu *gpu, enum ws_precision precision);
const char *ws_bandwidth_source(enum ws_gpu_match match, const struct ws_gpu *gpu);

enum { WS_PEAK_TEXT = 96 };

/* "989.4 TFLOP/s bf16", and where some figures were measured, whether this one was: "measured peak 712 TFLOP/s bf16,
 * calibrated 2026-11-21". Returns text. */
const char *ws_peak_text(const struct ws_gpu *gpu, enum ws_precision precision, char text[WS_PEAK_TEXT]);

#endif
