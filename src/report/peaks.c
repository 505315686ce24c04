#include "report/peaks.h"

#include <stdio.h>
#include <string.h>

#include "base/device_facts.h"

static bool all_alike(const struct ws_entries *devices)
{
    const struct ws_device *rows = devices->rows.data;
    for (size_t i = 1; i < devices->rows.count; i++)
        if (strcmp(rows[i].name.data, rows[0].name.data) != 0)
            return false;
    return devices->rows.count > 0;
}

const struct ws_device *ws_track_peaks_device(const struct ws_model *model, const struct ws_track *track)
{
    const struct ws_entries *devices = &ws_model_process(model, track->process)->devices;
    const struct ws_device *device = ws_track_device(model, track);
    return device ? device : all_alike(devices) ? devices->rows.data : NULL;
}

enum ws_gpu_match ws_device_gpu(const struct ws_device *device, struct ws_gpu *gpu)
{
#define FACT(field, which) .field = device->field,
    struct ws_gpu_facts facts = { .name = device->name.data,
                                  .memory_bytes = device->memory_bytes,
                                  WS_DEVICE_FACTS(FACT) };
#undef FACT
    return ws_gpu_find(&facts, gpu);
}

enum ws_gpu_match ws_track_gpu(const struct ws_report *report, const struct ws_track *track, struct ws_gpu *gpu)
{
    const struct ws_device *device = ws_track_peaks_device(report->model, track);
    if (report->gpu) {
        *gpu = *report->gpu;
        return WS_GPU_GIVEN;
    }
    if (!device)
        return WS_GPU_UNKNOWN;
    if (report->calibrations) {
        enum ws_gpu_match match;
        const struct ws_gpu_file *file =
            ws_calibrations_find(report->calibrations, device->uuid.data, device->name.data, &match);
        if (!file)
            return WS_GPU_UNKNOWN;
        *gpu = file->gpu;
        return match;
    }
    return ws_device_gpu(device, gpu);
}

const char *ws_why_no_peaks(const struct ws_report *report, const struct ws_track *track)
{
    const struct ws_device *device = ws_track_peaks_device(report->model, track);
    return !device || !*device->name.data ? "the trace does not name the GPU; name it with --gpu NAME"
           : report->calibrations         ? "the GPU was not calibrated; run wallshim calibrate on it"
                                          : "wallshim does not know this GPU's peaks; give them with --gpu FILE.json";
}

double ws_track_bandwidth(const struct ws_report *report, const struct ws_track *track)
{
    struct ws_gpu gpu;
    return ws_track_gpu(report, track, &gpu) != WS_GPU_UNKNOWN ? gpu.bytes_per_ns : 0;
}

static const char *source_of(enum ws_gpu_match match, const struct ws_gpu *gpu, bool is_measured)
{
    if (gpu->calibrated)
        return is_measured ? "measured" : "data_sheet";
    return match == WS_GPU_GIVEN ? "given" : match == WS_GPU_BY_CAPABILITY ? "estimated" : "data_sheet";
}

const char *ws_peak_source(enum ws_gpu_match match, const struct ws_gpu *gpu, enum ws_precision precision)
{
    return source_of(match, gpu, ws_gpu_peak_is_measured(gpu, precision));
}

const char *ws_bandwidth_source(enum ws_gpu_match match, const struct ws_gpu *gpu)
{
    return source_of(match, gpu, ws_gpu_bandwidth_is_measured(gpu));
}

const char *ws_peak_text(const struct ws_gpu *gpu, enum ws_precision precision, char text[WS_PEAK_TEXT])
{
    if (!(ws_gpu_peak(gpu, precision) > 0)) {
        snprintf(text, WS_PEAK_TEXT, "no peak known for %s", ws_precision_name(precision));
        return text;
    }
    bool is_measured = ws_gpu_peak_is_measured(gpu, precision);
    snprintf(text, WS_PEAK_TEXT, "%s%.4g TFLOP/s %s%s%s", is_measured ? "measured peak " : "",
             ws_gpu_peak(gpu, precision) / 1e3, ws_precision_name(precision),
             is_measured       ? ", calibrated "
             : gpu->calibrated ? " of the data sheet, not calibrated"
                               : "",
             is_measured ? gpu->calibrated : "");
    return text;
}
