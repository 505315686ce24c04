/* The host side of CUPTI: lists chips and metrics, makes configurations, and evaluates counter data. */
#include "cupti/cupti.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ws_CUpti_Host {
    uint32_t magic;
    char chip[16];
    uint32_t count;
    char names[MOST_METRICS][MOST_NAME];
};

static const char *const chips[] = { "GA100", "GH100", "GB100" };
enum { CHIPS = sizeof(chips) / sizeof(chips[0]) };

static struct simgpu_functions driver;

static void find_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!library)
        return;
    driver.counters = (int (*)(int, struct simgpu_counters *))dlsym(library, "simgpuCounters");
    driver.chip = (const char *(*)(int))dlsym(library, "simgpuChip");
    driver.device_of = (int (*)(void *))dlsym(library, "simgpuDeviceOf");
}

const struct simgpu_functions *cupti_driver(void)
{
    return &driver;
}

bool cupti_refuses(const char *what)
{
    const char *value = getenv("SIMGPU_CUPTI");
    return value && !strcmp(value, what);
}

static bool is_host(const struct ws_CUpti_Host *host)
{
    return host && host->magic == HOST_OBJECT;
}

CUPTI_API cuptiProfilerInitialize(struct ws_cupti_initialize *params)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (params->structSize < WS_CUPTI_SIZE_initialize)
        return WS_CUPTI_ERROR_INVALID_PARAMETER;
    pthread_once(&once, find_driver);
    const char *ready = getenv("SIMGPU_CUPTI_READY");
    while (ready && access(ready, F_OK))
        usleep(1000);
    return driver.chip ? WS_CUPTI_SUCCESS : WS_CUPTI_ERROR_NOT_INITIALIZED;
}

CUPTI_API cuptiDeviceGetChipName(struct ws_cupti_chip_name *params)
{
    params->pChipName = driver.chip ? driver.chip((int)params->deviceIndex) : NULL;
    return params->pChipName ? WS_CUPTI_SUCCESS : WS_CUPTI_ERROR_INVALID_PARAMETER;
}

CUPTI_API cuptiProfilerGetCounterAvailability(struct ws_cupti_availability *params)
{
    if (cupti_refuses("privileges"))
        return WS_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    if (!params->pCounterAvailabilityImage)
        params->counterAvailabilityImageSize = 64;
    else
        memset(params->pCounterAvailabilityImage, 0xa5, params->counterAvailabilityImageSize);
    return WS_CUPTI_SUCCESS;
}

CUPTI_API cuptiProfilerHostGetSupportedChips(struct ws_cupti_host_chips *params)
{
    params->numChips = CHIPS;
    params->ppChipNames = chips;
    return WS_CUPTI_SUCCESS;
}

CUPTI_API cuptiProfilerHostInitialize(struct ws_cupti_host_initialize *params)
{
    struct ws_CUpti_Host *host = NULL;
    if (params->structSize < WS_CUPTI_SIZE_host_initialize || !params->pChipName)
        return WS_CUPTI_ERROR_INVALID_PARAMETER;
    for (int i = 0; i < CHIPS && !host; i++)
        if (!strcmp(params->pChipName, chips[i])) {
            host = calloc(1, sizeof(*host));
            if (!host)
                return WS_CUPTI_ERROR_INVALID_PARAMETER;
            host->magic = HOST_OBJECT;
            snprintf(host->chip, sizeof(host->chip), "%s", chips[i]);
        }
    params->pHostObject = host;
    return host ? WS_CUPTI_SUCCESS : WS_CUPTI_ERROR_INVALID_CHIP_NAME;
}

CUPTI_API cuptiProfilerHostDeinitialize(struct ws_cupti_host_deinitialize *params)
{
    if (!is_host(params->pHostObject))
        return WS_CUPTI_ERROR_INVALID_PARAMETER;
    params->pHostObject->magic = 0;
    free(params->pHostObject);
    return WS_CUPTI_SUCCESS;
}

CUPTI_API cuptiProfilerHostConfigAddMetrics(struct ws_cupti_host_add *params)
{
    struct ws_CUpti_Host *host = params->pHostObject;
    struct simgpu_counters nothing = { 0 };
    double value;
    if (!is_host(host))
        return WS_CUPTI_ERROR_INVALID_PARAMETER;
    for (size_t i = 0; i < params->numMetrics; i++) {
        const char *name = params->ppMetricNames[i];
        if (host->count == MOST_METRICS || strlen(name) >= MOST_NAME ||
            !cupti_metric(host->chip, name, &nothing, &value))
            return WS_CUPTI_ERROR_INVALID_METRIC_NAME;
        snprintf(host->names[host->count++], MOST_NAME, "%s", name);
    }
    return WS_CUPTI_SUCCESS;
}

CUPTI_API cuptiProfilerHostGetConfigImageSize(struct ws_cupti_host_config_size *params)
{
    params->configImageSize = sizeof(struct config_image);
    return is_host(params->pHostObject) ? WS_CUPTI_SUCCESS : WS_CUPTI_ERROR_INVALID_PARAMETER;
}

CUPTI_API cuptiProfilerHostGetConfigImage(struct ws_cupti_host_config *params)
{
    const struct ws_CUpti_Host *host = params->pHostObject;
    if (!is_host(host) || !params->pConfigImage || params->configImageSize < sizeof(struct config_image))
        return WS_CUPTI_ERROR_INVALID_PARAMETER;
    struct config_image image = { .magic = CONFIG_IMAGE,
                                  .passes = cupti_passes(host->names, host->count),
                                  .count = host->count };
    memcpy(params->pConfigImage, &image, sizeof(image));
    return WS_CUPTI_SUCCESS;
}

CUPTI_API cuptiProfilerHostGetNumOfPasses(struct ws_cupti_host_passes *params)
{
    struct config_image image;
    if (!params->pConfigImage || params->configImageSize < sizeof(image))
        return WS_CUPTI_ERROR_INVALID_PARAMETER;
    memcpy(&image, params->pConfigImage, sizeof(image));
    params->numOfPasses = image.passes;
    return image.magic == CONFIG_IMAGE ? WS_CUPTI_SUCCESS : WS_CUPTI_ERROR_INVALID_PARAMETER;
}

CUPTI_API cuptiProfilerHostEvaluateToGpuValues(struct ws_cupti_host_evaluate *params)
{
    const struct ws_CUpti_Host *host = params->pHostObject;
    struct data_image image;
    if (!is_host(host) || params->counterDataImageSize < sizeof(image))
        return WS_CUPTI_ERROR_INVALID_PARAMETER;
    memcpy(&image, params->pCounterDataImage, sizeof(image));
    if (image.magic != DATA_IMAGE || params->rangeIndex >= image.ranges)
        return WS_CUPTI_ERROR_INVALID_PARAMETER;
    for (size_t i = 0; i < params->numMetrics; i++)
        if (!cupti_metric(host->chip, params->ppMetricNames[i], &image.counted, &params->pMetricValues[i]))
            return WS_CUPTI_ERROR_INVALID_METRIC_NAME;
    return WS_CUPTI_SUCCESS;
}
