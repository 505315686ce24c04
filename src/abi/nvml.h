/* The part of NVML's binary interface that wallshim uses. See abi/cuda.h for the conventions.
 *
 * Source: nvml.h of CUDA 13.0. */
#ifndef WALLSHIM_ABI_NVML_H
#define WALLSHIM_ABI_NVML_H

#include <stdint.h>

#define WS_NVML_VALUES(X)                         \
    X(NVML_SUCCESS, 0)                            \
    X(NVML_ERROR_UNINITIALIZED, 1)                \
    X(NVML_ERROR_INVALID_ARGUMENT, 2)             \
    X(NVML_ERROR_NOT_SUPPORTED, 3)                \
    X(NVML_ERROR_NO_PERMISSION, 4)                \
    X(NVML_ERROR_NOT_FOUND, 6)                    \
    X(NVML_ERROR_DRIVER_NOT_LOADED, 9)            \
    X(NVML_ERROR_GPU_IS_LOST, 15)                 \
    X(NVML_ERROR_RESET_REQUIRED, 16)              \
    X(NVML_ERROR_LIB_RM_VERSION_MISMATCH, 18)     \
    X(NVML_ERROR_UNKNOWN, 999)                    \
    X(NVML_CLOCK_SM, 1)                           \
    X(NVML_CLOCK_MEM, 2)                          \
    X(NVML_TEMPERATURE_GPU, 0)                    \
    X(NVML_MEMORY_ERROR_TYPE_UNCORRECTED, 1)      \
    X(NVML_VOLATILE_ECC, 0)                       \
    X(NVML_VALUE_TYPE_UNSIGNED_INT, 1)            \
    X(NVML_VALUE_TYPE_UNSIGNED_LONG, 2)           \
    X(NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, 3)      \
    X(NVML_VALUE_TYPE_SIGNED_LONG_LONG, 4)        \
    X(NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, 138) \
    X(NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, 139) \
    X(NVML_FI_DEV_PCIE_COUNT_TX_BYTES, 197)       \
    X(NVML_FI_DEV_PCIE_COUNT_RX_BYTES, 198)

enum {
#define X(name, value) WS_##name = (value),
    WS_NVML_VALUES(X)
#undef X
};

typedef uint32_t ws_nvmlEnum; /* stands for any enumeration of NVML */
typedef ws_nvmlEnum ws_nvmlReturn;
typedef struct ws_nvmlDevice_st *ws_nvmlDevice;

typedef struct {
    unsigned long long total, free, used; /* bytes */
} ws_nvmlMemory;

typedef struct {
    /* `gpu`: percent of the last sample period in which a kernel ran. `memory`: percent of this period in which
     * device memory was read or written. */
    unsigned gpu, memory;
} ws_nvmlUtilization;

typedef struct {
    unsigned fieldId;
    unsigned scopeId; /* for NVLink fields: index of the link; UINT_MAX asks for the sum over all links */
    long long timestamp, latencyUsec;
    ws_nvmlEnum valueType;
    ws_nvmlReturn nvmlReturn;
    union {
        double dVal;
        int siVal;
        unsigned uiVal;
        unsigned long ulVal;
        unsigned long long ullVal;
        long long sllVal;
    } value;
} ws_nvmlFieldValue;

/* A list of FN(name, symbol, parameters). Every function returns a ws_nvmlReturn. A version of NVML may lack
 * some functions. */
#define WS_NVML_FUNCTIONS(FN)                                                                                       \
    FN(init, nvmlInit_v2, (void))                                                                                   \
    FN(driver_version, nvmlSystemGetDriverVersion, (char *text, unsigned capacity))                                 \
    FN(device_by_uuid, nvmlDeviceGetHandleByUUID, (const char *uuid, ws_nvmlDevice *device))                        \
    FN(clock, nvmlDeviceGetClockInfo, (ws_nvmlDevice device, ws_nvmlEnum type, unsigned *mhz))                      \
    FN(clock_most, nvmlDeviceGetMaxClockInfo, (ws_nvmlDevice device, ws_nvmlEnum type, unsigned *mhz))              \
    FN(reasons, nvmlDeviceGetCurrentClocksEventReasons, (ws_nvmlDevice device, unsigned long long *reasons))        \
    FN(reasons_old, nvmlDeviceGetCurrentClocksThrottleReasons, (ws_nvmlDevice device, unsigned long long *reasons)) \
    FN(power, nvmlDeviceGetPowerUsage, (ws_nvmlDevice device, unsigned *milliwatts))                                \
    FN(power_limit, nvmlDeviceGetEnforcedPowerLimit, (ws_nvmlDevice device, unsigned *milliwatts))                  \
    FN(temperature, nvmlDeviceGetTemperature, (ws_nvmlDevice device, ws_nvmlEnum sensor, unsigned *celsius))        \
    FN(utilization, nvmlDeviceGetUtilizationRates, (ws_nvmlDevice device, ws_nvmlUtilization * utilization))        \
    FN(memory, nvmlDeviceGetMemoryInfo, (ws_nvmlDevice device, ws_nvmlMemory * memory))                             \
    FN(ecc_errors, nvmlDeviceGetTotalEccErrors,                                                                     \
       (ws_nvmlDevice device, ws_nvmlEnum type, ws_nvmlEnum counter, unsigned long long *count))                    \
    FN(fields, nvmlDeviceGetFieldValues, (ws_nvmlDevice device, int count, ws_nvmlFieldValue *values))

struct ws_nvml {
#define WS_NVML_POINTER(name, symbol, parameters) ws_nvmlReturn(*name) parameters;
    WS_NVML_FUNCTIONS(WS_NVML_POINTER)
#undef WS_NVML_POINTER
};

#endif
