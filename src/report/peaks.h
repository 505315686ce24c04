/* The peak FLOP/s and memory bandwidth of a track's device. A track is one device of one process. These functions
 * find the GPU in the table (hardware/gpu.h) by the device's description in the trace. */
#ifndef WALLSHIM_REPORT_PEAKS_H
#define WALLSHIM_REPORT_PEAKS_H

#include "hardware/gpu.h"
#include "report/analysis.h"

/* Returns the trace's description of the track's device. If the trace does not describe this device, but all devices
 * that the trace describes have the same name, returns the first of these descriptions. Otherwise returns NULL. */
const struct ws_device *ws_track_peaks_device(const struct ws_model *model, const struct ws_track *track);

/* Finds the GPU whose peaks apply to the track. Takes the GPU that the user named, if there is one; else the
 * calibrated peaks, if the user asked for them; else the GPU of the table that matches the trace's description of the
 * device. */
enum ws_gpu_match ws_track_gpu(const struct ws_report *report, const struct ws_track *track, struct ws_gpu *gpu);

/* Finds the GPU in the table by the name, the memory size and other facts that the trace gives for the device. */
enum ws_gpu_match ws_device_gpu(const struct ws_device *device, struct ws_gpu *gpu);

/* Returns why the peaks of a track's device are not known, and what the user can do: "the trace does not name the
 * GPU; name it with --gpu NAME". */
const char *ws_why_no_peaks(const struct ws_report *report, const struct ws_track *track);

/* Returns the memory bandwidth of the track's device in bytes per nanosecond; 0: not known. */
double ws_track_bandwidth(const struct ws_report *report, const struct ws_track *track);

/* Return the source of a peak, and of the memory bandwidth: "measured", "data_sheet", "given" or "estimated". */
const char *ws_peak_source(enum ws_gpu_match match, const struct ws_gpu *gpu, enum ws_precision precision);
const char *ws_bandwidth_source(enum ws_gpu_match match, const struct ws_gpu *gpu);

enum { WS_PEAK_TEXT = 96 };

/* Writes the peak as "989.4 TFLOP/s bf16". For a calibrated GPU the text also says whether this peak was measured:
 * "measured peak 712 TFLOP/s bf16, calibrated 2026-11-21". Returns text. */
const char *ws_peak_text(const struct ws_gpu *gpu, enum ws_precision precision, char text[WS_PEAK_TEXT]);

#endif
