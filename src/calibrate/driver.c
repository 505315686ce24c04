#include "calibrate/driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int find_functions(struct ws_driver *driver, char *message, size_t capacity)
{
    unsetenv("CUDA_LAUNCH_BLOCKING"); /* if this variable is set, the host waits for each operation, which lowers the
                                         rates */
    driver->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver->library) {
        snprintf(
            message, capacity,
            "no CUDA driver here (%s): run this on the machine with the GPU; a container needs access to the driver",
            dlerror());
        return -ENOENT;
    }
#define FIND(member, name, parameters)                                                              \
    driver->member = (ws_CUresult(*) parameters)dlsym(driver->library, #name);                      \
    if (!driver->member) {                                                                          \
        snprintf(message, capacity, "the CUDA driver is too old: it has no %s (CUDA 11.4)", #name); \
        return -ENOSYS;                                                                             \
    }
    WS_DRIVER_FUNCTIONS(FIND)
#undef FIND
    return 0;
}

const char *ws_driver_error(const struct ws_driver *driver, ws_CUresult result)
{
    const char *name = NULL;
    return driver->error_name(result, &name) == WS_CUDA_SUCCESS && name ? name : "an unknown error";
}

static int find_device(struct ws_driver *driver, int ordinal, char *message, size_t capacity)
{
    int count = 0;
    ws_CUresult result = driver->init(0);
    if (result == WS_CUDA_SUCCESS)
        result = driver->device_count(&count);
    if (result != WS_CUDA_SUCCESS || !count) {
        snprintf(message, capacity, "the CUDA driver has no GPU (%s): check nvidia-smi and CUDA_VISIBLE_DEVICES",
                 result == WS_CUDA_SUCCESS ? "it counts 0" : ws_driver_error(driver, result));
        return -ENODEV;
    }
    if (ordinal >= count || driver->device_get(&driver->device, ordinal) != WS_CUDA_SUCCESS) {
        snprintf(message, capacity, "--device %d: there %s %d here, counted from 0", ordinal,
                 count == 1 ? "is" : "are", count);
        return -ENODEV;
    }
    driver->version(&driver->driver_version);
    return 0;
}

int ws_driver_open(struct ws_driver *driver, int ordinal, char *message, size_t capacity)
{
    *driver = (struct ws_driver){ 0 };
    int status = find_functions(driver, message, capacity);
    if (!status)
        status = find_device(driver, ordinal, message, capacity);
    if (status)
        return status;
    ws_CUresult result = driver->primary_retain(&driver->context, driver->device);
    if (result == WS_CUDA_SUCCESS)
        result = driver->set_current(driver->context);
    if (result == WS_CUDA_SUCCESS)
        result = driver->stream_create(&driver->stream, WS_CU_STREAM_NON_BLOCKING);
    if (result == WS_CUDA_SUCCESS)
        return 0;
    snprintf(message, capacity,
             "the GPU cannot be used (%s): another program may use it or its memory; check nvidia-smi",
             ws_driver_error(driver, result));
    return -EIO;
}

void ws_driver_close(struct ws_driver *driver)
{
    if (driver->stream)
        driver->stream_destroy(driver->stream);
    if (driver->context)
        driver->primary_release(driver->device);
    /* The library stays loaded: unloading a driver is unsafe. */
    *driver = (struct ws_driver){ 0 };
}

uint32_t ws_driver_attribute(const struct ws_driver *driver, ws_CUenum which)
{
    int value = 0;
    return driver->device_attribute(&value, which, driver->device) == WS_CUDA_SUCCESS ? (uint32_t)value : 0;
}
