/* The range profiler: one profiler object per context, one range per session. */
#include "cupti/cupti.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum state { ENABLED, CONFIGURED, STARTED, PUSHED, STOPPED };

struct ws_CUpti_RangeProfiler {
    uint32_t magic;
    enum state state;
    int device;
    void *context;
    uint8_t *data; /* the counter data image, in the caller's memory */
    uint32_t passes;
    uint64_t metrics; /* hash of the metrics' names in the first GetCounterDataSize; 0: no such call yet */
    bool popped;      /* the session's one range has ended */
    struct simgpu_counters before, after;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ws_CUpti_RangeProfiler *open_objects[64];

static struct ws_CUpti_RangeProfiler **place_of(void *context)
{
    for (size_t i = 0; i < sizeof(open_objects) / sizeof(open_objects[0]); i++)
        if (context ? open_objects[i] && open_objects[i]->context == context : !open_objects[i])
            return &open_objects[i];
    return NULL;
}

static bool is_in(const struct ws_CUpti_RangeProfiler *object, enum state state)
{
    return object && object->magic == RANGE_OBJECT && object->state == state;
}

CUPTI_API cuptiRangeProfilerEnable(struct ws_cupti_range_enable *params)
{
    const struct simgpu_functions *driver = cupti_driver();
    int device = driver->device_of ? driver->device_of(params->ctx) : -1;
    params->pRangeProfilerObject = NULL;
    if (params->structSize < WS_CUPTI_SIZE_range_enable)
        return WS_CUPTI_ERROR_INVALID_PARAMETER;
    if (device < 0)
        return WS_CUPTI_ERROR_INVALID_CONTEXT;
    if (cupti_refuses("privileges"))
        return WS_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    if (cupti_refuses("another"))
        return WS_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    if (cupti_refuses("busy"))
        return WS_CUPTI_ERROR_HARDWARE_BUSY;
    pthread_mutex_lock(&lock);
    struct ws_CUpti_RangeProfiler **place = place_of(params->ctx) ? NULL : place_of(NULL);
    struct ws_CUpti_RangeProfiler *object = place ? calloc(1, sizeof(*object)) : NULL;
    if (object) {
        *object = (struct ws_CUpti_RangeProfiler){ .magic = RANGE_OBJECT, .device = device, .context = params->ctx };
        params->pRangeProfilerObject = *place = object;
    }
    pthread_mutex_unlock(&lock);
    return object ? WS_CUPTI_SUCCESS : WS_CUPTI_ERROR_INVALID_OPERATION;
}

CUPTI_API cuptiRangeProfilerDisable(struct ws_cupti_range_disable *params)
{
    struct ws_CUpti_RangeProfiler *object = params->pRangeProfilerObject;
    if (!object || object->magic != RANGE_OBJECT || object->state == PUSHED)
        return WS_CUPTI_ERROR_INVALID_OPERATION;
    pthread_mutex_lock(&lock);
    struct ws_CUpti_RangeProfiler **place = place_of(object->context);
    if (place)
        *place = NULL;
    object->magic = 0;
    pthread_mutex_unlock(&lock);
    free(object);
    return WS_CUPTI_SUCCESS;
}

static uint64_t hash_of(const struct ws_cupti_range_data_size *params)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < params->numMetrics; i++)
        for (const char *at = params->pMetricNames[i]; *at; at++)
            hash = (hash ^ (uint8_t)*at) * 1099511628211u;
    return hash;
}

/* As in CUPTI 13.0, a profiler object serves only one set of metrics. For another set, this call returns
 * CUPTI_ERROR_UNKNOWN. */
CUPTI_API cuptiRangeProfilerGetCounterDataSize(struct ws_cupti_range_data_size *params)
{
    struct ws_CUpti_RangeProfiler *object = params->pRangeProfilerObject;
    if (!object || object->magic != RANGE_OBJECT)
        return WS_CUPTI_ERROR_INVALID_PARAMETER;
    uint64_t metrics = hash_of(params);
    if (object->metrics && object->metrics != metrics)
        return WS_CUPTI_ERROR_UNKNOWN;
    object->metrics = metrics;
    if (params->maxNumOfRanges < 1 || params->maxNumRangeTreeNodes < params->maxNumOfRanges)
        return WS_CUPTI_ERROR_INVALID_PARAMETER;
    params->counterDataSize = sizeof(struct data_image);
    return WS_CUPTI_SUCCESS;
}

/* CUPTI 13.0 crashes here if cuptiRangeProfilerGetCounterDataSize was not called before. So this function aborts. */
CUPTI_API cuptiRangeProfilerCounterDataImageInitialize(struct ws_cupti_range_data *params)
{
    struct data_image image = { .magic = DATA_IMAGE };
    if (!params->pRangeProfilerObject || !params->pRangeProfilerObject->metrics)
        abort();
    if (!params->pCounterData || params->counterDataSize < sizeof(image))
        return WS_CUPTI_ERROR_INVALID_PARAMETER;
    memcpy(params->pCounterData, &image, sizeof(image));
    return WS_CUPTI_SUCCESS;
}

