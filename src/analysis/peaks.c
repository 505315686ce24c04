#include "analysis/peaks.h"

#include <string.h>

static bool all_alike(const struct ws_rows *devices)
{
    const struct ws_device *rows = devices->rows.data;
    for (size_t i = 1; i < devices->rows.count; i++)
        if (strcmp(rows[i].name.data, rows[0].name.data) != 0)
            return false;
    return devices->rows.count > 0;
}

enum ws_gpu_match ws_track_gpu(const struct ws_report *report, const struct ws_track *track, struct ws_gpu *gpu)
{
    const struct ws_rows *devices = &ws_model_process(report->model, track->process)->devices;
    const struct ws_device *device = ws_track_device(report->model, track);
    if (report->gpu) {
        *gpu = *report->gpu;
        return WS_GPU_GIVEN;
    }
    if (!device && all_alike(devices))
        device = devices->rows.data;
    if (!device)
        return WS_GPU_UNKNOWN;
    struct ws_gpu_facts facts = { .name = device->name.data,
                                  .cc_major = device->cc_major,
                                  .cc_minor = device->cc_minor,
                                  .sms = device->sms,
                                  .clock_khz = device->clock_khz,
                                  .memory_clock_khz = device->memory_clock_khz,
                                  .memory_bus_bits = device->memory_bus_bits,
                                  .memory_bytes = device->memory_bytes };
    return ws_gpu_find(&facts, gpu);
}

double ws_track_bandwidth(const struct ws_report *report, const struct ws_track *track)
{
    struct ws_gpu gpu;
    return ws_track_gpu(report, track, &gpu) != WS_GPU_UNKNOWN ? gpu.bytes_per_ns : 0;
}
