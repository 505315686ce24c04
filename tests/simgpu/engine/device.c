#include "engine/engine.h"

#include <string.h>

#include "simgpu.h"

enum { MAX_DEVICES = 64 };

struct sim_device sim_devices[MAX_DEVICES];
int sim_device_count;
int64_t sim_clock_origin;

#define GIB ((uint64_t)1 << 30)

/* The GPU models. Columns: name, compute capability, SMs, clock in kHz, memory clock in kHz, bits of the memory bus,
 * bytes of L2, bytes of shared memory per SM, bytes of memory, peak bytes/ns, peak FLOP/ns in bf16 (in fp16 on GPUs
 * without bf16), name of the chip. */
static const struct sim_model models[] = {
    { "NVIDIA H100 80GB HBM3", 9, 0, 132, 1980000, 2619000, 5120, 50 << 20, 233472, 80 * GIB, 3350.0, 989000.0,
      "GH100" },
    { "NVIDIA H200", 9, 0, 132, 1980000, 3201000, 6144, 50 << 20, 233472, 141 * GIB, 4800.0, 989000.0, "GH100" },
    { "NVIDIA A100-SXM4-80GB", 8, 0, 108, 1410000, 1593000, 5120, 40 << 20, 167936, 80 * GIB, 2039.0, 312000.0,
      "GA100" },
    { "NVIDIA B200", 10, 0, 148, 1965000, 3996000, 8192, 126 << 20, 233472, 180 * GIB, 8000.0, 2250000.0, "GB100" },
    { "Tesla V100-SXM2-32GB", 7, 0, 80, 1530000, 877000, 4096, 6 << 20, 98304, 32 * GIB, 900.0, 125000.0, "GV100" },
};

static const struct sim_model *model_named(const char *name)
{
    if (!name)
        return &models[0];
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
        if (strcmp(models[i].name, name) == 0)
            return &models[i];
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
        if (strstr(models[i].name, name))
            return &models[i];
    sim_log("SIMGPU_GPU=%s is not known; taking %s", name, models[0].name);
    return &models[0];
}

ws_CUresult sim_devices_init(void)
{
    if (sim_config.devices == 0)
        return WS_CUDA_ERROR_NO_DEVICE;
    sim_clock_origin = sim_now();
    const struct sim_model *model = model_named(sim_config.gpu);
    sim_device_count = (int)sim_config.devices;
    for (int i = 0; i < sim_device_count; i++) {
        struct sim_device *device = &sim_devices[i];
        device->ordinal = i;
        pthread_mutex_init(&device->primary_lock, NULL);
        device->model = model;
        device->clock_offset = sim_config.clock_offset_ns * (i + 1);
        device->clock_drift_ppm = i % 2 ? -sim_config.clock_drift_ppm : sim_config.clock_drift_ppm;
        device->memory_total = sim_config.memory > 0 ? (uint64_t)sim_config.memory : model->memory_bytes;
        for (int byte = 0; byte < 16; byte++)
            device->uuid.bytes[byte] = (char)(0x51 + byte * 7);
        device->uuid.bytes[15] = (char)i;
    }
    return WS_CUDA_SUCCESS;
}

struct sim_device *sim_device_at(ws_CUdevice ordinal)
{
    return ordinal >= 0 && ordinal < sim_device_count ? &sim_devices[ordinal] : NULL;
}

__attribute__((visibility("default"))) void simgpuDescribeDevice(struct simgpu_device *device)
{
    const struct sim_model *model = sim_devices[0].model;
    *device = (struct simgpu_device){ .capability = model->major * 10 + model->minor,
                                      .bytes_per_ns = model->bytes_per_ns,
                                      .flops_per_ns = model->flops_per_ns };
}
