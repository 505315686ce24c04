/* The simulated libnvidia-ml. Its devices are those of the simulated driver, and have the same UUIDs. They throttle
 * as SIMGPU_THROTTLE says (engine/throttle.h).
 *
 * The variable SIMGPU_NVML selects a failure by a word. init: nvmlInit_v2 fails. bare: devices support only the SM
 * clock. errors: every call about a device fails. unknown: no device has the given UUID. lost: the GPU is lost after
 * the third sample of its clock.
 *
 * SIMGPU_NVML_HANG_MS: each call for a clock takes this many ms. */
#include <string.h>
#include <time.h>

#include "engine/throttle.h"
#include "src/abi/nvml.h"

#define API __attribute__((visibility("default"))) ws_nvmlReturn

enum { MOST_DEVICES = 64, SM_MHZ = 1980, MEMORY_MHZ = 2619, SAMPLES_UNTIL_LOST = 3 };

static _Atomic unsigned clocks_asked;

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int is_mode(const char *mode)
{
    const char *text = getenv("SIMGPU_NVML");
    return text && !strcmp(text, mode);
}

static void hang(void)
{
    const char *text = getenv("SIMGPU_NVML_HANG_MS");
    long ms = text ? atol(text) : 0;
    struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };
    if (ms > 0)
        nanosleep(&pause, NULL);
}

static int throttles(struct sim_throttle *throttle)
{
    *throttle = sim_throttle_read();
    return sim_throttle_holds(throttle, now());
}

/* The status that a function about a device returns. */
static ws_nvmlReturn answer(ws_nvmlDevice device)
{
    if (!device)
        return WS_NVML_ERROR_INVALID_ARGUMENT;
    if (is_mode("errors"))
        return WS_NVML_ERROR_UNKNOWN;
    if (is_mode("lost") && clocks_asked > SAMPLES_UNTIL_LOST)
        return WS_NVML_ERROR_GPU_IS_LOST;
    return WS_NVML_SUCCESS;
}

/* The status that a function returns if devices of the mode "bare" do not support it. */
static ws_nvmlReturn full_answer(ws_nvmlDevice device)
{
    ws_nvmlReturn result = answer(device);
    return !result && is_mode("bare") ? WS_NVML_ERROR_NOT_SUPPORTED : result;
}

API nvmlInit_v2(void);
API nvmlInit_v2(void)
{
    return is_mode("init") ? WS_NVML_ERROR_DRIVER_NOT_LOADED : WS_NVML_SUCCESS;
}

API nvmlSystemGetDriverVersion(char *text, unsigned capacity);
API nvmlSystemGetDriverVersion(char *text, unsigned capacity)
{
    snprintf(text, capacity, "simulated");
    return WS_NVML_SUCCESS;
}

/* The handle of device n is the address of places[n]. */
static char places[MOST_DEVICES];

/* engine/device.c makes the driver's UUIDs: they begin with 0x51, 0x58, and the last byte is the device's ordinal. */
API nvmlDeviceGetHandleByUUID(const char *uuid, ws_nvmlDevice *device);
API nvmlDeviceGetHandleByUUID(const char *uuid, ws_nvmlDevice *device)
{
    static const char beginning[] = "GPU-51585f66-6d74-7b82-8990-979ea5acb3";
    size_t length = sizeof(beginning) - 1;
    unsigned long ordinal = strlen(uuid) == length + 2 ? strtoul(uuid + length, NULL, 16) : MOST_DEVICES;
    if (strncmp(uuid, beginning, length) || ordinal >= MOST_DEVICES || is_mode("unknown"))
        return WS_NVML_ERROR_NOT_FOUND;
    *device = (ws_nvmlDevice)(void *)&places[ordinal];
    return WS_NVML_SUCCESS;
}

API nvmlDeviceGetClockInfo(ws_nvmlDevice device, ws_nvmlEnum type, unsigned *mhz);
API nvmlDeviceGetClockInfo(ws_nvmlDevice device, ws_nvmlEnum type, unsigned *mhz)
{
    struct sim_throttle throttle;
    hang();
    clocks_asked += type == WS_NVML_CLOCK_SM;
    ws_nvmlReturn result = type == WS_NVML_CLOCK_SM ? answer(device) : full_answer(device);
    *mhz = type == WS_NVML_CLOCK_MEM ? MEMORY_MHZ : throttles(&throttle) ? throttle.mhz : SM_MHZ;
    return result;
}

