#include "shim/health/nvml.h"

#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>

#include "record/health.h"
#include "shim/hook/elf_lookup.h"

static struct ws_nvml nvml;

/* Opens the NVML that the program has loaded, if any, else the system's. The shim looks in no other folders, because
 * a driver comes with only one NVML. */
static void *find_library(void)
{
    void *(*open)(const char *, int) = (void *(*)(const char *, int))elf_libc_symbol("dlopen");
    return open ? open("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
}

const char *nvml_open(void)
{
    static char text[64];
    void *(*symbol)(void *, const char *) = (void *(*)(void *, const char *))elf_libc_symbol("dlsym");
    void *library = symbol ? find_library() : NULL;
    if (!library)
        return "libnvidia-ml.so.1 was not found";
#define FIND(name, exported, parameters) *(void **)&nvml.name = symbol(library, #exported);
    WS_NVML_FUNCTIONS(FIND)
#undef FIND
    if (!nvml.init || !nvml.device_by_uuid)
        return "this libnvidia-ml.so.1 lacks nvmlInit_v2 or nvmlDeviceGetHandleByUUID";
    ws_nvmlReturn result = nvml.init();
    if (!result)
        return NULL;
    snprintf(text, sizeof(text), "nvmlInit_v2 answered %u", result);
    return text;
}

ws_nvmlReturn nvml_find(const char *uuid, struct nvml_device *device)
{
    *device = (struct nvml_device){ 0 };
    return nvml.device_by_uuid(uuid, &device->handle);
}

bool nvml_is_final(ws_nvmlReturn error)
{
    return error == WS_NVML_ERROR_GPU_IS_LOST || error == WS_NVML_ERROR_RESET_REQUIRED ||
           error == WS_NVML_ERROR_UNINITIALIZED || error == WS_NVML_ERROR_LIB_RM_VERSION_MISMATCH;
}

/* --- one field at a time -------------------------------------------------------------------------- */

/* True unless NVML has answered that the device lacks this field, or that the user may not read it. */
static bool is_asked(const struct nvml_device *device, enum ws_health_field field)
{
    return !(device->unsupported & ws_health_bit(field));
}

/* Notes NVML's answer for a field. Returns true if the field's value is valid. */
static bool note(struct nvml_device *device, struct ws_health *sample, enum ws_health_field field,
                 ws_nvmlReturn result)
{
    if (!result)
        sample->known |= ws_health_bit(field);
    else if (result == WS_NVML_ERROR_NOT_SUPPORTED || result == WS_NVML_ERROR_NO_PERMISSION)
        device->unsupported |= ws_health_bit(field);
    else
        sample->error = result;
    return !result;
}

/* Asks for a field if the library has the function and the device has the field. After an error such as a lost GPU,
 * asks for no more fields of this sample. */
#define ASK(field, function, ...)                                              \
    (!sample->error && nvml.function && is_asked(device, WS_HEALTH_##field) && \
     note(device, sample, WS_HEALTH_##field, nvml.function(device->handle, __VA_ARGS__)))

static void ask_clocks(struct nvml_device *device, struct ws_health *sample)
{
    unsigned mhz;
    unsigned long long reasons;
    if (ASK(sm_mhz, clock, WS_NVML_CLOCK_SM, &mhz))
        sample->sm_mhz = mhz;
    if (ASK(reasons, reasons, &reasons) || (!nvml.reasons && ASK(reasons, reasons_old, &reasons)))
        sample->reasons = reasons;
    if (ASK(memory_mhz, clock, WS_NVML_CLOCK_MEM, &mhz))
        sample->memory_mhz = mhz;
    if (ASK(sm_most_mhz, clock_most, WS_NVML_CLOCK_SM, &mhz))
        sample->sm_most_mhz = mhz;
    if (ASK(memory_most_mhz, clock_most, WS_NVML_CLOCK_MEM, &mhz))
        sample->memory_most_mhz = mhz;
}

static void ask_state(struct nvml_device *device, struct ws_health *sample)
{
    unsigned number;
    unsigned long long count;
    ws_nvmlMemory memory;
    ws_nvmlUtilization utilization;
    if (ASK(power_mw, power, &number))
        sample->power_mw = number;
    if (ASK(power_limit_mw, power_limit, &number))
        sample->power_limit_mw = number;
    if (ASK(celsius, temperature, WS_NVML_TEMPERATURE_GPU, &number))
        sample->celsius = number;
    if (ASK(memory_used, memory, &memory))
        sample->memory_used = memory.used;
    if (ASK(ecc_errors, ecc_errors, WS_NVML_MEMORY_ERROR_TYPE_UNCORRECTED, WS_NVML_VOLATILE_ECC, &count))
        sample->ecc_errors = count;
    if (ASK(busy_percent, utilization, &utilization)) {
        sample->known |= ws_health_bit(WS_HEALTH_memory_busy_percent);
        sample->busy_percent = utilization.gpu;
        sample->memory_busy_percent = utilization.memory;
    }
}

/* --- counters of links ---------------------------------------------------------------------------- */

static uint64_t value_of(const ws_nvmlFieldValue *field)
{
    switch (field->valueType) {
    case WS_NVML_VALUE_TYPE_UNSIGNED_INT:
        return field->value.uiVal;
    case WS_NVML_VALUE_TYPE_UNSIGNED_LONG:
        return field->value.ulVal;
    case WS_NVML_VALUE_TYPE_UNSIGNED_LONG_LONG:
    case WS_NVML_VALUE_TYPE_SIGNED_LONG_LONG:
        return field->value.ullVal;
    default:
        return 0;
    }
}

/* Reads the bytes that NVLink and PCIe have moved. nvmlDeviceGetPcieThroughput is not used: each call takes 20 ms. */
static void ask_links(struct nvml_device *device, struct ws_health *sample)
{
    enum { LINK_FIELDS = 4 };
    static const struct {
        unsigned id, scope, unit; /* unit: bytes for which one count of this field stands */
        enum ws_health_field field;
        size_t column;
    } links[LINK_FIELDS] = {
        { WS_NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, UINT_MAX, 1024, WS_HEALTH_nvlink_sent,
          offsetof(struct ws_health, nvlink_sent) },
        { WS_NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, UINT_MAX, 1024, WS_HEALTH_nvlink_received,
          offsetof(struct ws_health, nvlink_received) },
        { WS_NVML_FI_DEV_PCIE_COUNT_TX_BYTES, 0, 1, WS_HEALTH_pcie_sent, offsetof(struct ws_health, pcie_sent) },
        { WS_NVML_FI_DEV_PCIE_COUNT_RX_BYTES, 0, 1, WS_HEALTH_pcie_received,
          offsetof(struct ws_health, pcie_received) },
    };
    ws_nvmlFieldValue values[LINK_FIELDS];
    int asked[LINK_FIELDS], count = 0;
    for (int i = 0; i < LINK_FIELDS; i++) {
        if (!is_asked(device, links[i].field))
            continue;
        asked[count] = i;
        values[count++] = (ws_nvmlFieldValue){ .fieldId = links[i].id, .scopeId = links[i].scope };
    }
    if (!count || sample->error || !nvml.fields || nvml.fields(device->handle, count, values))
        return;
    for (int i = 0; i < count; i++) {
        uint64_t *column = (uint64_t *)(void *)((char *)sample + links[asked[i]].column);
        if (values[i].nvmlReturn) /* the error concerns only this field: other fields may have values */
            device->unsupported |= ws_health_bit(links[asked[i]].field);
        else if (note(device, sample, links[asked[i]].field, WS_NVML_SUCCESS))
            *column = value_of(&values[i]) * links[asked[i]].unit;
    }
}

void nvml_sample(struct nvml_device *device, struct ws_health *sample)
{
    ask_clocks(device, sample);
    ask_state(device, sample);
    ask_links(device, sample);
    if (sample->error && !nvml_is_final(sample->error) && sample->known)
        /* some fields were read, and some were not: sample->known has a bit for each field that was read */
        sample->error = 0;
    if (sample->error)
        sample->known = 0;
}
