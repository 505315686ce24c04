/* The CUDA driver for a calibration, loaded at run time: one device, one stream. */
#ifndef WALLSHIM_CALIBRATE_DRIVER_H
#define WALLSHIM_CALIBRATE_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "abi/cuda.h"

/* X(member, exported name, parameters). tests/abi compares the list with the toolkit's cuda.h. */
#define WS_DRIVER_FUNCTIONS(X)                                                                                \
    X(init, cuInit, (unsigned flags))                                                                         \
    X(version, cuDriverGetVersion, (int *version))                                                            \
    X(error_name, cuGetErrorName, (ws_CUresult error, const char **name))                                     \
    X(device_count, cuDeviceGetCount, (int *count))                                                           \
    X(device_get, cuDeviceGet, (ws_CUdevice * device, int ordinal))                                           \
    X(device_name, cuDeviceGetName, (char *name, int length, ws_CUdevice device))                             \
    X(device_uuid, cuDeviceGetUuid_v2, (ws_CUuuid * uuid, ws_CUdevice device))                                \
    X(device_attribute, cuDeviceGetAttribute, (int *value, ws_CUenum which, ws_CUdevice device))              \
    X(primary_retain, cuDevicePrimaryCtxRetain, (ws_CUcontext * context, ws_CUdevice device))                 \
    X(primary_release, cuDevicePrimaryCtxRelease_v2, (ws_CUdevice device))                                    \
    X(set_current, cuCtxSetCurrent, (ws_CUcontext context))                                                   \
    X(memory_info, cuMemGetInfo_v2, (size_t * free, size_t * total))                                          \
    X(allocate, cuMemAlloc_v2, (ws_CUdeviceptr * address, size_t bytes))                                      \
    X(free, cuMemFree_v2, (ws_CUdeviceptr address))                                                           \
    X(copy_to_device, cuMemcpyHtoD_v2, (ws_CUdeviceptr to, const void *from, size_t bytes))                   \
    X(copy, cuMemcpyDtoDAsync_v2, (ws_CUdeviceptr to, ws_CUdeviceptr from, size_t bytes, ws_CUstream stream)) \
    X(set, cuMemsetD32Async, (ws_CUdeviceptr to, unsigned value, size_t count, ws_CUstream stream))           \
    X(stream_create, cuStreamCreate, (ws_CUstream * stream, unsigned flags))                                  \
    X(stream_destroy, cuStreamDestroy_v2, (ws_CUstream stream))                                               \
    X(synchronize, cuStreamSynchronize, (ws_CUstream stream))                                                 \
    X(event_create, cuEventCreate, (ws_CUevent * event, unsigned flags))                                      \
    X(event_destroy, cuEventDestroy_v2, (ws_CUevent event))                                                   \
    X(event_record, cuEventRecord, (ws_CUevent event, ws_CUstream stream))                                    \
    X(event_elapsed, cuEventElapsedTime, (float *milliseconds, ws_CUevent begin, ws_CUevent end))

struct ws_driver {
#define WS_DRIVER_MEMBER(member, name, parameters) ws_CUresult(*member) parameters;
    WS_DRIVER_FUNCTIONS(WS_DRIVER_MEMBER)
#undef WS_DRIVER_MEMBER
    void *library;
    ws_CUdevice device;
    ws_CUcontext context; /* the primary context of the device, because cuBLAS uses it too */
    ws_CUstream stream;
    int driver_version; /* 13000 for 13.0 */
};

/* Opens the driver and makes the primary context of the device with this ordinal current in the calling thread.
 * Returns 0, or -errno with a message that names the problem and a remedy. Call ws_driver_close in both cases. */
int ws_driver_open(struct ws_driver *driver, int ordinal, char *message, size_t capacity);

void ws_driver_close(struct ws_driver *driver);

/* Returns "CUDA_ERROR_…". */
const char *ws_driver_error(const struct ws_driver *driver, ws_CUresult result);

/* Returns an attribute of the device, or 0 if it is unknown. */
uint32_t ws_driver_attribute(const struct ws_driver *driver, ws_CUenum which);

#endif