CUPTI_API cuptiRangeProfilerSetConfig(struct ws_cupti_range_config *params)
{
    struct ws_CUpti_RangeProfiler *object = params->pRangeProfilerObject;
    struct config_image config;
    struct data_image data;
    if (!object || object->magic != RANGE_OBJECT || object->state == STARTED || object->state == PUSHED)
        return WS_CUPTI_ERROR_INVALID_OPERATION;
    if (params->structSize < WS_CUPTI_SIZE_range_config || params->configSize < sizeof(config) || !params->pConfig ||
        params->counterDataImageSize < sizeof(data) || !params->pCounterDataImage || params->maxRangesPerPass < 1 ||
        params->numNestingLevels != 1 || params->minNestingLevel != 1 || params->range != WS_CUPTI_UserRange ||
        params->replayMode != WS_CUPTI_UserReplay)
        return WS_CUPTI_ERROR_INVALID_PARAMETER;
    memcpy(&config, params->pConfig, sizeof(config));
    memcpy(&data, params->pCounterDataImage, sizeof(data));
    if (config.magic != CONFIG_IMAGE || data.magic != DATA_IMAGE)
        return WS_CUPTI_ERROR_INVALID_PARAMETER;
    object->passes = config.passes;
    object->data = params->pCounterDataImage;
    object->state = CONFIGURED;
    return WS_CUPTI_SUCCESS;
}

CUPTI_API cuptiRangeProfilerStart(struct ws_cupti_range_start *params)
{
    if (!is_in(params->pRangeProfilerObject, CONFIGURED))
        return WS_CUPTI_ERROR_INVALID_OPERATION;
    params->pRangeProfilerObject->state = STARTED;
    params->pRangeProfilerObject->popped = false;
    return WS_CUPTI_SUCCESS;
}

CUPTI_API cuptiRangeProfilerPushRange(struct ws_cupti_range_push *params)
{
    struct ws_CUpti_RangeProfiler *object = params->pRangeProfilerObject;
    if (!is_in(object, STARTED) || object->popped)
        return WS_CUPTI_ERROR_INVALID_OPERATION;
    object->state = PUSHED;
    return cupti_driver()->counters(object->device, &object->before) ? WS_CUPTI_ERROR_INVALID_CONTEXT
                                                                     : WS_CUPTI_SUCCESS;
}

CUPTI_API cuptiRangeProfilerPopRange(struct ws_cupti_range_pop *params)
{
    struct ws_CUpti_RangeProfiler *object = params->pRangeProfilerObject;
    if (!is_in(object, PUSHED))
        return WS_CUPTI_ERROR_INVALID_OPERATION;
    object->state = STARTED;
    object->popped = true;
    return cupti_driver()->counters(object->device, &object->after) ? WS_CUPTI_ERROR_INVALID_CONTEXT
                                                                    : WS_CUPTI_SUCCESS;
}

CUPTI_API cuptiRangeProfilerStop(struct ws_cupti_range_stop *params)
{
    if (!is_in(params->pRangeProfilerObject, STARTED))
        return WS_CUPTI_ERROR_INVALID_OPERATION;
    params->pRangeProfilerObject->state = STOPPED;
    params->isAllPassSubmitted = params->pRangeProfilerObject->passes <= 1;
    return WS_CUPTI_SUCCESS;
}

static void subtract(uint64_t *from, const uint64_t *what, size_t count)
{
    for (size_t i = 0; i < count; i++)
        from[i] -= what[i];
}

CUPTI_API cuptiRangeProfilerDecodeData(struct ws_cupti_range_decode *params)
{
    struct ws_CUpti_RangeProfiler *object = params->pRangeProfilerObject;
    struct data_image image = { .magic = DATA_IMAGE };
    if (!is_in(object, STOPPED))
        return WS_CUPTI_ERROR_INVALID_OPERATION;
    image.ranges = object->popped;
    image.counted = object->after;
    subtract((uint64_t *)&image.counted, (const uint64_t *)&object->before, sizeof(image.counted) / sizeof(uint64_t));
    memcpy(object->data, &image, sizeof(image));
    object->state = ENABLED;
    params->numOfRangeDropped = 0;
    return WS_CUPTI_SUCCESS;
}

CUPTI_API cuptiRangeProfilerGetCounterDataInfo(struct ws_cupti_range_count *params)
{
    struct data_image image;
    if (!params->pCounterDataImage || params->counterDataImageSize < sizeof(image))
        return WS_CUPTI_ERROR_INVALID_PARAMETER;
    memcpy(&image, params->pCounterDataImage, sizeof(image));
    params->numTotalRanges = image.ranges;
    return image.magic == DATA_IMAGE ? WS_CUPTI_SUCCESS : WS_CUPTI_ERROR_INVALID_PARAMETER;
}