API nvmlDeviceGetMaxClockInfo(ws_nvmlDevice device, ws_nvmlEnum type, unsigned *mhz);
API nvmlDeviceGetMaxClockInfo(ws_nvmlDevice device, ws_nvmlEnum type, unsigned *mhz)
{
    *mhz = type == WS_NVML_CLOCK_MEM ? MEMORY_MHZ : SM_MHZ;
    return full_answer(device);
}

API nvmlDeviceGetCurrentClocksEventReasons(ws_nvmlDevice device, unsigned long long *reasons);
API nvmlDeviceGetCurrentClocksEventReasons(ws_nvmlDevice device, unsigned long long *reasons)
{
    struct sim_throttle throttle;
    *reasons = throttles(&throttle) ? throttle.reasons : 0;
    return full_answer(device);
}

API nvmlDeviceGetPowerUsage(ws_nvmlDevice device, unsigned *milliwatts);
API nvmlDeviceGetPowerUsage(ws_nvmlDevice device, unsigned *milliwatts)
{
    struct sim_throttle throttle;
    *milliwatts = throttles(&throttle) ? 699500 : 520000;
    return full_answer(device);
}

API nvmlDeviceGetEnforcedPowerLimit(ws_nvmlDevice device, unsigned *milliwatts);
API nvmlDeviceGetEnforcedPowerLimit(ws_nvmlDevice device, unsigned *milliwatts)
{
    *milliwatts = 700000;
    return full_answer(device);
}

API nvmlDeviceGetTemperature(ws_nvmlDevice device, ws_nvmlEnum sensor, unsigned *celsius);
API nvmlDeviceGetTemperature(ws_nvmlDevice device, ws_nvmlEnum sensor, unsigned *celsius)
{
    *celsius = 61;
    return sensor == WS_NVML_TEMPERATURE_GPU ? full_answer(device) : WS_NVML_ERROR_INVALID_ARGUMENT;
}

API nvmlDeviceGetUtilizationRates(ws_nvmlDevice device, ws_nvmlUtilization *utilization);
API nvmlDeviceGetUtilizationRates(ws_nvmlDevice device, ws_nvmlUtilization *utilization)
{
    *utilization = (ws_nvmlUtilization){ 97, 42 };
    return full_answer(device);
}

API nvmlDeviceGetMemoryInfo(ws_nvmlDevice device, ws_nvmlMemory *memory);
API nvmlDeviceGetMemoryInfo(ws_nvmlDevice device, ws_nvmlMemory *memory)
{
    *memory = (ws_nvmlMemory){ 80ull << 30, 77ull << 30, 3ull << 30 };
    return full_answer(device);
}

API nvmlDeviceGetTotalEccErrors(ws_nvmlDevice device, ws_nvmlEnum type, ws_nvmlEnum counter,
                                unsigned long long *count);
API nvmlDeviceGetTotalEccErrors(ws_nvmlDevice device, ws_nvmlEnum type, ws_nvmlEnum counter,
                                unsigned long long *count)
{
    const char *errors = getenv("SIMGPU_NVML_ECC");
    *count = errors ? strtoull(errors, NULL, 10) : 0;
    return type == WS_NVML_MEMORY_ERROR_TYPE_UNCORRECTED && counter == WS_NVML_VOLATILE_ECC
               ? full_answer(device)
               : WS_NVML_ERROR_INVALID_ARGUMENT;
}

/* The PCIe counters advance by one byte each µs. There is no NVLink. */
API nvmlDeviceGetFieldValues(ws_nvmlDevice device, int count, ws_nvmlFieldValue *values);
API nvmlDeviceGetFieldValues(ws_nvmlDevice device, int count, ws_nvmlFieldValue *values)
{
    for (int i = 0; i < count; i++) {
        int pcie = values[i].fieldId == WS_NVML_FI_DEV_PCIE_COUNT_TX_BYTES ||
                   values[i].fieldId == WS_NVML_FI_DEV_PCIE_COUNT_RX_BYTES;
        values[i].nvmlReturn = pcie ? WS_NVML_SUCCESS : WS_NVML_ERROR_NOT_SUPPORTED;
        values[i].valueType = WS_NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
        values[i].value.ullVal = (unsigned long long)now() / 1000;
    }
    return full_answer(device);
}
