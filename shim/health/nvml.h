/* NVML, opened at run time: what it says of a device. Every call may block in the driver, even for seconds. Only one
 * thread may call these functions. */
#ifndef WALLSHIM_SHIM_HEALTH_NVML_H
#define WALLSHIM_SHIM_HEALTH_NVML_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/nvml.h"
#include "record/record.h"

/* Finds and initializes the library. Returns NULL on success, else a text that says why it cannot be used. */
const char *nvml_open(void);

struct nvml_device {
    ws_nvmlDevice handle;
    uint32_t unsupported; /* fields (enum ws_health_field) that the device does not have, as bits */
};

/* Finds the device with this UUID. Returns NVML's answer. */
ws_nvmlReturn nvml_find(const char *uuid, struct nvml_device *device);

/* Fills in what the device says now. If it says nothing at all, sample->error is not 0. */
void nvml_sample(struct nvml_device *device, struct ws_health *sample);

/* Will the device never answer again? */
bool nvml_is_final(ws_nvmlReturn error);

#endif
