/* Reads the state of devices from NVML, which is opened at run time. Every call may block in the driver, even for
 * seconds. Only one thread may call these functions. */
#ifndef WALLSHIM_SHIM_HEALTH_NVML_H
#define WALLSHIM_SHIM_HEALTH_NVML_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/nvml.h"
#include "record/record.h"

/* Finds and initializes NVML. Returns NULL on success, else a text that says why NVML cannot be used. */
const char *nvml_open(void);

struct nvml_device {
    ws_nvmlDevice handle;
    uint32_t unsupported; /* bits of the fields (enum ws_health_field) that NVML does not give for the device */
};

/* Finds the device with this UUID, and fills *device. Returns NVML's result code. */
ws_nvmlReturn nvml_find(const char *uuid, struct nvml_device *device);

/* Fills *sample with the device's current clocks, power and other values. If no value could be read, sets
 * sample->error. */
void nvml_sample(struct nvml_device *device, struct ws_health *sample);

/* Does this error mean that the device will never answer again? */
bool nvml_is_final(ws_nvmlReturn error);

#endif
